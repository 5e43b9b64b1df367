/*
 * A lock as src/lock sees it: its members, and what these files call among
 * themselves.  For all others struct lock is opaque, see lock.h.
 */
#ifndef LOCK_INSIDE_H
#define LOCK_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "lock/intent.h"
#include "lock/outcome.h"
#include "lock/server.h"
#include "protocol/owner.h"
#include "protocol/quorum.h"

struct lock {
	struct intent intent;
	struct loop *loop;
	struct server *servers;
	struct server *end; /* behind the last server */
	struct server_asks asks;
	int64_t proposal_us;  /* a fence to propose: our wall clock, at times */
	int64_t phase_end_ms; /* the end of acquire or release, at the latest */
	struct {
		bool last_called; /* at the end of a wait */
		bool extended; /* phase_end_ms was extended for the last time */
		int changes;   /* of the slot, for a run that does not wait */
		/*
		 * The only server that reports an earlier ticket or names a free
		 * slot, since when.
		 */
		const struct server *alone;
		int64_t alone_ms;
		/* When we give way to what we cannot read; 0: nothing is. */
		int64_t give_way_ms;
	} contest;
	struct {
		int64_t begun_ms;
		int64_t valid_ms[LOCK_SERVERS]; /* as they counted then */
		int expected; /* how many servers have to reply, at most */
	} release;
	bool cancelled;
	bool slow;           /* too little of the lease was left */
	bool superseded;     /* the outcome was LOCK_SUPERSEDED */
	const char *same[2]; /* the two addresses of LOCK_SAME_SERVER */
};

/*
 * Begins to connect, so that connecting overlaps with the caller's
 * preparations.
 */
void lock_connect(struct lock *);

/*
 * Begins to take the lock for owner, which stays in place, and to wait in the
 * queue until wait_end_ms (0: no wait).  The caller then alternates lock_step()
 * and lock_outcome() until the outcome is no longer LOCK_UNDECIDED; when
 * phase_end_ms or wait_end_ms passes, the outcome may change without a reply.
 * first and last are about the locks of the run; others than the first connect
 * now.
 */
void lock_begin(struct lock *, const struct owner *, int64_t wait_end_ms,
    bool first, bool last);
enum lock_outcome lock_outcome(struct lock *);

/*
 * Call when all locks of the run are held: records the start of the run in this
 * lock's history.
 */
void lock_start(struct lock *);

/*
 * Call when COMMAND has started: from then on renewals ask for longer leases, up
 * to --max-ttl.
 */
void lock_grow(struct lock *);

/* Whatever was started counts no more: the lock is acquired once more. */
void lock_unstart(struct lock *);

/* The history gets the reason why the run was refused. */
void lock_skip(struct lock *, enum lock_outcome);

/* The next release ends only this attempt, and keeps the ticket. */
void lock_start_over(struct lock *);

/*
 * lock_grant_ms() returns the length of a grant that came with the wake and is
 * not confirmed yet, or 0. lock_drop_grant() gives such a grant up before
 * anything was started under it; the lock must then be acquired again.
 */
int64_t lock_grant_ms(const struct lock *);
void lock_drop_grant(struct lock *);

/* Renews the lock at once, if it is held. */
void lock_renew(struct lock *);

/* Makes the next outcome LOCK_CANCELLED.  For callbacks. */
void lock_cancel(struct lock *);

/*
 * In duplicate.c. lock_find_first() finds out which address has the vote of the
 * server that s leads to, and sets s->first. lock_counts_vote() returns whether
 * v_i of s counts: not if the same server has granted a later one.
 * lock_drop_earlier() sets those to 0 that a server may have granted before it
 * restarted and granted a later one.
 */
void lock_find_first(struct lock *, struct server *s);
bool lock_counts_vote(const struct lock *, const struct server *s);
void lock_drop_earlier(const struct lock *, int64_t valid_ms[]);

/*
 * Whether two addresses lead to one server since before any server has voted in
 * this run, while the lock is not held.
 */
bool lock_names_server_twice(const struct lock *);

/*
 * In trust.c: while the lock is being acquired, decides anew which servers'
 * numbers are implausible beside those of the others. lock_trust_all() forgets
 * that.
 */
void lock_judge_numbers(struct lock *);
void lock_trust_all(struct lock *);

/* Returns D: the lock is held if and only if clock_now_ms() is before it. */
int64_t lock_deadline_ms(const struct lock *);

/*
 * Sends the requests and opens the connections that are due.  Returns the time
 * of the next call at the latest.  Must not be called in callbacks.
 */
int64_t lock_step(struct lock *);

/*
 * Begins to release everything of ours on any server, or to leave the lock in
 * cooldown for cooldown_ms. end is the end of the run for the history, and
 * counts if the run has started; it must stay until then.  The caller then
 * alternates lock_step() and the loop until lock_release_end_ms(): when a
 * quorum has replied, or after one node timeout; after two at most, if the lock
 * was held and the release goes twice.
 */
void lock_begin_release(struct lock *, int64_t cooldown_ms,
    const struct record *end);
int64_t lock_release_end_ms(const struct lock *);
enum lock_release_result lock_release_result(const struct lock *);

/*
 * Call after a release that keeps the ticket: readies the lock for another
 * attempt with new values.
 */
void lock_again(struct lock *);

/* Closes the connections and frees everything. */
void lock_close(struct lock *);

#endif
