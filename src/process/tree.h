/*
 * COMMAND's process tree: decides which processes are COMMAND's, finds and
 * kills them.
 *
 * COMMAND's processes are COMMAND and all its descendants, whatever group or
 * session they moved to, except daemons.  A daemon is a process in a session of
 * its own whose parent exited by itself.  If a signal ended the parent, its
 * children remain COMMAND's processes.  Therefore we record the sessions of all
 * descendants before we pass a signal on, and the guard records them every few
 * seconds, for signals that reach COMMAND without us.  What became an orphan
 * since the last record but one counts as COMMAND's.  We are the subreaper:
 * orphans become our children, so the line of parents leads from each process
 * to us.
 */
#ifndef TREE_H
#define TREE_H

#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include "process/proc.h"
#include "process/sessions.h"
#include "process/terminal.h"

#define TREE_ENV       64
#define TREE_SNAPSHOTS 4

/* The sessions at one time. */
struct tree_snapshot {
	struct sessions live;    /* of descendants whose parents live */
	struct sessions daemons; /* of orphans */
};

/*
 * The memory that we share with the guard.  A list takes no memory while its
 * set is empty.
 */
struct tree_shared {
	pid_t guard;
	struct sessions others;    /* of COMMAND's processes; we write it */
	_Atomic unsigned int turn; /* the guard's last snapshot */
	/* Written by the guard. */
	struct terminal_jobs jobs;
	struct tree_snapshot snapshots[TREE_SNAPSHOTS];
	struct session lists[1 + 2 * TREE_SNAPSHOTS][SESSIONS_MAX];
};

struct tree {
	pid_t pid;     /* COMMAND; 0 before the start and after its reaping */
	pid_t command; /* COMMAND's pid, kept for its session's number */
	pid_t group;   /* the group made for COMMAND; 0: it shares ours */
	pid_t self;    /* us */
	pid_t session; /* the one in which COMMAND was started */
	unsigned long long start; /* ours; an older process is not COMMAND's */
	char env[TREE_ENV];       /* "REDLOCK_TOKEN=...", marks its processes */
	bool foreign_orphans;     /* we also reap processes that COMMAND did not
				 start */
	bool proc;                /* /proc shows our pid namespace */
	pid_t survivor;           /* a recently seen process; 0: none known */
	struct procs_found found; /* since we began to stop COMMAND */
	unsigned long long found_start; /* of the youngest of these */
	struct sessions noted;          /* recorded before the last signals */
	struct session noted_list[SESSIONS_MAX];
	struct tree_shared *shared;
};

/* Prepares the tree; token is this run's.  Returns 0, or -1 with errno. */
int tree_init(struct tree *, const char *token);

/* Call when COMMAND has started as pid, in a group of its own or in ours. */
void tree_begin(struct tree *, pid_t pid, bool own_group);

/*
 * Records the present sessions in *s, for redlock-run or the guard.  Returns a
 * checksum of COMMAND's processes, their sessions, and the daemons.
 */
uint64_t tree_record(const struct tree *, struct tree_snapshot *s);

/*
 * Whether pid, a child of ours, descends from COMMAND.  With foreign orphans it
 * must have COMMAND's group or token.
 */
bool tree_marks(const struct tree *, pid_t pid);

/* Whether none of COMMAND's processes is left. */
bool tree_gone(struct tree *);

/*
 * Call before a signal is forwarded to COMMAND: records the sessions of its
 * processes.  With late, the signal may have reached them without us.
 */
void tree_snapshot(struct tree *, bool late);

/*
 * Call when COMMAND has outlived the signal.  Processes that it orphaned remain
 * COMMAND's; the others may yet become daemons.
 */
void tree_forget_snapshot(struct tree *);

/*
 * Call when COMMAND has exited.  Its children are no daemons if a signal killed
 * it, or if it was signalled: exited after we forwarded a signal to end it.
 */
void tree_command_exited(struct tree *, bool killed, bool signalled);

/* Call before COMMAND is stopped: its present processes remain its own. */
void tree_freeze(struct tree *);

/* Returns the process group that is COMMAND's alone, or 0 if there is none. */
pid_t tree_own_group(const struct tree *);

/*
 * Sends a signal to all processes, once to each.  COMMAND's process group, if
 * that is its own, comes first, so that a shell gets it before its jobs end.
 */
void tree_signal(struct tree *, int signo);

/*
 * Passes a signal on to processes that outlived COMMAND, unless the terminal
 * sent it to them as well; or a hangup, which may come before COMMAND's end, to
 * COMMAND's processes in our session, apart from background jobs.  Returns
 * whether any got it from us.
 */
bool tree_forward(struct tree *, const struct signalfd_siginfo *);

/* Kills all processes.  Returns whether there was any that we may kill. */
bool tree_kill(struct tree *);

/* Whether one of its processes may not be signalled. */
bool tree_denies(struct tree *);

/*
 * Names those of COMMAND's processes that are left, or of these only those that
 * may not be signalled, with their users.  Returns how many they are.
 */
int tree_survivors(struct tree *, bool denied, char *text, size_t size);

#endif
