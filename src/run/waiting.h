/* While a run waits for a lock: what it reports, and when. */
#ifndef WAITING_H
#define WAITING_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/lock.h"

struct waiting {
	int64_t report_ms; /* when the next line is due */
	int64_t end_ms;    /* of the wait; CLOCK_NEVER: none */
};

/* The wait begins at now_ms and ends at end_ms. */
void waiting_begin(struct waiting *, int64_t now_ms, int64_t end_ms);

/* Reports what is due; for locks_acquire(). */
int64_t waiting_cb(void *waiting, const struct lock *);

#endif
