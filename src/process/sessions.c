/*
 * A session's number is its leader's pid, which a later leader may reuse.
 */
#include <unistd.h>

#include "process/proc.h"
#include "process/sessions.h"

#define TREE       4096          /* processes that one walk visits at most */
#define SUM_FACTOR 1099511628211 /* a large prime, as in FNV-1a */

static unsigned long long
leader_start(pid_t sid)
{
	struct proc leader;

	return proc_read(sid, &leader) == 0 ? leader.start : 0;
}

void
sessions_add(struct sessions *s, pid_t sid)
{
	if (sid <= 0 || s->n == SESSIONS_MAX || sessions_has(s, sid))
		return;
	s->list[s->n].sid = sid;
	s->list[s->n++].start = leader_start(sid);
}

void
sessions_merge(struct sessions *to, const struct sessions *from)
{
	int j;

	for (int i = 0; i < from->n; i++) {
		for (j = 0; j < to->n; j++)
			if (to->list[j].sid == from->list[i].sid &&
			    to->list[j].start == from->list[i].start)
				break;
		if (j == to->n && to->n < SESSIONS_MAX)
			to->list[to->n++] = from->list[i];
	}
}

bool
sessions_has(const struct sessions *s, pid_t sid)
{
	unsigned long long start;

	for (int i = 0; i < s->n; i++)
		if (s->list[i].sid == sid) {
			start = leader_start(sid);
			if (start == 0 || start == s->list[i].start)
				return true;
		}
	return false;
}

void
sessions_of_child(pid_t pid, pid_t except, struct sessions *sessions)
{
	struct children c;
	pid_t sid;

	for (proc_children_open(&c, pid); (pid = proc_children_next(&c)) != 0;)
		if ((sid = getsid(pid)) != except)
			sessions_add(sessions, sid);
}

uint64_t
sessions_of_tree(pid_t pid, pid_t except, struct sessions *sessions)
{
	static pid_t tree[TREE]; /* the stack may be small */
	pid_t child, sid, last = except;
	uint64_t sum = 0;
	struct children c;
	int n = 1;

	tree[0] = pid;
	for (int i = 0; i < n; i++) {
		proc_children_open(&c, tree[i]);
		while (n < TREE && (child = proc_children_next(&c)) != 0) {
			tree[n++] = child;
			sid = getsid(child);
			sum = sum * SUM_FACTOR + (uint64_t)child;
			sum = sum * SUM_FACTOR + (uint64_t)sid;
			/* Most siblings share a session. */
			if (sid != last && sid != except)
				sessions_add(sessions, sid);
			last = sid;
		}
		proc_children_close(&c);
	}
	return sum;
}
