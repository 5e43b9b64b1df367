/*
 * A pid that is read here may be another process when it is signalled only if
 * the kernel has handed out every other number in between; and a child of
 * ours keeps its number until we have waited for it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "procs.h"

#define KILL_BATCH 1024

bool
procs_visible(void)
{
	char buf[16];
	ssize_t n = readlink("/proc/self", buf, sizeof(buf) - 1);

	if (n <= 0)
		return false;
	buf[n] = '\0';
	return atoi(buf) == (int)getpid();
}

void
procs_open(struct procs *w)
{
	w->used = w->filled = 0;
	w->fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool
procs_next(struct procs *w, struct proc *p)
{
	const struct dirent64 *entry;

	while (w->fd != -1) {
		if (w->used == w->filled) {
			w->used = 0;
			w->filled =
			    getdents64(w->fd, w->entries, sizeof(w->entries));
			if (w->filled <= 0) {
				close(w->fd);
				w->fd = -1;
				break;
			}
		}
		entry = (const struct dirent64 *)(w->entries + w->used);
		w->used += entry->d_reclen;
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    proc_read(atoi(entry->d_name), p) == 0)
			return true;
	}
	return false;
}

static int
proc_open(pid_t pid, const char *file)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int
proc_read(pid_t pid, struct proc *p)
{
	char buf[512];
	char *name, *rest;
	int fd = proc_open(pid, "stat");
	char state;
	long threads;
	ssize_t n;

	if (fd == -1)
		return -1;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	buf[n] = '\0';
	/* The name stands in parentheses and may hold any of them itself. */
	name = strchr(buf, '(');
	rest = strrchr(buf, ')');
	if (name == NULL || rest == NULL)
		return -1;
	*rest = '\0';
	p->pid = pid;
	snprintf(p->name, sizeof(p->name), "%.15s", name + 1);
	/* state ppid pgrp session, num_threads and, two further, starttime. */
	if (sscanf(rest + 1,
		" %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
		"%*d %ld %*d %llu",
		&state, &p->ppid, &p->pgid, &p->sid, &threads, &p->start) != 6)
		return -1;
	/* A first thread that has ended looks like a zombie. */
	p->running = state != 'Z' || threads > 1;
	return 0;
}

bool
proc_has_env(pid_t pid, const char *assignment)
{
	char buf[4096];
	int fd = proc_open(pid, "environ");
	size_t matched = 0;
	bool skip = false, found = false;
	ssize_t n;

	if (fd == -1)
		return false;
	while (!found && (n = read(fd, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < n && !found; i++) {
			if (buf[i] == '\0') {
				found = !skip && assignment[matched] == '\0';
				skip = false;
				matched = 0;
			} else if (skip || buf[i] != assignment[matched++])
				skip = true;
		}
	close(fd);
	return found;
}

void
proc_child_sessions(pid_t pid, pid_t except, struct sessions *sessions)
{
	char file[32], buf[1024];
	char *p = buf, *end;
	pid_t sid;
	ssize_t n;
	int fd;

	snprintf(file, sizeof(file), "task/%d/children", (int)pid);
	if ((fd = proc_open(pid, file)) == -1)
		return;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	/* Each number ends with a blank; one that was cut off does not. */
	for (pid = (pid_t)strtol(p, &end, 10); end != p && *end == ' ';
	     p = end, pid = (pid_t)strtol(p, &end, 10))
		if ((sid = getsid(pid)) != except)
			sessions_add(sessions, sid);
}

static unsigned long long
leader_start(pid_t sid)
{
	struct proc leader;

	return proc_read(sid, &leader) == 0 ? leader.start : 0;
}

void
sessions_add(struct sessions *s, pid_t sid)
{
	const int room = sizeof(s->list) / sizeof(s->list[0]);

	if (sid <= 0 || s->n == room || sessions_has(s, sid))
		return;
	s->list[s->n].sid = sid;
	s->list[s->n++].start = leader_start(sid);
}

bool
sessions_has(const struct sessions *s, pid_t sid)
{
	unsigned long long start;

	for (int i = 0; i < s->n; i++)
		if (s->list[i].sid == sid) {
			start = leader_start(sid);
			return start == 0 || start == s->list[i].start;
		}
	return false;
}

int
procs_signal(procs_member_cb *member, void *arg, int signo)
{
	struct procs w;
	struct proc p;
	int count = 0;

	for (procs_open(&w); procs_next(&w, &p);)
		if (p.running && member(&p, arg)) {
			kill(p.pid, signo);
			count++;
		}
	return count;
}

static bool
listed(const pid_t *list, int n, pid_t pid)
{
	for (int i = 0; i < n; i++)
		if (list[i] == pid)
			return true;
	return false;
}

void
procs_find(procs_member_cb *member, void *arg, struct procs_found *found)
{
	const int room = sizeof(found->list) / sizeof(found->list[0]);
	struct procs w;
	struct proc p;

	found->n = 0;
	for (procs_open(&w); procs_next(&w, &p);)
		if (found->n < room && p.running && member(&p, arg))
			found->list[found->n++] = p.pid;
}

int
procs_kill(procs_member_cb *member, void *arg, const struct procs_found *found)
{
	pid_t stopped[KILL_BATCH];
	struct procs w;
	struct proc p;
	int n = 0, before;

	for (int i = 0; i < found->n; i++)
		if (proc_read(found->list[i], &p) == 0 && p.running &&
		    member(&p, arg) && kill(p.pid, SIGSTOP) == 0)
			stopped[n++] = p.pid;
	do {
		before = n;
		for (procs_open(&w); procs_next(&w, &p);)
			if (n < KILL_BATCH && p.running &&
			    !listed(stopped, n, p.pid) && member(&p, arg) &&
			    kill(p.pid, SIGSTOP) == 0)
				stopped[n++] = p.pid;
	} while (n > before && n < KILL_BATCH);
	for (int i = 0; i < n; i++)
		kill(stopped[i], SIGKILL);
	return n;
}
