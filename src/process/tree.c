/*
 * After COMMAND is reaped, its processes are found one by one.  Each is our
 * child or has an ancestor that is, so its pid cannot have passed to another
 * process.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/proc.h"
#include "process/signals.h"
#include "process/tree.h"

static bool
has_children(void)
{
	siginfo_t si;

	return waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) == 0 ||
	    errno != ECHILD;
}

/* Returns 0, or -1 with errno. */
static int
share(struct tree *t)
{
	struct tree_shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		return -1;
	s->others.list = s->lists[0];
	for (int i = 0; i < TREE_SNAPSHOTS; i++) {
		s->snapshots[i].live.list = s->lists[1 + 2 * i];
		s->snapshots[i].daemons.list = s->lists[2 + 2 * i];
	}
	t->shared = s;
	return 0;
}

int
tree_init(struct tree *t, const char *token)
{
	struct proc us;

	memset(t, 0, sizeof(*t));
	t->self = getpid();
	t->session = getsid(0);
	t->proc = procs_visible();
	if (t->proc && proc_read(t->self, &us) == 0)
		t->start = us.start;
	snprintf(t->env, sizeof(t->env), "REDLOCK_TOKEN=%s", token);
	/* `job & exec redlock-run` gives us a child; PID 1 gets all orphans. */
	t->foreign_orphans = has_children() || t->self == 1;
	t->noted.list = t->noted_list;
	return share(t);
}

void
tree_begin(struct tree *t, pid_t pid, bool own_group)
{
	t->pid = t->command = pid;
	t->group = own_group ? pid : 0;
}

bool
tree_marks(const struct tree *t, pid_t pid)
{
	return !t->foreign_orphans ||
	    (t->group != 0 && getpgid(pid) == t->group) ||
	    proc_has_env(pid, t->env);
}

/*
 * Whether the process was one of COMMAND's before we stopped COMMAND.  It still is
 * if its parent dies of our SIGTERM, whether or not it has a token.
 */
static bool
was_found(const struct tree *t, const struct proc *p)
{
	if (p->start <= t->found_start)
		for (int i = 0; i < t->found.n; i++)
			if (t->found.list[i] == p->pid)
				return true;
	return false;
}

/* Whether the process is one of COMMAND's.  A procs_member_cb. */
static bool
is_command_process(const struct proc *p, void *arg)
{
	const struct tree *t = arg;
	struct proc up = *p;
	bool foreign = true, marked = !t->foreign_orphans;

	if (p->pid == t->self || p->pid == 1 || p->pid == t->shared->guard)
		return false;
	while (up.start >= t->start) {
		if (up.pid == t->pid)
			return true;
		foreign = foreign && up.sid != t->session &&
		    up.sid != t->command &&
		    !sessions_has(&t->shared->others, up.sid);
		marked = marked || tree_marks(t, up.pid) || was_found(t, &up);
		if (up.ppid == t->self)
			return marked && !foreign;
		if (up.ppid <= 1)
			return false;
		if (proc_read_ours(up.ppid, &up) == -1)
			/* hidepid hides its parent */
			return !foreign && proc_has_env(p->pid, t->env);
	}
	return false;
}

/* Without /proc: whether wait(2) or kill(2) finds a process. */
static bool
anything_left(const struct tree *t)
{
	if (t->foreign_orphans && t->self != 1)
		return t->group != 0 && kill(-t->group, 0) == 0;
	return has_children();
}

static bool
lives(struct tree *t, pid_t pid)
{
	struct proc p;

	return proc_read_ours(pid, &p) == 0 && p.running &&
	    is_command_process(&p, t);
}

/*
 * Returns one of COMMAND's processes, or 0 if none is left.  Tries the cheap
 * ways first: the last survivor, then our children, which orphans become, and
 * only then all processes.
 */
static pid_t
find_survivor(struct tree *t)
{
	struct children orphans;
	pid_t pid;

	if (t->survivor != 0 && lives(t, t->survivor))
		return t->survivor;
	for (proc_children_open(&orphans, t->self);
	     (pid = proc_children_next(&orphans)) != 0;)
		if (lives(t, pid))
			break;
	proc_children_close(&orphans);
	return pid != 0 ? pid : procs_first(is_command_process, t);
}

bool
tree_gone(struct tree *t)
{
	siginfo_t si;

	if (!has_children())
		return true;
	if (!t->proc)
		return !anything_left(t);
	/*
	 * A parent that ends during the walk leaves its children to us, where
	 * the walk has already been.  So walk again if a process ended
	 * meanwhile.
	 */
	for (;;) {
		t->survivor = find_survivor(t);
		if (t->survivor != 0)
			return false;
		si.si_pid = 0;
		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG) == -1 ||
		    si.si_pid == 0)
			return true;
	}
}

/*
 * Adds the sessions of all of COMMAND's processes, apart from the one in which
 * COMMAND was started: unrelated processes share it.
 */
static void
snapshot_processes(struct tree *t, struct sessions *noted)
{
	static struct procs_found now; /* the stack may be small */
	struct proc p;

	/* The search itself asks for those found before. */
	procs_find(is_command_process, t, &now);
	t->found = now;
	for (int i = 0; i < t->found.n; i++) {
		pid_t sid = getsid(t->found.list[i]);

		if (proc_read(t->found.list[i], &p) == 0 &&
		    p.start > t->found_start)
			t->found_start = p.start;
		if (sid != t->session)
			sessions_add(noted, sid);
	}
}

uint64_t
tree_record(const struct tree *t, struct tree_snapshot *s)
{
	struct children starters;
	uint64_t sum = 0;
	pid_t pid, sid;

	s->live.n = s->daemons.n = 0;
	for (proc_children_open(&starters, t->self);
	     (pid = proc_children_next(&starters)) != 0;) {
		sid = getsid(pid);
		if (pid == t->shared->guard || pid == getpid())
			continue;
		sum += (uint64_t)pid ^ (uint64_t)sid << 32;
		if (pid != t->command && sid != t->session &&
		    sid != t->command && !sessions_has(&t->shared->others, sid))
			sessions_add(&s->daemons, sid);
		else if (pid == t->command || tree_marks(t, pid))
			sum += sessions_of_tree(pid, t->session, &s->live);
	}
	return sum;
}

/*
 * Adds the sessions that COMMAND's processes may have had when a signal reached
 * them without us: those in the guard's last snapshots, and those of orphans
 * whose parents still lived in the last snapshot but one.
 */
static void
snapshot_late(struct tree *t, struct sessions *noted)
{
	const struct tree_shared *s = t->shared;
	const struct tree_snapshot *last =
	    &s->snapshots[s->turn % TREE_SNAPSHOTS];
	const struct tree_snapshot *before =
	    &s->snapshots[(s->turn - 1) % TREE_SNAPSHOTS];
	struct children orphans;
	pid_t pid, sid;

	sessions_merge(noted, &last->live);
	sessions_merge(noted, &before->live);
	for (proc_children_open(&orphans, t->self);
	     (pid = proc_children_next(&orphans)) != 0;) {
		sid = getsid(pid);
		if (pid != s->guard && sid != t->session &&
		    tree_marks(t, pid) && !sessions_has(&before->daemons, sid))
			sessions_add(noted, sid);
	}
}

void
tree_snapshot(struct tree *t, bool late)
{
	static struct session lists[2]
				   [SESSIONS_MAX]; /* the stack may be small */
	struct tree_snapshot now = { .live.list = lists[0],
		.daemons.list = lists[1] };

	if (!t->proc)
		return;
	if (procs_list_children()) {
		tree_record(t, &now);
		sessions_merge(&t->noted, &now.live);
	} else
		snapshot_processes(t, &t->noted);
	if (late)
		snapshot_late(t, &t->noted);
}

void
tree_forget_snapshot(struct tree *t)
{
	static struct session lists[2]
				   [SESSIONS_MAX]; /* the stack may be small */
	struct sessions live = { .list = lists[0] },
			orphans = { .list = lists[1] };

	sessions_of_tree(t->pid, t->session, &live);
	sessions_of_child(t->self, t->session, &orphans);
	for (int i = 0; i < t->noted.n; i++) {
		pid_t sid = t->noted.list[i].sid;

		if (sessions_has(&orphans, sid) && !sessions_has(&live, sid))
			sessions_add(&t->shared->others, sid);
	}
	t->noted.n = 0;
}

void
tree_command_exited(struct tree *t, bool killed, bool signalled)
{
	t->pid = 0;
	if (killed && t->proc)
		snapshot_late(t, &t->noted);
	if (killed || signalled)
		sessions_merge(&t->shared->others, &t->noted);
}

void
tree_freeze(struct tree *t)
{
	if (t->proc)
		snapshot_processes(t, &t->shared->others);
}

pid_t
tree_own_group(const struct tree *t)
{
	return t->pid != 0 && getpgid(t->pid) == t->pid ? t->pid : 0;
}

/* Like is_command_process(), but false in COMMAND's own group. */
static bool
is_outside_group(const struct proc *p, void *arg)
{
	const struct tree *t = arg;

	return p->pgid != t->pid && is_command_process(p, arg);
}

void
tree_signal(struct tree *t, int signo)
{
	pid_t group = tree_own_group(t);

	if (group == 0 && !t->proc)
		group = t->group;
	if (group != 0)
		kill(-group, signo);
	if (t->proc)
		procs_signal(group != 0 ? is_outside_group : is_command_process,
		    t, signo);
	else if (group == 0 && t->pid != 0)
		kill(t->pid, signo);
}

/* Whether the kernel alone would send p no hangup, even when COMMAND ends. */
static bool
is_spared(const struct tree *t, const struct proc *p)
{
	return p->sid != t->session ||
	    (!p->stopped && p->pid != t->command && p->pgid != t->command &&
		terminal_in_background(&t->shared->jobs, p));
}

/* Whether p, one of COMMAND's processes, gets a forwarded signal from us. */
static bool
is_addressed(const struct tree *t, const struct proc *p,
    const struct signalfd_siginfo *si)
{
	if (signals_from_hangup(si))
		return !is_spared(t, p);
	return p->pgid != getpgrp() || !signals_from_keyboard(si);
}

bool
tree_forward(struct tree *t, const struct signalfd_siginfo *si)
{
	int signo = (int)si->ssi_signo;
	bool sent = false;
	struct procs w;
	struct proc p;

	if (!t->proc)
		return t->group != 0 && kill(-t->group, signo) == 0;
	if (signals_terminates(signo) && t->pid == 0) {
		if (signals_from_keyboard(si))
			snapshot_late(t, &t->shared->others);
		snapshot_processes(t, &t->shared->others);
	}
	for (procs_open(&w); procs_next(&w, &p);)
		if (p.running && is_command_process(&p, t) &&
		    is_addressed(t, &p, si))
			sent = kill(p.pid, signo) == 0 || sent;
	return sent;
}

bool
tree_kill(struct tree *t)
{
	if (!t->proc) {
		tree_signal(t, SIGKILL);
		return true;
	}
	/* Stop COMMAND's own group at once, while we search for the rest. */
	if (tree_own_group(t) != 0)
		kill(-t->pid, SIGSTOP);
	else if (t->pid != 0)
		kill(t->pid, SIGSTOP);
	return procs_kill(is_command_process, t, &t->found) > 0;
}

static bool
denies(pid_t pid)
{
	return kill(pid, 0) == -1 && errno == EPERM;
}

/* Whether it is COMMAND's but may not be signalled.  A procs_member_cb. */
static bool
is_denied(const struct proc *p, void *arg)
{
	return denies(p->pid) && is_command_process(p, arg);
}

bool
tree_denies(struct tree *t)
{
	return t->proc ? procs_first(is_denied, t) != 0 :
			 t->pid != 0 && denies(t->pid);
}

/* Writes one of the survivors.  Returns the length. */
static size_t
name_survivor(const struct proc *p, bool denied, char *text, size_t size)
{
	char user[PROC_USER];

	if (denied)
		return (size_t)snprintf(text, size, "'%s' (pid %d, %s)",
		    p->name, (int)p->pid, proc_user(p->pid, user));
	return (size_t)snprintf(text, size, "%s (pid %d%s)", p->name,
	    (int)p->pid, denies(p->pid) ? ", which may not be signalled" : "");
}

int
tree_survivors(struct tree *t, bool denied, char *text, size_t size)
{
	static const char and_more[] = " and 2147483647 more";
	procs_member_cb *member = denied ? is_denied : is_command_process;
	char one[80];
	size_t used = 0, len;
	int named = 0, more = 0;
	struct procs w;
	struct proc p;

	for (procs_open(&w); procs_next(&w, &p);) {
		if (!p.running || !member(&p, t))
			continue;
		len = name_survivor(&p, denied, one, sizeof(one));
		if (more > 0 ||
		    used + len + sizeof(", ") + sizeof(and_more) > size) {
			more++;
			continue;
		}
		used += (size_t)snprintf(text + used, size - used, "%s%s",
		    named++ > 0 ? ", " : "", one);
	}
	if (used == 0)
		snprintf(text, size, "/proc does not show which");
	else if (more > 0)
		snprintf(text + used, size - used, " and %d more", more);
	return named + more;
}
