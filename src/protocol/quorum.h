/*
 * The arithmetic of quorum and lease: the only place where these are computed.
 *
 *	q	N/2 + 1 of the N configured servers
 *	v_i	the sending of the last request that server i granted
 *		+ TTL - drift; see lock/lock.h for when it is 0
 *	D	the q-th largest v_i: the lock is held if and only if now < D
 *	drift	TTL/100 + 2 ms
 *	renewal	every TTL/3
 *	retry	TTL/10, after an error and while a vote is not trusted
 *	start	COMMAND starts if at least TTL/2 are left until D
 *	SIGKILL	margin before D: TTL/50 + 5 ms, at most 100 ms
 *	SIGTERM	before that: --kill-after, at most TTL/3
 *
 * A grant that came with the wake is a lease of the length L, which is at most
 * the TTL, until it is confirmed: v_i, start and retry are those of L, and from
 * SIGTERM to SIGKILL it is at most L/10.
 */
#ifndef QUORUM_H
#define QUORUM_H

#include <stdint.h>

#define LOCK_SERVERS 31 /* at most */

/* How many of the configured servers are a majority. */
int quorum_of(int servers);

/* The q-th largest of n values; 0 if they are not that many. */
int64_t quorum_largest(const int64_t valid_ms[], int n, int q);

/*
 * How long a grant for ttl_ms counts from the sending of its request: the TTL
 * less what clocks may drift apart in that time.
 */
int64_t lease_valid_ms(int64_t ttl_ms);

/* From a renewal to the next; and to the next try of one that has failed. */
int64_t lease_renewal_ms(int64_t ttl_ms);
int64_t lease_retry_ms(int64_t ttl_ms);

/* What has to be left until D when COMMAND starts. */
int64_t lease_start_ms(int64_t ttl_ms);

/*
 * From SIGKILL to D; and from SIGTERM to SIGKILL, of the kill_after_ms that are
 * wanted, while the lease runs out.
 */
int64_t lease_margin_ms(int64_t ttl_ms);
int64_t lease_kill_after_ms(int64_t ttl_ms, int64_t kill_after_ms);
int64_t lease_grant_kill_after_ms(
    int64_t length_ms, int64_t ttl_ms, int64_t kill_after_ms);

/* The default of --node-timeout. */
int64_t lease_node_timeout_ms(int64_t ttl_ms);

#endif
