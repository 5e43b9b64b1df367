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

#include "child.h"
#include "loop.h"

struct guard {
	pid_t pid; /* 0: none */
	struct loop *loop;
	struct loop_watch watch; /* our end of the pipe */
	bool lost;               /* it is gone, and is to be replaced */
	int64_t ahead_ms;
	char *title; /* argv's memory, for its name in ps(1) */
	size_t title_len;
};

/*
 * Only remembers; argv is main's.  That long before it kills, the guard looks
 * for those that it would have to.
 */
void guard_init(
    struct guard *, struct loop *, int64_t ahead_ms, int argc, char **argv);

/*
 * Starts it for COMMAND, or replaces one that died.  COMMAND's processes are
 * killed when kill_ms (or CLOCK_NEVER) has passed or when we end without
 * guard_end().  Returns 0, or -1 with errno.
 */
int guard_start(struct guard *, const struct child *, int64_t kill_ms);

/* The new moment; one that does not listen any more counts as lost. */
void guard_tell(struct guard *, int64_t kill_ms);

/* Good-bye: it ends at once and kills nobody. */
void guard_end(struct guard *);

#endif
