/* The state of a lock in a script's reply. */
#ifndef LOCK_STATE_H
#define LOCK_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/owner.h"
#include "redis/reply.h"

#define LOCK_VALUE 1024 /* bytes of a value that scripts send, at most */
#define FENCE_END  INT64_C(9000000000000000) /* fences and times are less */

/* Values of PTTL that are no time. */
#define PTTL_NONE (-1) /* a key without expiry */
#define PTTL_FREE (-2) /* no key */

/*
 * The fields of a reply.  All scripts except history use this shape, and a
 * reply ends after the last field that its reader needs. common.lua has the
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
	FIELD_LAST_RAN,
	FIELD_BROKEN,
	FIELD_WAITERS,
	FIELD_HOLDERS
};

/* The reason of a refusal. */
enum reason {
	REASON_BUSY,
	REASON_MODE,  /* used in another mode, by the owner of value */
	REASON_RAN,   /* --once-per: the owner of value has run lately */
	REASON_BEHIND /* busy for a reader: value is of a writer that waits */
};

/* One server's report on a lock.  Fields beyond the end of the reply are 0. */
struct lock_state {
	bool granted;
	int64_t fence;
	bool ahead;     /* a living waiter comes before us */
	int slot;       /* the slot of this report */
	int64_t now_us; /* the server's wall clock */
	/* The rest is for refusals only. */
	enum reason reason;
	char value[LOCK_VALUE];
	size_t len;
	bool taken;
	struct owner owner; /* zeroed: the value is not redlock-run's */
	int64_t ttl_ms;     /* or PTTL_NONE, PTTL_FREE */
	int readers;        /* how many runs share it; 0: not shared */
	int best;           /* a free slot, or the first to become free */
	int64_t best_ms;    /* until then, or PTTL_NONE, PTTL_FREE */
	bool queued;        /* its owner is still in the queue: no holder yet */
	int waiting;        /* how many others are in the queue */
	int place;          /* ours in the queue, from 1; 0: unknown */
	int64_t last_ms; /* how long the last successful run took; 0: unknown */
	char broken_by[OWNER_BY]; /* USER@HOST of a --break of ours, or "" */
	int64_t ticket_us;        /* our ticket, or the one that we would get */
};

/* Reads a reply.  Returns 0, or -1 if its numbers cannot be right. */
int lock_state_read(struct lock_state *, const struct reply *);

#endif
