/* The terminal that COMMAND uses. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "process/proc.h"

struct terminal {
	bool ours; /* our standard input and output, and we in its foreground */
	struct termios modes; /* if so */
};

/* The terminal's foreground group; the guard writes, redlock-run reads. */
struct terminal_jobs {
	_Atomic pid_t foreground;
	_Atomic int64_t seen_ms; /* when it was that; 0: never; written last */
};

/* Call before COMMAND starts: records the terminal's modes if it is ours. */
void terminal_record(struct terminal *);

/*
 * Call when COMMAND's processes were killed: gives a terminal that was ours its
 * modes back, and our process group its foreground, unless another group that
 * lives has the foreground.  SIGTTOU must be blocked or ignored.
 */
void terminal_restore(const struct terminal *);

/*
 * Records the foreground group of the terminal that pid has now.  After a
 * hangup the last one stays.
 */
void terminal_watch_jobs(struct terminal_jobs *, pid_t pid, int64_t now_ms);

/*
 * After a hangup no system call returns the foreground group.  Returns whether
 * p, a process of our session, was in the background when that was recorded
 * last.  Of a process too young for that it is false, since a shell may have
 * been about to move it to the foreground.
 */
bool terminal_in_background(const struct terminal_jobs *, const struct proc *p);

#endif
