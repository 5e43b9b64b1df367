/*
 * The arithmetic of the lease: the only place that computes it.
 *
 *	drift	TTL/100 + 2 ms
 *	renewal	every TTL/3
 *	retry	TTL/10, after an error and while a vote is not trusted
 *	start	COMMAND starts if at least TTL/2 are left until D
 *	SIGKILL	margin before D: TTL/50 + 5 ms, from 30 to 100 ms
 *	SIGTERM	before that: --kill-after, at most TTL/3
 *
 * With --max-ttl the renewals since COMMAND's start ask for a tenth of the time
 * since the grant, at least the TTL.  Only v_i and the drift follow from that
 * length.
 *
 * A grant that came with the wake is, until its confirmation, a lease of length
 * L, at most the TTL: v_i, start and retry follow from L instead of the TTL,
 * and there are at most L/10 from SIGTERM to SIGKILL.
 */
#ifndef LEASE_H
#define LEASE_H

#include <stdint.h>

/*
 * Returns for how long a vote counts after its request for length_ms was sent:
 * that length less the drift of the clocks in that time.
 */
int64_t lease_valid_ms(int64_t length_ms);

/*
 * Returns the length that a renewal of a growing lease asks for, held_ms after
 * the grant: a tenth of that time, at least ttl_ms, at most longest_ms.
 */
int64_t lease_length_ms(int64_t ttl_ms, int64_t longest_ms, int64_t held_ms);

/* Return the time between renewals, and from a failed one to its retry. */
int64_t lease_renewal_ms(int64_t ttl_ms);
int64_t lease_retry_ms(int64_t ttl_ms);

/* Returns how much of the lease must be left until D when COMMAND starts. */
int64_t lease_start_ms(int64_t ttl_ms);

/*
 * Return the times before the end of a lease: from SIGKILL to D; from SIGTERM
 * to SIGKILL, at most kill_after_ms; and the latter for a grant of length_ms
 * that came with the wake.
 */
int64_t lease_margin_ms(int64_t ttl_ms);
int64_t lease_kill_after_ms(int64_t ttl_ms, int64_t kill_after_ms);
int64_t lease_grant_kill_after_ms(int64_t length_ms, int64_t ttl_ms,
    int64_t kill_after_ms);

/* Returns the default of --node-timeout. */
int64_t lease_node_timeout_ms(int64_t ttl_ms);

/*
 * Returns what to write behind a node timeout that was too short: with the
 * advice to raise it, if it is the tenth of a short lease.
 */
const char *lease_timeout_hint(int64_t ttl_ms, int64_t node_timeout_ms);

#endif
