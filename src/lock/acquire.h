/*
 * What an acquisition requests from the servers, after lock.c has changed the
 * intent.  For lock.c.
 */
#ifndef ACQUIRE_H
#define ACQUIRE_H

#include "lock/votes.h"

/* Applies the action.  Returns the outcome for the lock. */
enum lock_outcome
acquire_apply(struct lock *, enum action, const struct tally *, int64_t now_ms);

/* There is no majority; whether there can be one may have changed. */
void acquire_without_quorum(struct lock *, bool changed);

/* Begins to ask all servers for a recent success. */
void acquire_ask_ran(struct lock *, int64_t now_ms);

/* The wait is over: asks the servers that refused long ago a last time. */
void acquire_last_call(struct lock *, int64_t now_ms);

/*
 * A value that we cannot read keeps us from a majority: of another program, or
 * of a version with another queue.  It may be a candidate like us, and no ticket
 * decides between us.  So after one to three node timeouts, at random, gives our
 * votes back and pauses, as plain Redlock does after each attempt.  Returns
 * whether it was time.
 */
bool acquire_give_way(struct lock *, const struct tally *, int64_t now_ms);

#endif
