/*
 * The rule.  For each server i
 *
 *	v_i = when we sent the last request that it answered with "yours"
 *	      + TTL - drift,	drift = TTL/100 + 2 ms
 *	v_i = 0 if there is none, or once it answered "not yours"
 *
 * and the deadline D is the q-th largest of them, q = N/2 + 1.  The lock is
 * held if and only if now < D.  One server is the same rule.
 *
 * After S. Sanfilippo, "Distributed locks with Redis" (Redlock); what differs
 * is that D alone decides, never an error and never a timer.
 */
#ifndef LOCK_H
#define LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "loop.h"
#include "node.h"
#include "owner.h"

#define LOCK_NAME  512 /* bytes, at most */
#define LOCK_KEY   (2 * LOCK_NAME + 32)
#define LOCK_VALUE 1024 /* as much of a value as scripts send */
#define LOCK_WHY   1024

enum lock_outcome {
	LOCK_UNDECIDED,
	LOCK_HELD,
	LOCK_BUSY,        /* refusals made a majority impossible */
	LOCK_UNREACHABLE, /* too few servers could be used */
	LOCK_DENIED,      /* a server refused us */
	LOCK_CANCELLED    /* lock_cancel() */
};

enum lock_release_result {
	RELEASE_DONE,      /* given back, or there was nothing to give */
	RELEASE_NOT_OURS,  /* it had been somebody else's, or nobody's */
	RELEASE_UNANSWERED /* it ends with its lease */
};

/* What a server asked about a lock says of it. */
struct lock_view {
	char value[LOCK_VALUE];
	size_t len;
	bool taken;
	int64_t ttl_ms; /* -1: for ever */
	int64_t now_ms; /* the server's wall clock */
};

/* A server and its part in the lock. */
struct server {
	struct lock *lock;
	struct node node;
	enum ask { ASK_NOTHING, ASK_ACQUIRE, ASK_RENEW, ASK_RELEASE } asked;
	int64_t give_up_ms; /* when what was asked counts as unanswered */
	int64_t next_ms;    /* when something is to be asked again */
	int64_t valid_ms;   /* v_i */
	bool ours;          /* its last answer was "yours" */
	bool maybe_ours;    /* nothing rules out that our value is there */
	bool opened;        /* a connection was begun, its end not yet seen */
	bool reopen;        /* the connection has worked: reopen at once */
	int releases;       /* times that a release was sent */
	enum verdict {
		VERDICT_OPEN,
		VERDICT_YES,
		VERDICT_NO,
		VERDICT_UNABLE,
		VERDICT_DENIED
	} verdict,
	    released;          /* on acquire or renewal; on the release */
	char why[NODE_WHY];    /* of the last failure */
	struct lock_view view; /* of the last refusal */
};

struct lock {
	struct loop *loop;
	struct server *servers;
	int nservers;
	int quorum;
	int64_t ttl_ms;
	int64_t node_timeout_ms;
	enum { PHASE_ACQUIRE, PHASE_HOLD, PHASE_RELEASE } phase;
	int64_t phase_end_ms; /* acquire and release: until when, at most */
	int64_t rest_ms;      /* release: stays taken that long */
	bool cancelled;
	bool slow;     /* too little of the lease was left */
	int64_t fence; /* of this tenure; 0 before */
	char key[LOCK_KEY];
	char fence_key[LOCK_KEY];
	char id[OWNER_ID];
	char details[OWNER_DETAILS];
};

/* The q-th largest of n valid-until times. */
int64_t lock_deadline_of(const int64_t valid_ms[], int n, int q);

/* Writes the lock key, and the prefix of all keys beside it, of a name. */
void lock_keys(const char *prefix, const char *name, char key[LOCK_KEY],
    char fence_key[LOCK_KEY]);

/*
 * Prepares l, which stays in place, for name under prefix on the servers at
 * addresses (copied).  Returns 0, or -1 with errno.  lock_close() undoes it.
 */
int lock_init(struct lock *l, struct loop *, const char *prefix,
    const char *name, const struct address *addresses, int naddresses,
    int64_t ttl_ms, int64_t node_timeout_ms);

/*
 * Looks up every server's addresses; may block as long as a resolver does.
 * Returns 0, or -1 if fewer than a quorum have one; see lock_why().
 */
int lock_resolve(struct lock *);

/*
 * Begins to connect, so that the servers work while owner is made.
 * lock_acquire() then turns the loop until the matter is decided.  Unless it
 * returns LOCK_HELD, whatever may have been left on a server is given back
 * before it returns, within one more node timeout.
 */
void lock_connect(struct lock *);
enum lock_outcome lock_acquire(struct lock *, const struct owner *);

/* Ends lock_acquire() at its next turn.  For callbacks. */
void lock_cancel(struct lock *);

/* D: the lock is held if and only if clock_now_ms() is before it. */
int64_t lock_deadline_ms(const struct lock *);

/*
 * Does what is due while the lock is held: renewals, reconnections.  Returns
 * when it wants to be called again at the latest.  Not for callbacks.
 */
int64_t lock_step(struct lock *);

/*
 * Gives the lock back, or leaves it taken for rest_ms more, and waits until a
 * quorum has answered, at most one node timeout.
 */
enum lock_release_result lock_release(struct lock *, int64_t rest_ms);

/* Tells the servers that nothing more comes, and frees everything. */
void lock_close(struct lock *);

/* What a server that refused us says of the lock; NULL if none did. */
const struct lock_view *lock_view(const struct lock *);

/*
 * Why there is no majority, server by server: "redis://h:6379: Connection
 * refused; ...".  Returns buf.
 */
char *lock_why(const struct lock *, char buf[LOCK_WHY]);

/* Reads a refusal (or the status script's answer); -1 if it is none. */
int lock_view_read(struct lock_view *, const struct answer *);

#endif
