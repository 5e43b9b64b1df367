/*
 * One lock on all its servers.  For each server i
 *
 *	v_i = when we sent the last request that it granted
 *	      + TTL - drift,  drift = TTL/100 + 2 ms
 *	v_i = 0 if it has granted none, once it has refused a request, and
 *	      while its grant is not trusted (vote_trusted() in
 *	      server_reply.c)
 *
 * and the deadline D is the q-th largest of them, q = N/2 + 1. The lock is held
 * if and only if now < D. One server follows the same rule.
 *
 * After S. Sanfilippo, "Distributed locks with Redis" (Redlock).  The
 * differences: D alone decides, never an error and never a timer; a server that
 * may have forgotten a lock has no vote (restart grace); each tenure has a
 * fence; and the order of tickets settles a split vote.
 */
#ifndef LOCK_H
#define LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "lock/intent.h"
#include "lock/server.h"
#include "protocol/key.h"
#include "protocol/mode.h"
#include "protocol/owner.h"
#include "protocol/lock_state.h"
#include "redis/conn.h"

#define LOCK_WHY 3072

enum lock_outcome {
	LOCK_UNDECIDED,
	LOCK_HELD,
	LOCK_BUSY,        /* refusals made a majority impossible */
	LOCK_OTHER_MODE,  /* it is used in another mode */
	LOCK_UNREACHABLE, /* too few servers could be used */
	LOCK_DENIED,      /* a server denied us access */
	LOCK_SAME_SERVER, /* two addresses lead to one server */
	LOCK_CANCELLED    /* lock_cancel() was called */
};

enum lock_release_result {
	RELEASE_DONE,       /* released, or there was nothing to release */
	RELEASE_UNANSWERED, /* or with errors; the lock ends with its lease */
	RELEASE_NOT_OURS    /* the lock was free or another's before */
};

struct lock {
	struct intent intent;
	struct loop *loop;
	struct server *servers;
	int64_t proposal_us;  /* see struct intent */
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
	} contest;
	struct {
		int64_t begun_ms;
		int expected; /* how many servers have to reply, at most */
	} release;
	bool cancelled;
	bool slow;           /* too little of the lease was left */
	const char *same[2]; /* the two addresses of LOCK_SAME_SERVER */
};

/* The parameters of a lock.  The name must stay; addresses are copied. */
struct lock_config {
	const char *prefix;
	const char *name;
	enum lock_mode mode;
	int capacity;
	int replicas; /* so many replicas must have the lock at first */
	const struct address *addresses;
	int naddresses;
	int64_t ttl_ms;
	int64_t node_timeout_ms;
	int64_t grace_ms; /* younger servers have no vote; 0: all have one */
	bool *answered;   /* whether each has replied, for all locks of the run;
			   NULL: each lock has its own */
	int64_t once_per_ms; /* refused if a run that succeeded began in that
				time; 0: never */
};

/*
 * Prepares l, which stays in place, and begins to look up the servers' names.
 * Returns 0, or -1 with errno. lock_close() frees everything.
 */
int lock_init(struct lock *, struct resolver *, const struct lock_config *);

/* Return the parameters that lock_init() received. */
const char *lock_name(const struct lock *);
enum lock_mode lock_mode(const struct lock *);
int lock_capacity(const struct lock *);
int64_t lock_once_per_ms(const struct lock *);

/*
 * Returns the URL of the only server, without secrets; NULL if there are
 * several.
 */
const char *lock_only_server(const struct lock *);

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
 */
void lock_begin(struct lock *, const struct owner *, int64_t wait_end_ms);
enum lock_outcome lock_outcome(struct lock *);

/*
 * Call when all locks of the run are held: records the start of the run in this
 * lock's history.
 */
void lock_start(struct lock *);

/* Returns the fence of this tenure, once the lock is held. */
int64_t lock_fence(const struct lock *);

/*
 * lock_grant_ms() returns the length of a grant that came with the wake and is
 * not confirmed yet, or 0. lock_drop_grant() gives such a grant up before
 * anything was started under it; the lock must then be acquired again.
 */
int64_t lock_grant_ms(const struct lock *);
void lock_drop_grant(struct lock *);

/* Whether lock_begin() was told to wait. */
bool lock_waits(const struct lock *);

/* Whether we wait and too few servers can be reached to win. */
bool lock_lacks_quorum(const struct lock *);

/*
 * After LOCK_UNREACHABLE: whether replies came too slowly, rather than too few.
 */
bool lock_was_slow(const struct lock *);

/* After LOCK_SAME_SERVER: stores the URLs of the two. */
void lock_same_server(const struct lock *, const char *urls[2]);

/*
 * Writes the URLs of the servers that granted the last vote or, with released,
 * the release: "redis://h:6379, redis://i:6379".  Returns buf.
 */
char *lock_agreed(const struct lock *, bool released, char buf[LOCK_WHY]);

/*
 * lock_servers() returns the number of servers.  For the i-th of them: its URL
 * without secrets; whether its grant of the held lock counts; and what is wrong
 * with it, or "", in buf, which is returned.
 */
int lock_servers(const struct lock *);
const char *lock_server_url(const struct lock *, int i);
bool lock_server_grants(const struct lock *, int i);
char *lock_server_why(const struct lock *, int i, char buf[LOCK_WHY]);

/* Renews the lock at once, if it is held. */
void lock_renew(struct lock *);

/* Makes the next outcome LOCK_CANCELLED.  For callbacks. */
void lock_cancel(struct lock *);

/*
 * In duplicate.c. lock_find_first() finds out which address has the vote of the
 * server that s leads to, and sets s->first. lock_counts_grant() returns whether
 * v_i of s counts: not if the same server has granted a later one.
 * lock_drop_earlier() sets those to 0 that a server may have granted before it
 * restarted and granted a later one.
 */
void lock_find_first(struct lock *, struct server *s);
bool lock_counts_grant(const struct lock *, const struct server *s);
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
 * cooldown for cooldown_ms. end_record is the end of the run for the history,
 * if the run has started: " ran=3400 ended=exited status=0".  The caller then
 * alternates lock_step() and the loop until lock_release_end_ms(): when a
 * quorum has replied, or after one node timeout; after two at most, if the lock
 * was held and the release goes twice.
 */
void
lock_begin_release(struct lock *, int64_t cooldown_ms, const char *end_record);
int64_t lock_release_end_ms(const struct lock *);
enum lock_release_result lock_release_result(const struct lock *);

/*
 * Call after a release that keeps the ticket: readies the lock for another
 * attempt with new values.
 */
void lock_again(struct lock *);

/* Closes the connections and frees everything. */
void lock_close(struct lock *);

/*
 * Returns the lock's state as reported by a server that refused us.  NULL if
 * none did or, once the lock was held, if too few did to lose it.
 */
const struct lock_state *lock_state(const struct lock *);

/*
 * Returns "USER@HOST" of the user who took the lock from us with --break, or
 * NULL if so few servers reported that that a majority may hold it.
 */
const char *lock_broken_by(const struct lock *);

/*
 * Writes why there is no majority, server by server: "redis://h:6379:
 * Connection refused; redis://i:6379: the same".  If the text is too long,
 * gives the number of servers left out.  Empty if nothing is wrong with any.
 * Returns buf.
 */
char *lock_why(const struct lock *, char buf[LOCK_WHY]);

/*
 * After an outcome other than LOCK_HELD: whether a server may have granted the
 * lock and may not receive its release, because it owes us a reply or cannot be
 * reached.
 */
bool lock_may_be_left(const struct lock *);

/* Whether lock_why() names a minority of the servers, or none. */
bool lock_minority_fails(const struct lock *);

#endif
