/* Sets of sessions. */
#ifndef SESSIONS_H
#define SESSIONS_H

#include <stdbool.h>
#include <sys/types.h>

/* Sessions.  The leader's start distinguishes later ones of the same number. */
struct sessions {
	struct {
		pid_t sid;
		unsigned long long start; /* 0: the leader is gone */
	} list[1024];
	int n;
};

/* Both ignore what there is no room for. */
void sessions_add(struct sessions *, pid_t sid);
void sessions_merge(struct sessions *to, const struct sessions *from);

bool sessions_has(const struct sessions *, pid_t sid);

/*
 * Adds the sessions of all descendants of pid, but for the session except.
 * Those beyond the first few thousand are left out.
 */
void proc_tree_sessions(pid_t pid, pid_t except, struct sessions *);

/* Adds the sessions of pid's children, but for the session except. */
void proc_child_sessions(pid_t pid, pid_t except, struct sessions *);

#endif
