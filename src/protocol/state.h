/* What a script's reply says of a lock. */
#ifndef STATE_H
#define STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/owner.h"
#include "redis/reply.h"

#define LOCK_VALUE 1024 /* as much of a value as scripts send */
#define FENCE_END  INT64_C(9000000000000000) /* no fence or time, in us */

/* Where PTTL has no time to tell. */
#define PTTL_NONE (-1) /* a key without expiry */
#define PTTL_FREE (-2) /* no key */

/*
 * The fields of a reply.  All scripts but history have this one shape, and a
 * reply ends behind the last field that its reader needs; common.lua has the
 * same table.
 */
enum state_field {
	FIELD_GRANTED,
	FIELD_FENCE,
	FIELD_AHEAD,
	FIELD_SLOT,
	FIELD_NOW,
	FIELD_VALUE,
	FIELD_PTTL,
	FIELD_READERS,
	FIELD_BEST,
	FIELD_BEST_PTTL,
	FIELD_QUEUED,
	FIELD_WAITING,
	FIELD_TICKET,
	FIELD_PLACE,
	FIELD_REASON,
	FIELD_BROKEN,
	FIELD_WAITERS,
	FIELD_HOLDERS
};

/* Why a server refuses a lock. */
enum reason {
	REASON_BUSY,
	REASON_MODE /* it is used in another mode, by the owner of value */
};

/* What a server says of a lock.  What a reply is too short for is 0. */
struct lock_state {
	bool granted;
	int64_t fence;
	bool ahead;     /* a living waiter comes before us */
	int slot;       /* that this is about */
	int64_t now_us; /* the server's wall clock */
	/* Of a refusal. */
	enum reason reason;
	char value[LOCK_VALUE];
	size_t len;
	bool taken;
	struct owner owner; /* zeroed: the value is none of redlock-run's */
	int64_t ttl_ms;     /* or PTTL_NONE, PTTL_FREE */
	int readers;        /* how many share it; 0: it is not shared */
	int best;           /* the slot that is free, or will be so first, */
	int64_t best_ms;    /* and when, or PTTL_NONE, PTTL_FREE */
	bool queued;        /* its owner is in the queue: no holder yet */
	int waiting;        /* how many others do so */
	int place;          /* ours in the queue, from 1; 0: unknown */
	char broken_by[OWNER_BY]; /* who took our lock with --break, or "" */
	int64_t ticket_us; /* ours there, or the one that it would give us */
};

/* Reads a reply.  Returns 0, or -1 if its numbers cannot be right. */
int lock_state_read(struct lock_state *, const struct reply *);

#endif
