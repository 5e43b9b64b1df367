/*
 * One lock on all its servers.  For each server i
 *
 *	v_i = when we sent the last request that it granted
 *	      + L - drift,  drift = L/100 + 2 ms
 *	v_i = 0 if it has granted none, once it has refused a request, and
 *	      while its vote is not trusted (vote_trusted() in
 *	      server_key.c)
 *
 * where L is the length of the lease that this request asked for: the TTL, or
 * more for a renewal with --max-ttl.  The deadline D is the q-th largest of
 * them, q = N/2 + 1. The lock is held if and only if now < D. One server follows
 * the same rule.
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

#include "lock/outcome.h"
#include "protocol/key.h"
#include "protocol/mode.h"
#include "protocol/lock_state.h"
#include "redis/conn.h"

#define LOCK_WHY 3072

struct lock;

/* The parameters of a lock.  The name must stay; addresses are copied. */
struct lock_config {
	const char *prefix;
	const char *name;
	enum lock_mode mode;
	int capacity;
	int replicas;    /* so many replicas must have the lock at first */
	int max_waiting; /* a run that waits is refused, once, if so many wait
			    already; 0: never */
	const struct address *addresses;
	int naddresses;
	int64_t ttl_ms;
	int64_t max_ttl_ms; /* the longest lease; below ttl_ms: that */
	int64_t node_timeout_ms;
	int64_t grace_ms; /* younger servers have no vote; 0: all have one */
	bool *answered;   /* whether each has replied, for all locks of the run;
			   NULL: each lock has its own */
	int64_t once_per_ms; /* refused if a run that succeeded began in that
				time; 0: never */
	bool latest;         /* gives up when a later run with this waits */
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
int lock_max_waiting(const struct lock *);
int64_t lock_once_per_ms(const struct lock *);
int64_t lock_grace_ms(const struct lock *);

/*
 * Returns the URL of the only server, without secrets; NULL if there are
 * several.
 */
const char *lock_only_server(const struct lock *);

/* Returns the fence of this tenure, once the lock is held. */
int64_t lock_fence(const struct lock *);

/*
 * Returns the number of our slot, from 1 on, once the lock is held: the same on
 * all servers until the release.  1 for a lock without slots.
 */
int lock_slot(const struct lock *);

/* Returns the length of the longest lease that a server was asked for. */
int64_t lock_longest_ms(const struct lock *);

/* Whether lock_begin() was told to wait. */
bool lock_waits(const struct lock *);

/* Whether we wait and too few servers can be reached to win. */
bool lock_lacks_quorum(const struct lock *);

/* Whether a later run with --latest ends our wait. */
bool lock_is_latest(const struct lock *);

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
 * without secrets; whether its vote for the held lock counts; and what is wrong
 * with it, or "", in buf, which is returned.
 */
int lock_servers(const struct lock *);
const char *lock_server_url(const struct lock *, int i);
bool lock_server_votes(const struct lock *, int i);
char *lock_server_why(const struct lock *, int i, char buf[LOCK_WHY]);

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
