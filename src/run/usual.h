/* How long runs of a lock usually take, from one request for its history. */
#ifndef USUAL_H
#define USUAL_H

#include <stdbool.h>
#include <stdint.h>

#include "config/options.h"
#include "redis/conn.h"

struct usual {
	struct conn conn; /* to the first server */
	const char *prefix;
	const char *name; /* of the lock; NULL: nothing was requested yet */
	int slots;
	int64_t timeout_ms;
	int64_t end_ms; /* the latest time for the reply */
	enum { USUAL_IDLE, USUAL_OPENING, USUAL_SENT, USUAL_DONE } state;
	int64_t median_ms; /* -1: unknown */
};

/*
 * Resolves the server's name, which may block. usual_release() frees
 * everything.
 */
void usual_init(struct usual *, struct loop *, const struct options *);
void usual_release(struct usual *);

/*
 * Requests the history of the lock name, which stays in place.  Call it once.
 */
void usual_begin(struct usual *, const char *name);

/*
 * Call in each turn of the loop, not in callbacks: sends the request when the
 * connection is ready, and ends it when the reply is late.
 */
void usual_step(struct usual *);

/* Closes the connection; without a reply the result stays unknown. */
void usual_end(struct usual *);

/* Returns the median of the recorded runs of that lock in ms; -1: unknown. */
int64_t usual_ms(const struct usual *, const char *name);

#endif
