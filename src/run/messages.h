/* What a run reports about its lock. */
#ifndef MESSAGES_H
#define MESSAGES_H

#include <stddef.h>

#include "config/options.h"
#include "lock/lock.h"

#define WAIT_TEXT 2048

/*
 * Reports who holds the lock, for how long, and when its lease ends; waited_ms
 * is how long we have waited, 0 if not for long.  Not with -q.
 */
void report_busy(const struct lock *, int64_t waited_ms);

/* Reports who uses the lock in another mode, and in which. */
void report_other_mode(const struct lock *);

/* Reports whom we wait for.  Not with -q. */
void report_waiting(const struct lock *);

/*
 * Writes what we wait for: "2nd of 3, behind alice@web1 (deploy.sh) for 3m12s,
 * usually 4m; giving up in 26m".  aged_ms is the age of the server's reply,
 * usual_ms how long runs take (-1: unknown), left_ms what is left of the wait
 * (CLOCK_NEVER: no limit).  Returns text.
 */
char *describe_wait(const struct lock *, int64_t aged_ms, int64_t usual_ms,
    int64_t left_ms, char text[WAIT_TEXT]);

/* With -v: which servers granted or released the lock, and how fast. */
void report_acquired(const struct lock *, int64_t took_ms);
void report_released(const struct lock *, int64_t took_ms);

/* Reports why the lock was not acquired and, where it helps, what to do. */
void report_failed(const struct options *, const struct lock *);

/* Reports why COMMAND was not executed; returns the exit status for it. */
int report_no_exec(const struct options *, int error);

/* Writes why the lock is lost, as the end of a sentence. */
void report_loss(const struct lock *, char *text, size_t size);

#endif
