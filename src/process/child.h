/*
 * COMMAND: start, signal, stop, reap. tree.h decides which processes belong to
 * it.
 */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/exit.h"
#include "process/signals.h"
#include "process/tree.h"

struct child {
	struct tree tree;
	const char *call;     /* the system call that failed in child_init() */
	bool terminal;        /* there is a controlling terminal */
	bool only_command;    /* the caller waits for COMMAND alone */
	int64_t signalled_ms; /* the last signal that may end COMMAND; 0: none,
				 or COMMAND has survived it */
	bool terminating;     /* one of these signals asked processes to end */

	bool started;
	bool exited;         /* COMMAND itself has ended */
	bool gone;           /* so have all of its processes */
	struct exit_how how; /* once it has */
	int stopped_by;      /* the signal that stopped COMMAND, 0 if it runs */
	bool continued;      /* COMMAND continued after we stopped with it */
	int64_t exited_ms;
	int64_t check_ms;  /* when to check for survivors again */
	int64_t reap_ms;   /* when to retry a waitid() that failed */
	int wait_failures; /* in a row */
	int wait_error;    /* its errno, if COMMAND's status is unknown */

	bool stopping;   /* child_stop() was called */
	int64_t kill_ms; /* when to send SIGKILL */
	int64_t kill_pause_ms;
	int64_t killed_ms; /* the first SIGKILL; 0: none yet */
	bool lingers; /* processes outlived COMMAND or SIGKILL by 5 s, or may
			      not be signalled */
};

#define CHILD_PID_TEXT 16

enum child_spawned {
	CHILD_STARTED,
	CHILD_NO_FORK,
	CHILD_NO_EXEC,
	CHILD_ELSEWHERE /* in another pid namespace, so it ran nothing */
};

/*
 * Call before the lock is taken: examines the terminal, /proc and our children.
 * token is this run's.  Returns 0, or -1 with errno and c->call.
 */
int child_init(struct child *, const char *token, bool only_command);

/*
 * Starts argv with our environment and with the signal mask and dispositions in
 * s; in a process group of its own unless there is a terminal.  Writes
 * COMMAND's pid to pid_text before exec, so pid_text may be part of the
 * environment.  COMMAND dies with us from its first instruction on.  Sets errno
 * on failure.
 */
enum child_spawned child_spawn(struct child *, char *const argv[],
    char pid_text[CHILD_PID_TEXT], const struct signals *s);

/* Call after SIGCHLD: reaps every process that has exited. */
void child_reap(struct child *);

/*
 * Forwards a signal that was sent to us.  Returns whether COMMAND needed it
 * from us.
 */
bool child_signal(struct child *, const struct signalfd_siginfo *);

/*
 * Sends SIGTERM now (once), and SIGKILL to all processes from kill_ms on until
 * none is left.  Further calls can only bring kill_ms forward.
 */
void child_stop(struct child *, int64_t kill_ms);

/*
 * Sends the signals that are due.  Returns the time of the next call at the
 * latest.
 */
int64_t child_step(struct child *);

#endif
