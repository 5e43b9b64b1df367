/* The state of a lock in a script's reply. */
#ifndef LOCK_STATE_H
#define LOCK_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/owner.h"
#include "redis/reply.h"
#include "wire.h"

#define LOCK_VALUE 1024 /* bytes of a value that scripts send, at most */
#define FENCE_END  INT64_C(9000000000000000) /* fences and times are less */

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
	/* How many others are in the queue; with REASON_FULL, how many wait. */
	int waiting;
	int place;       /* ours in the queue, from 1; 0: unknown */
	int64_t last_ms; /* how long the last successful run took; 0: unknown */
	char broken_by[OWNER_BY]; /* USER@HOST of a --break of ours, or "" */
	int64_t ticket_us;        /* our ticket, or the one that we would get */
};

/* Reads a reply.  Returns 0, or -1 if its numbers cannot be right. */
int lock_state_read(struct lock_state *, const struct reply *);

#endif
