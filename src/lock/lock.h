/*
 * The rule.  For each server i
 *
 *	v_i = when we sent the last request that it granted
 *	      + TTL - drift,	drift = TTL/100 + 2 ms
 *	v_i = 0 if there is none, once it has refused a request, and while
 *	      its grant is not trusted (vote_trusted() in
 *	      server.c)
 *
 * and the deadline D is the q-th largest of them, q = N/2 + 1.  The lock is
 * held if and only if now < D.  One server is the same rule.
 *
 * After S. Sanfilippo, "Distributed locks with Redis" (Redlock).  What
 * differs: D alone decides, never an error and never a timer; a server that
 * may have forgotten a lock has no vote (restart grace); each tenure has a
 * fence; and a vote that is split is settled in the order of tickets.
 */
#ifndef LOCK_H
#define LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "lock/lease.h"
#include "lock/server.h"
#include "protocol/key.h"
#include "protocol/mode.h"
#include "protocol/owner.h"
#include "protocol/state.h"
#include "redis/conn.h"

#define LOCK_WHY 3072

enum lock_outcome {
	LOCK_UNDECIDED,
	LOCK_HELD,
	LOCK_BUSY,        /* refusals made a majority impossible */
	LOCK_OTHER_MODE,  /* it is in use in another mode */
	LOCK_UNREACHABLE, /* too few servers could be used */
	LOCK_DENIED,      /* a server refused us */
	LOCK_SAME_SERVER, /* two addresses lead to one server */
	LOCK_CANCELLED    /* lock_cancel() */
};

enum lock_release_result {
	RELEASE_DONE,       /* given back, or there was nothing to give */
	RELEASE_UNANSWERED, /* or with errors; it ends with its lease */
	RELEASE_NOT_OURS    /* it had been somebody else's, or nobody's */
};

struct lock {
	struct lease lease;
	struct loop *loop;
	struct server *servers;
	int64_t proposal_us;  /* see struct lease */
	int64_t phase_end_ms; /* acquire and release: until when, at most */
	struct {
		bool last_called; /* at the end of a wait */
		bool extended; /* phase_end_ms was put off, for the last time */
		int changes;   /* from one slot to another, without waiting */
		int64_t lone_slot_ms; /* until when no single server names the
					 next slot */
		const struct server *alone; /* it alone told of an earlier
					       ticket, */
		int64_t alone_ms;           /* for the first time then */
	} contest;
	struct {
		int64_t begun_ms;
		int expected; /* so many servers have to answer, at most */
	} release;
	bool cancelled;
	bool slow;           /* too little of the lease was left */
	const char *same[2]; /* the two addresses of LOCK_SAME_SERVER */
};

/* What a lock is asked to be.  The name has to stay, addresses are copied. */
struct lock_config {
	const char *prefix;
	const char *name;
	enum lock_mode mode;
	int capacity;
	int replicas; /* of each server, that must have the lock at first */
	const struct address *addresses;
	int naddresses;
	int64_t ttl_ms;
	int64_t node_timeout_ms;
	int64_t grace_ms; /* younger servers have no vote; 0: all have one */
};

/*
 * Prepares l, which stays in place.  Returns 0, or -1 with errno.
 * lock_close() undoes it.
 */
int lock_init(struct lock *, struct loop *, const struct lock_config *);

/* What lock_init() was given. */
const char *lock_name(const struct lock *);
enum lock_mode lock_mode(const struct lock *);
int lock_capacity(const struct lock *);

/* The URL of its server, without secrets; NULL if it has several. */
const char *lock_only_server(const struct lock *);

/*
 * Looks up every server's addresses; may block as long as a resolver does.
 * Returns 0, or -1 if fewer than a quorum have one; see lock_why().
 */
int lock_resolve(struct lock *);

/* Begins to connect, so that the servers work while an owner is made. */
void lock_connect(struct lock *);

/*
 * Begins to take the lock for owner, which stays, and to wait for it in turn
 * until wait_end_ms (0: not at all).  From then on lock_step() and
 * lock_outcome() are called in turn, until the outcome is no longer
 * LOCK_UNDECIDED, or phase_end_ms or wait_end_ms has come and changed it.
 */
void lock_begin(struct lock *, const struct owner *, int64_t wait_end_ms);
enum lock_outcome lock_outcome(struct lock *);

/*
 * All locks of the run are held: it starts, and that goes into the history of
 * this one.
 */
void lock_start(struct lock *);

/* The fence of this tenure, once it is held. */
int64_t lock_fence(const struct lock *);

/*
 * The length of a grant that came with the wake while it is not confirmed; 0:
 * there is none.  lock_drop_grant() gives it up before anything was started
 * under it, and the lock has to be acquired again.
 */
int64_t lock_grant_ms(const struct lock *);
void lock_drop_grant(struct lock *);

/* Whether lock_begin() was given a time to wait. */
bool lock_waits(const struct lock *);

/* Whether, while we wait, too few servers can be reached to win. */
bool lock_lacks_quorum(const struct lock *);

/* After LOCK_UNREACHABLE: whether answers came too slowly, not too few. */
bool lock_was_slow(const struct lock *);

/* After LOCK_SAME_SERVER: the URLs of the two. */
void lock_same_server(const struct lock *, const char *urls[2]);

/*
 * The URLs of the servers whose last vote, or answer to the release, was yes:
 * "redis://h:6379, redis://i:6379".  Returns buf.
 */
char *lock_agreed(const struct lock *, bool released, char buf[LOCK_WHY]);

/*
 * Of the i-th of its servers: the URL without secrets; whether, while the lock
 * is held, it has granted it and that counts; and what is wrong with it, or "".
 * Returns buf.
 */
int lock_servers(const struct lock *);
const char *lock_server_url(const struct lock *, int i);
bool lock_server_grants(const struct lock *, int i);
char *lock_server_why(const struct lock *, int i, char buf[LOCK_WHY]);

/* Renews the lock at once, if it is held. */
void lock_renew(struct lock *);

/* The next outcome is LOCK_CANCELLED.  For callbacks. */
void lock_cancel(struct lock *);

/*
 * Another server that turned out to be the same as s, or NULL; and whether
 * there is such a pair.
 */
const struct server *
lock_duplicate(const struct lock *, const struct server *s);
bool lock_has_duplicates(const struct lock *);

/*
 * trust.c: while the lock is asked for, decides anew which servers' numbers
 * cannot be right beside those of the others.
 */
void lock_judge_numbers(struct lock *);

/* D: the lock is held if and only if clock_now_ms() is before it. */
int64_t lock_deadline_ms(const struct lock *);

/*
 * Sends the requests and opens the connections that are due.  Returns when to
 * call it again at the latest.  Not for callbacks.
 */
int64_t lock_step(struct lock *);

/*
 * Begins to give back whatever a server may have of ours, or to leave the lock
 * in cooldown for cooldown_ms.  The history gets
 * end_record as the end of a run that has started: " ran=3400 ended=exited
 * status=0".  The caller then calls lock_step() and turns the loop until
 * lock_release_end_ms(): when a quorum has replied, or after one node timeout.
 */
void
lock_begin_release(struct lock *, int64_t cooldown_ms, const char *end_record);
int64_t lock_release_end_ms(const struct lock *);
enum lock_release_result lock_release_result(const struct lock *);

/*
 * After a release that keeps the ticket: readies the lock for another attempt,
 * with values of its own.
 */
void lock_again(struct lock *);

/* Ends the connections and frees everything. */
void lock_close(struct lock *);

/*
 * What a server that refused us says of the lock; NULL if none did, or too
 * few to make a lock that was held a lost one.
 */
const struct lock_state *lock_state(const struct lock *);

/* Who took the lock from us with --break, "USER@HOST"; NULL: nobody. */
const char *lock_broken_by(const struct lock *);

/*
 * Why there is no majority, server by server: "redis://h:6379: Connection
 * refused; redis://i:6379: the same", and how many more there are if they are
 * too many.  Empty if nothing is wrong with any.  Returns buf.
 */
char *lock_why(const struct lock *, char buf[LOCK_WHY]);

#endif
