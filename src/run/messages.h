/* What a run tells people about its lock. */
#ifndef MESSAGES_H
#define MESSAGES_H

#include <stddef.h>

#include "config/options.h"
#include "lock/lock.h"

/* Says who holds the lock, for how long, and how long yet; not with -q. */
void report_busy(const struct lock *);

/* Says whom we wait for; not with -q. */
void report_waiting(const struct lock *);

/* Say, with -v, that it was, which servers agreed, and how long it took. */
void report_acquired(const struct lock *, int64_t took_ms);
void report_released(const struct lock *, int64_t took_ms);

/* Says why the lock could not be had, and where it helps, what to do. */
void report_failed(const struct options *, const struct lock *);

/* Writes why the lock is lost, as the end of a sentence. */
void report_loss(const struct lock *, char *text, size_t size);

#endif
