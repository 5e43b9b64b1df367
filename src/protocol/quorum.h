/*
 * The arithmetic of the quorum: the only place that computes it.
 *
 *	q	N/2 + 1 of the N configured servers
 *	v_i	the sending of the last request that server i granted
 *		+ TTL - drift; see lock/lock.h for when it is 0
 *	D	the q-th largest v_i: the lock is held if and only if now < D
 *
 * After S. Sanfilippo, "Distributed locks with Redis" (Redlock).
 */
#ifndef QUORUM_H
#define QUORUM_H

#include <stdint.h>

#define LOCK_SERVERS 31 /* at most */

/* Returns how many of the configured servers are a majority. */
int quorum_of(int servers);

/* Returns the q-th largest of n values, or 0 if there are fewer than q. */
int64_t quorum_largest(const int64_t valid_ms[], int n, int q);

#endif
