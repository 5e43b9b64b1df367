/*
 * Processes as /proc shows them: finds those that belong together, and kills
 * them all without missing one.  Nothing here allocates.
 */
#ifndef PROC_H
#define PROC_H

#include <stdbool.h>
#include <sys/types.h>

struct proc {
	pid_t pid;
	pid_t ppid;
	pid_t pgid;
	pid_t sid;
	pid_t foreground;         /* its terminal's group; -1: no terminal */
	bool running;             /* has a thread that is no zombie */
	bool stopped;             /* by a signal */
	bool busy;                /* its first thread does not sleep */
	unsigned long long start; /* clock ticks since boot */
	char name[16];
};

/* Whether the process is a member of the set that a function works on. */
typedef bool procs_member_cb(const struct proc *, void *arg);

/* Iterates over the entries of a directory whose names are numbers. */
struct numbers {
	int fd; /* -1: at its end */
	long used;
	long filled;
	_Alignas(8) char entries[2048];
};

/*
 * Iterates over a process's children: proc_children_open(), then proc_children_next()
 * until it returns 0, or proc_children_close().  Finds none where the kernel does
 * not list children or hides the process.  While children exit, it may miss
 * some.
 */
struct children {
	pid_t pid;
	struct numbers threads; /* each thread has its own children */
	int fd;                 /* of the thread's list; -1: none is open */
	ssize_t used;
	ssize_t filled;
	char text[256];
};

void proc_children_open(struct children *, pid_t);
pid_t proc_children_next(struct children *);
void proc_children_close(struct children *);

/*
 * Iterates over all processes: procs_open(), then procs_next() until it returns
 * false, or procs_close().  Includes children of ours that hidepid hides from
 * us.
 */
struct procs {
	struct children ours;
	struct numbers numbers;
};

/*
 * Whether /proc is mounted and shows our pid namespace.  In another namespace
 * the same pids belong to unrelated processes.
 */
bool procs_visible(void);

/*
 * Whether children of ours are born in another pid namespace, as after unshare(1)
 * without -f.  False where /proc does not tell.
 */
bool procs_born_elsewhere(void);

void procs_open(struct procs *);
bool procs_next(struct procs *, struct proc *);
void procs_close(struct procs *);

/* Reads one process.  Returns 0, or -1 if it is gone or hidden. */
int proc_read(pid_t, struct proc *);

/*
 * Like proc_read(), but for a child of ours that is hidden other system calls
 * supply most of it.  Its name is then "?", and its start later than any other.
 */
int proc_read_ours(pid_t, struct proc *);

/* Whether the kernel lists children. */
bool procs_list_children(void);

#define PROC_USER 16

/*
 * Writes "root" or "uid 1000": the real user, whom kill(2) compares with ours.
 * Writes "?" if the process is gone or hidden.  Returns text.
 */
char *proc_user(pid_t, char text[PROC_USER]);

/* Whether pid was started with this "NAME=value" in its environment. */
bool proc_has_env(pid_t, const char *assignment);

/* Returns the pid of a running member, or 0 if there is none. */
pid_t procs_first(procs_member_cb *, void *arg);

/*
 * Sends signo to every running member.  Returns how many there are, including
 * those that we may not signal.
 */
int procs_signal(procs_member_cb *, void *arg, int signo);

/* The processes that procs_find() has found, as many as fit. */
struct procs_found {
	pid_t list[256];
	int n;
};

/* Finds the running members, so that procs_kill() is quicker later. */
void procs_find(procs_member_cb *, void *arg, struct procs_found *);

/*
 * Sends SIGSTOP to the members among pid's descendants, parents first, as far as
 * the kernel lists children.  Takes a hundredth of the time of a walk over all
 * processes, but skips the descendants of a process that is no member.
 */
void
procs_stop_below(pid_t pid, procs_member_cb *, void *arg, struct procs_found *);

/*
 * Sends SIGSTOP to all members until it finds no new one, and only then
 * SIGKILL: a stopped process cannot fork, so no member leaves an orphan that
 * nothing identifies as a member.  Begins with the processes found before,
 * since walking all processes takes long on a busy machine.  Returns how many
 * it killed.
 */
int procs_kill(procs_member_cb *, void *arg, const struct procs_found *);

#endif
