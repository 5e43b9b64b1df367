/*
 * Counts the servers' votes and decides what to do.  Nothing here changes a
 * lock; lock.c and acquire.c apply the decision.
 */
#ifndef VOTES_H
#define VOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/lock_inside.h"

/* The votes of an acquisition, counted. */
struct tally {
	int quorum;
	int minority; /* how many servers a quorum can miss */
	int granted;
	int refused;
	int pending;
	int forbidden;
	int unusable;   /* unreachable, or denying access */
	int otherwise;  /* refusals because of our mode */
	int outlasting; /* refusals by what may last beyond our grace */
	int ran;        /* refusals because a run has succeeded lately */
	int superseded; /* refusals because a later run waits */
	int full;       /* refusals because so many wait already */
	int firm;       /* refusals by a holder, not by a candidate */
	int unreadable; /* refusals by a value that we cannot read */
	int fenced;     /* of those granted, with our fence */
	int64_t fence;  /* the largest of the votes granted */
	int replicated; /* of those fenced, on enough replicas */
	int free_slot;  /* another slot that refusals name as free; 0: none */
	const struct server *lone_slot; /* that alone names it, or NULL */
	bool contested;
	bool cancelled;
	bool same_server; /* two addresses name one server */
	bool waits;       /* we are in the queue */
	bool over;        /* time is up, and all replies are read */
	bool extended;    /* the time was extended for the last time */
	bool has_ticket;
	bool half_left; /* at least half of the lease is left */
	bool stale;     /* a vote is older than any wait for a server */
};

enum action {
	AWAIT_REPLIES,
	WRITE_FENCE,  /* to votes with a smaller fence */
	ASK_REPLICAS, /* how many have the votes */
	ASK_AGAIN,    /* because the votes have become old */
	CHANGE_SLOT,
	TAKE_TICKET,
	YIELD_VOTES, /* to an earlier ticket */
	HOLD_LOCK,
	END_BUSY,
	END_SUPERSEDED,
	END_OTHERWISE, /* the lock is used in another mode */
	END_FULL,      /* as many wait as --max-waiting allows */
	END_OUTLASTED, /* a server may forget its holder too early for us */
	END_UNREACHABLE,
	END_SLOW, /* too little of the lease would be left */
	END_DENIED,
	END_SAME_SERVER,
	END_CANCELLED
};

/*
 * Whether to believe what s alone reports: for one node timeout, so that a faulty
 * server can cost only time.
 */
bool votes_believe(const struct lock *, const struct server *s, int64_t now_ms);

/*
 * Returns the ticket to take after a split vote: the latest that the servers that
 * refused us would give us, at least 1.  Presented to all servers, it makes them
 * agree on one order.
 */
int64_t votes_ticket(const struct lock *);

/* Counts the present votes. */
struct tally votes_count(const struct lock *, int64_t now_ms);

/* Returns the action that the votes require. */
enum action votes_decide(const struct tally *);

#endif
