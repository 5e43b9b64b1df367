/*
 * The process that kills COMMAND's processes when we cannot: because we were
 * killed, or stopped for longer than the lease lasts.
 *
 * It has a session of its own, blocks all signals, holds no descriptor but
 * its own two, and is no ancestor of COMMAND's processes: it finds them from
 * COMMAND down, by group, and by REDLOCK_TOKEN in their environment.
 */
#ifndef GUARD_H
#define GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "process/tree.h"

struct guard {
	pid_t pid; /* 0: none */
	struct loop *loop;
	struct loop_watch watch; /* our end of the pipe */
	int pipe_fd;             /* the guard's end; -1 while a guard runs */
	int timer_fd;            /* the guard's */
	bool lost;               /* the last one died */
	int64_t ahead_ms;
	char *title; /* argv's memory, for its name in ps(1) */
	size_t title_len;
};

/*
 * Opens the descriptors before the lock is taken, since later there may be
 * none left. argv is main's.  The guard searches for the processes that it has
 * to kill ahead_ms before it kills them.  Returns 0, or -1 with errno.
 */
int
guard_init(struct guard *, struct loop *, int64_t ahead_ms, char *const argv[]);

/*
 * Starts a guard for COMMAND's process tree.  The guard kills that tree at
 * kill_ms (or CLOCK_NEVER), or when we exit without guard_dismiss().  Returns
 * 0, or -1 with errno; the caller may then try again.
 */
int guard_start(struct guard *, const struct tree *, int64_t kill_ms);

/* Sends the new kill_ms. */
void guard_set_deadline(struct guard *, int64_t kill_ms);

/* Tells the guard to exit without killing anybody.  Does not wait for that. */
void guard_dismiss(struct guard *);

/* After guard_dismiss(): reaps the guard and closes all descriptors. */
void guard_release(struct guard *);

#endif
