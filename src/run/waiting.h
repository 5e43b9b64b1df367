/* The reports of a run that waits for a lock. */
#ifndef WAITING_H
#define WAITING_H

#include <stdbool.h>
#include <stdint.h>

#include "config/options.h"
#include "lock/lock.h"
#include "protocol/owner.h"

struct waiting {
	bool terminal;  /* we can draw a line there */
	bool announced; /* a message has said that we wait */
	int64_t begin_ms;
	int64_t end_ms;    /* CLOCK_NEVER: no limit */
	int64_t report_ms; /* when the next message is due */
	int64_t draw_ms;   /* when to draw the line again */
	int64_t state_us;  /* server's clock at the last state */
	int64_t state_ms;  /* when that state arrived */
	/* The holder that was last looked for among our ancestors. */
	char judged[OWNER_TOKEN];
};

/* Call before the first lock is requested. */
void waiting_init(struct waiting *, const struct options *);

/* The wait begins at now_ms and ends at end_ms. */
void waiting_begin(struct waiting *, int64_t now_ms, int64_t end_ms);

/* Reports what is due; a locks_waiting_cb. */
int64_t waiting_cb(void *waiting, const struct lock *);

/* Erases the line; waiting_cb() draws it again at its next call. */
void waiting_pause(struct waiting *);

/*
 * Ends the wait, whatever its outcome.  Returns its length in ms if it was
 * announced, else 0.
 */
int64_t waiting_end(struct waiting *);

#endif
