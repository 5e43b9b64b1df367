/* The arithmetic of quorum and lease. */
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

#endif
