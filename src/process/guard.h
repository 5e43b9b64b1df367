/*
 * The guard: a process that kills COMMAND's processes when we cannot, because
 * we were killed, or stopped for longer than the lease.
 *
 * The guard runs in its own session, blocks all signals and holds two
 * descriptors, both its own.  It is no ancestor of COMMAND's processes: it
 * finds them as descendants of COMMAND, by process group, and by REDLOCK_TOKEN
 * in their environment.
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
	pid_t pid; /* of the guard; 0: none */
	struct loop *loop;
	struct loop_watch watch; /* our end of the pipe */
	int pipe_fd;             /* the guard's end; -1 while a guard runs */
	int timer_fd;            /* the guard's */
	bool lost;               /* the last guard died */
	const char *call;        /* the system call that failed last */
	char *title;             /* argv's memory, for its name in ps(1) */
	size_t title_len;
};

/*
 * Opens the descriptors before the lock is taken, since none may be free later.
 * argv is main's.  Returns 0, or -1 with errno and g->call.
 */
int guard_init(struct guard *, struct loop *, char *const argv[]);

/*
 * Starts a guard for COMMAND's process tree.  The guard kills that tree at
 * kill_ms (or CLOCK_NEVER), or when we exit without guard_dismiss().  Returns
 * 0, or -1 with errno and g->call; the caller may try again.
 */
int guard_start(struct guard *, const struct tree *, int64_t kill_ms);

/* Sends the new kill_ms. */
void guard_set_deadline(struct guard *, int64_t kill_ms);

/* Ends the guard without killing any process.  Does not wait for its exit. */
void guard_dismiss(struct guard *);

/* Call after guard_dismiss(): reaps the guard and closes all descriptors. */
void guard_release(struct guard *);

#endif
