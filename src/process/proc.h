/*
 * Processes as /proc shows them: finding those that belong together, and
 * ending them so that none slips away.  Nothing here allocates.
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
	bool running;             /* any thread of it is: no zombie */
	unsigned long long start; /* clock ticks since boot */
	char name[16];
};

/* Decides whether a process belongs to those that are meant. */
typedef bool procs_member_cb(const struct proc *, void *arg);

/* A directory with numbers for names. */
struct numbers {
	int fd; /* -1: at its end */
	long used;
	long filled;
	_Alignas(8) char entries[2048];
};

/*
 * A process's children: children_open(), then children_next() until 0 or
 * children_close().  Where the
 * kernel does not list children, or hides the process, there are none; and
 * some may be left out while others end.
 */
struct children {
	pid_t pid;
	struct numbers threads; /* each has its own */
	int fd;                 /* of the thread's list; -1: none is open */
	ssize_t used;
	ssize_t filled;
	char text[256];
};

void children_open(struct children *, pid_t);
pid_t children_next(struct children *);
void children_close(struct children *);

/*
 * A walk over all processes: procs_open(), then procs_next() until false or
 * procs_close().  Children of ours that /proc hides from us (hidepid, and it
 * is another user's) are met, too.
 */
struct procs {
	struct children ours;
	struct numbers numbers;
};

/*
 * Whether /proc is there and shows the pid namespace that we live in; where
 * it does not, its numbers would be those of strangers.
 */
bool procs_visible(void);

void procs_open(struct procs *);
bool procs_next(struct procs *, struct proc *);
void procs_close(struct procs *);

/* Reads one process.  Returns 0, or -1 if it is gone or hidden. */
int proc_read(pid_t, struct proc *);

/*
 * The same, but a hidden child of ours is read from other sources: its name is
 * "?", and its start later than that of any other.
 */
int proc_read_ours(pid_t, struct proc *);

/* Whether the kernel lists children. */
bool procs_list_children(void);

/* Whether pid was started with this "NAME=value" in its environment. */
bool proc_has_env(pid_t, const char *assignment);

/* Finds a living member.  Returns its number, 0 if there is none. */
pid_t procs_first(procs_member_cb *, void *arg);

/*
 * Sends signo to every living member.  Returns how many there are, whether
 * or not they could be sent it.
 */
int procs_signal(procs_member_cb *, void *arg, int signo);

/* Processes that a look found; those beyond the room for them are left out. */
struct procs_found {
	pid_t list[256];
	int n;
};

/* Finds the living members, for procs_kill() to be quicker later. */
void procs_find(procs_member_cb *, void *arg, struct procs_found *);

/*
 * Stops all members first, until a look finds no new one, and only then kills
 * them: so none can fork meanwhile, and none becomes an orphan whose
 * belonging cannot be seen any more while others are killed.  Begins with
 * those that were found before, since on a busy machine a look takes its time.
 * Returns how many it killed.
 */
int procs_kill(procs_member_cb *, void *arg, const struct procs_found *);

#endif
