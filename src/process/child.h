/*
 * COMMAND and its processes: start, signal, stop, reap.  Knows no lock.
 *
 * COMMAND's processes are COMMAND and all its descendants, whatever group or
 * session they moved to; but not a daemon, that is one in a session of its
 * own whose parent has ended by itself.  If a signal ended the parent, its
 * children still are COMMAND's processes: therefore we note the sessions of
 * all descendants before a signal is passed on, and the guard does so all the
 * time, for signals that reach COMMAND without us.  We are their subreaper:
 * orphans become our children, and the line of parents from any of them leads
 * to us.
 */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/proc.h"
#include "process/sessions.h"
#include "process/signals.h"

#define CHILD_ENV       64
#define CHILD_SNAPSHOTS 4

/* What the guard has seen at one time. */
struct child_snapshot {
	struct sessions live;    /* of descendants whose parents live */
	struct sessions daemons; /* of orphans */
};

/* What we and the guard share. */
struct child_shared {
	pid_t guard;
	struct sessions others;    /* of COMMAND's processes; written by us */
	_Atomic unsigned int turn; /* the guard's last look */
	struct child_snapshot
	    snapshots[CHILD_SNAPSHOTS]; /* written by the guard */
};

struct child {
	pid_t pid;     /* COMMAND; 0 before, and once it is reaped */
	pid_t command; /* its number for ever, as a session's */
	pid_t group;   /* the group made for it, 0 if it shares ours */
	pid_t self;    /* us */
	pid_t session; /* the one that it was started in */
	unsigned long long start; /* ours; what is older is not COMMAND's */
	struct child_shared *shared;
	struct procs_found found; /* when we began to stop it */
	struct sessions noted;    /* before the last signals */
	int64_t noted_ms;         /* when that was; 0: none are noted */
	bool told;                /* one of these signals was to end COMMAND */
	char env[CHILD_ENV];      /* "REDLOCK_TOKEN=...": marks its processes */
	bool terminal;            /* there is a controlling terminal */
	bool only_command;        /* gone as soon as COMMAND itself is */
	bool
	    foreign_orphans; /* we also reap processes that COMMAND did not start */
	bool proc;           /* /proc can be used */

	bool started;
	bool exited; /* COMMAND itself has ended */
	bool gone;   /* so have all of its processes */
	int code;    /* how it ended: si_code and si_status */
	int status;
	int stopped_by; /* the signal that stopped COMMAND, 0 if it runs */
	bool continued; /* COMMAND went on since we stopped with it */
	int64_t exited_ms;
	int64_t look_ms;   /* when to look for the rest again */
	pid_t survivor;    /* one of the rest; 0: none is known */
	int64_t reap_ms;   /* when to try again, since waitid() failed */
	int wait_failures; /* in a row */
	int wait_error;    /* its errno, if it never said how COMMAND ended */

	bool stopping;   /* child_stop() was called */
	int64_t kill_ms; /* SIGKILL from then on */
	int64_t kill_pause_ms;
	bool lingers; /* some have lived on for 5 s after COMMAND */
};

enum child_spawned { CHILD_STARTED, CHILD_NO_FORK, CHILD_NO_EXEC };

/*
 * Before the lock is taken: what will be COMMAND's surroundings.  token is
 * this run's.  Returns 0, or -1 with errno.
 */
int child_init(struct child *, const char *token, bool only_command);

/*
 * Starts argv with the signal mask and dispositions in s and the environment
 * as it stands, in a group of its own unless there is a terminal.  COMMAND
 * dies with us from its first instruction on.  On failure errno says why.
 */
enum child_spawned
child_spawn(struct child *, char *const argv[], const struct signals *s);

/*
 * Whether this child of ours comes from COMMAND.  Where it may be a stranger
 * it needs a mark of COMMAND's: its group or its environment.
 */
bool child_marks(const struct child *, pid_t);

/* After SIGCHLD: reaps all that can be, and looks who is left. */
void child_reap(struct child *);

/* Passes a signal on that was sent to us.  Returns whether there was need. */
bool child_signal(struct child *, const struct signalfd_siginfo *);

/*
 * SIGTERM now (once), SIGKILL to all processes from kill_ms on, repeated
 * until none is left.  Further calls can only bring kill_ms forward.
 */
void child_stop(struct child *, int64_t kill_ms);

/* Names those of COMMAND's processes that are left.  Returns text. */
char *child_survivors(struct child *, char *text, size_t size);

/* Does what is due; returns when it wants to be called again at the latest. */
int64_t child_step(struct child *);

#endif
