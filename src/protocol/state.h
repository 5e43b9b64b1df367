/* What a server's reply says of a lock. */
#ifndef STATE_H
#define STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/reply.h"

#define LOCK_VALUE 1024 /* as much of a value as scripts send */
#define FENCE_END  INT64_C(9000000000000000) /* no fence or time, in us */

/* What a server asked about a lock says of it. */
struct lock_state {
	char value[LOCK_VALUE];
	size_t len;
	bool taken;
	int64_t ttl_ms;    /* -1: for ever */
	int64_t now_us;    /* the server's wall clock */
	int readers;       /* how many share it; 0: it is not shared */
	int best;          /* the slot that is free, or will be so first, */
	int64_t best_ms;   /* and when; -1: never, -2: it is free */
	bool queued;       /* its owner is in the queue: no holder yet */
	int waiting;       /* how many others do so */
	int64_t ticket_us; /* ours there, or the one that it would give us */
};

/* Reads a refusal, or the status script's answer; -1 if it is none. */
int lock_state_read(struct lock_state *, const struct reply *);

#endif
