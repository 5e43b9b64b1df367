/* Sets of sessions. */
#ifndef SESSIONS_H
#define SESSIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SESSIONS_MAX 1024 /* in a set */

/* The leader's start time tells sessions with the same number apart. */
struct session {
	pid_t sid;
	unsigned long long start; /* 0: the leader is gone */
};

struct sessions {
	int n;
	struct session *list; /* the owner's, with room for SESSIONS_MAX */
};

/* Add sessions; both ignore what does not fit. */
void sessions_add(struct sessions *, pid_t sid);
void sessions_merge(struct sessions *to, const struct sessions *from);

bool sessions_has(const struct sessions *, pid_t sid);

/*
 * Adds the sessions of all descendants of pid, apart from the session `except`.
 * Of more than a few thousand processes the rest is left out.  Returns a
 * checksum of these processes and their sessions.
 */
uint64_t sessions_of_tree(pid_t pid, pid_t except, struct sessions *);

/* Adds the sessions of pid's children, apart from the session `except`. */
void sessions_of_child(pid_t pid, pid_t except, struct sessions *);

#endif
