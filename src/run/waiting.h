/* While a run waits for a lock: what it reports, and when. */
#ifndef WAITING_H
#define WAITING_H

#include <stdbool.h>
#include <stdint.h>

#include "config/options.h"
#include "lock/lock.h"
#include "run/usual.h"

struct waiting {
	bool terminal;  /* a line can be drawn there */
	bool announced; /* people have read that we wait */
	int64_t begin_ms;
	int64_t end_ms;    /* CLOCK_NEVER: no limit */
	int64_t report_ms; /* when the next line is due */
	int64_t draw_ms;   /* when to draw the line again */
	int64_t
	    state_us; /* the last state of the lock by the server's clock, */
	int64_t state_ms; /* and when it came */
	struct usual usual;
};

/*
 * Before the first lock is requested; may block as long as a resolver does.
 * waiting_release() frees what it took.
 */
void waiting_init(struct waiting *, struct loop *, const struct options *);
void waiting_release(struct waiting *);

/* The wait begins at now_ms and ends at end_ms. */
void waiting_begin(struct waiting *, int64_t now_ms, int64_t end_ms);

/* Reports what is due; for locks_acquire(). */
int64_t waiting_cb(void *waiting, const struct lock *);

/* Erases what waiting_cb() has drawn; it draws again at its next call. */
void waiting_pause(struct waiting *);

/*
 * The wait is over, whatever its outcome.  Returns how long it was in ms if
 * that was announced, else 0.
 */
int64_t waiting_end(struct waiting *);

#endif
