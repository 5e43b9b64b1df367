/* The messages of a run about its locks. */
#ifndef REPORT_H
#define REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "config/options.h"
#include "lock/lock.h"

#define WAIT_TEXT 2048

/*
 * Reports the holder, for how long it has had the lock, and when its lease
 * ends. waited_ms is how long we have waited, 0 if the wait was too short to
 * mention.  Not with -q.
 */
void report_busy(const struct lock *, int64_t waited_ms);

/* Reports the later run with --latest that ended our wait.  Not with -q. */
void report_superseded(const struct lock *);
/*
 * Reports how many runs wait, as many as --max-waiting allows. waited_ms as
 * above.  Not with -q.
 */
void report_queue_full(const struct lock *, int64_t waited_ms);

/* Reports the run that uses the lock in another mode, and that mode. */
void report_other_mode(const struct lock *);

/* Reports the holder or the cooldown that may last longer than our grace. */
void report_outlasting(const struct lock *);

/* Reports the holder for which we wait.  Not with -q. */
void report_waiting(const struct lock *);

/*
 * Writes the state of our wait: "2nd of 3, giving up in 26m; behind
 * alice@web1 for 3m12s, last took 4m (deploy.sh)". aged_ms is the age of the server's
 * reply, left_ms the rest of the wait (CLOCK_NEVER: no limit).  Returns text.
 */
char *report_wait(const struct lock *, int64_t aged_ms, int64_t left_ms,
    char text[WAIT_TEXT]);

/* With -v: which servers granted or released the lock, and how fast. */
void report_acquired(const struct lock *, int64_t took_ms);
void report_released(const struct lock *, int64_t took_ms);

/* Reports why the lock was not acquired and, where possible, what to do. */
void report_failed(const struct options *, const struct lock *);

/*
 * Writes why the lock is lost, as the end of a sentence. paused_ms is for how
 * long this process did not run since the last renewal, 0 if that is too short
 * to matter.
 */
void
report_loss(const struct lock *, int64_t paused_ms, char *text, size_t size);

#endif
