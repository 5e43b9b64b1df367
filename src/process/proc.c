/*
 * Between reading a pid and signalling it, the pid can belong to another
 * process only if the kernel has handed out every other pid in between.  A
 * child of ours keeps its pid until we reap it.
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/number.h"
#include "process/proc.h"

#define KILL_BATCH 1024

/* An entry of a directory, as getdents64(2) has it; not every libc declares it. */
struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t size;
	uint8_t type;
	char name[];
};

bool
procs_visible(void)
{
	char buf[16];
	ssize_t n = readlink("/proc/self", buf, sizeof(buf));
	int64_t number;

	return n > 0 && number_parse(buf, (size_t)n, INT_MAX, &number) == 0 &&
	    number == getpid();
}

/* A namespace without a process has a link that leads nowhere. */
bool
procs_born_elsewhere(void)
{
	static const char link[] = "/proc/self/ns/pid_for_children";
	char ours[64] = "", children[64] = "";
	int fd;

	if (readlink("/proc/self/ns/pid", ours, sizeof(ours) - 1) <= 0)
		return false;
	if (readlink(link, children, sizeof(children) - 1) > 0)
		return strcmp(ours, children) != 0;
	fd = open(link, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return false; /* before Linux 4.12 */
	close(fd);
	return true;
}

static int
proc_open(pid_t pid, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void
numbers_open(struct numbers *n, const char *directory)
{
	n->used = n->filled = 0;
	n->fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void
numbers_close(struct numbers *n)
{
	if (n->fd != -1)
		close(n->fd);
	n->fd = -1;
}

/* Returns the next number, or 0 at the end. */
static int
numbers_next(struct numbers *n)
{
	const struct entry *entry;
	int64_t number;

	while (n->fd != -1) {
		if (n->used == n->filled) {
			n->used = 0;
			n->filled = syscall(SYS_getdents64, n->fd, n->entries,
			    sizeof(n->entries));
			if (n->filled <= 0) {
				numbers_close(n);
				break;
			}
		}
		entry = (const struct entry *)(n->entries + n->used);
		n->used += entry->size;
		if (number_parse(entry->name, strlen(entry->name), INT_MAX,
			&number) == 0)
			return (int)number;
	}
	return 0;
}

void
proc_children_open(struct children *c, pid_t pid)
{
	char path[40];

	c->pid = pid;
	c->fd = c->threads.fd = -1;
	c->used = c->filled = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	/* It has two links and one for each thread. */
	if (kernel_links(path) == 3) {
		snprintf(path, sizeof(path), "task/%d/children", (int)pid);
		c->fd = proc_open(pid, path);
	} else
		numbers_open(&c->threads, path);
}

void
proc_children_close(struct children *c)
{
	numbers_close(&c->threads);
	if (c->fd != -1)
		close(c->fd);
	c->fd = -1;
}

/* Returns the next character of a list, or -1 at its end. */
static int
children_char(struct children *c)
{
	if (c->used == c->filled) {
		c->used = 0;
		c->filled = read(c->fd, c->text, sizeof(c->text));
		if (c->filled <= 0) {
			close(c->fd);
			c->fd = -1;
			c->filled = 0;
			return -1;
		}
	}
	return (unsigned char)c->text[c->used++];
}

pid_t
proc_children_next(struct children *c)
{
	char file[40], digits[16];
	size_t len;
	int64_t child;
	int thread, next;

	for (;;) {
		if (c->fd != -1) {
			len = 0;
			while ((next = children_char(c)) > ' ')
				if (len < sizeof(digits))
					digits[len++] = (char)next;
			if (number_parse(digits, len, INT_MAX, &child) == 0)
				return (pid_t)child;
			continue;
		}
		thread = numbers_next(&c->threads);
		if (thread == 0)
			return 0;
		snprintf(file, sizeof(file), "task/%d/children", thread);
		c->fd = proc_open(c->pid, file);
	}
}

void
procs_open(struct procs *w)
{
	proc_children_open(&w->ours, getpid());
	numbers_open(&w->numbers, "/proc");
}

void
procs_close(struct procs *w)
{
	proc_children_close(&w->ours);
	numbers_close(&w->numbers);
}

bool
procs_next(struct procs *w, struct proc *p)
{
	pid_t pid;

	while ((pid = proc_children_next(&w->ours)) != 0)
		if (proc_read(pid, p) == -1 && proc_read_ours(pid, p) == 0)
			return true;
	while ((pid = numbers_next(&w->numbers)) != 0)
		if (proc_read(pid, p) == 0)
			return true;
	return false;
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
	/* The name is in parentheses and may contain parentheses. */
	name = strchr(buf, '(');
	rest = strrchr(buf, ')');
	if (name == NULL || rest == NULL)
		return -1;
	*rest = '\0';
	p->pid = pid;
	snprintf(p->name, sizeof(p->name), "%.15s", name + 1);
	/*
	 * state ppid pgrp session, a field later the foreground group,
	 * num_threads and, two fields later, starttime.
	 */
	if (sscanf(rest + 1,
		" %c %d %d %d %*d %d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
		"%*d %ld %*d %llu",
		&state, &p->ppid, &p->pgid, &p->sid, &p->foreground, &threads,
		&p->start) != 7)
		return -1;
	/* A first thread that has ended looks like a zombie. */
	p->running = state != 'Z' || threads > 1;
	p->stopped = state == 'T';
	p->busy = state == 'R' || state == 'D';
	return 0;
}

int
proc_read_ours(pid_t pid, struct proc *p)
{
	siginfo_t si = { 0 };

	if (proc_read(pid, p) == 0)
		return 0;
	/* waitid() works only for a child of ours. */
	if (waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) == -1)
		return -1;
	*p = (struct proc){ .pid = pid,
		.ppid = getpid(),
		.pgid = getpgid(pid),
		.sid = getsid(pid),
		.foreground = -1,
		.running = si.si_pid == 0,
		.start = ULLONG_MAX,
		.name = "?" };
	return 0;
}

char *
proc_user(pid_t pid, char text[PROC_USER])
{
	static const char field[] = "\nUid:\t";
	char buf[1024];
	const char *uid;
	int fd = proc_open(pid, "status");
	ssize_t n = -1;

	if (fd != -1) {
		n = read(fd, buf, sizeof(buf) - 1);
		close(fd);
	}
	buf[n > 0 ? n : 0] = '\0';
	uid = strstr(buf, field);
	if (uid == NULL)
		return memcpy(text, "?", sizeof("?"));
	uid += sizeof(field) - 1;
	if (strncmp(uid, "0\t", 2) == 0)
		return memcpy(text, "root", sizeof("root"));
	snprintf(text, PROC_USER, "uid %.*s", (int)strspn(uid, "0123456789"),
	    uid);
	return text;
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

bool
procs_list_children(void)
{
	return access("/proc/thread-self/children", R_OK) == 0;
}

pid_t
procs_first(procs_member_cb *member, void *arg)
{
	struct procs w;
	struct proc p;

	for (procs_open(&w); procs_next(&w, &p);)
		if (p.running && member(&p, arg)) {
			procs_close(&w);
			return p.pid;
		}
	return 0;
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

void
procs_stop_below(pid_t pid, procs_member_cb *member, void *arg,
    struct procs_found *found)
{
	const int room = sizeof(found->list) / sizeof(found->list[0]);
	struct children below;
	struct proc p;
	int next = 0;

	for (found->n = 0;; pid = found->list[next++]) {
		proc_children_open(&below, pid);
		while ((pid = proc_children_next(&below)) != 0)
			if (found->n < room && proc_read(pid, &p) == 0 &&
			    p.running && member(&p, arg) &&
			    kill(pid, SIGSTOP) == 0)
				found->list[found->n++] = pid;
		if (next == found->n)
			return;
	}
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
