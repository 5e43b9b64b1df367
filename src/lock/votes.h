/*
 * The votes of the servers, counted, and what follows from them.  Nothing here
 * changes a lock; acquire.c applies what is decided.
 */
#ifndef VOTES_H
#define VOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/lock.h"

/* Where an acquisition stands. */
struct tally {
	int quorum;
	int minority; /* the servers beside a quorum */
	int granted;
	int refused;
	int pending;
	int forbidden;
	int unusable;   /* cannot be reached, or forbid it */
	int otherwise;  /* refusals of our mode */
	int firm;       /* refusals by a holder, not by a candidate */
	int fenced;     /* grants that have the fence */
	int64_t fence;  /* the largest among the grants */
	int replicated; /* fenced grants that enough replicas have */
	int free_slot;  /* another slot, which refusals name as free; 0: none */
	bool lone_slot; /* one server alone does */
	bool contested;
	bool cancelled;
	bool same_server; /* two addresses lead to one server */
	bool waits;       /* in the queue */
	bool over;     /* the time for replies, and all that came were read */
	bool extended; /* that time, for the last time */
	bool has_ticket;
	bool half_left; /* at least half of the lease */
	bool stale;     /* a grant is older than any reply we wait for */
};

enum action {
	AWAIT_REPLIES,
	WRITE_FENCE,  /* to the grants that have a smaller one */
	ASK_REPLICAS, /* whether they have the grants */
	ASK_AGAIN,    /* the grants have grown old */
	CHANGE_SLOT,
	TAKE_TICKET,
	YIELD_VOTES, /* our votes, to an earlier ticket */
	HOLD_LOCK,
	END_BUSY,
	END_OTHERWISE, /* the lock is used in another mode */
	END_UNREACHABLE,
	END_SLOW, /* too little of the lease would be left */
	END_DENIED,
	END_SAME_SERVER,
	END_CANCELLED
};

/* Counts the votes as they stand. */
struct tally count_votes(const struct lock *, int64_t now_ms);

/* What follows from them. */
enum action decide(const struct tally *);

#endif
