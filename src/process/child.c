/*
 * Owns COMMAND's pid and everything that is done to its processes.  Refuses
 * to know why they are started or stopped.
 *
 * COMMAND's pid is signalled only while it has not been reaped.  Afterwards
 * its processes are found one by one: each is a child of ours or has one for
 * an ancestor, so its number cannot have become a stranger's.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "process/child.h"
#include "process/proc.h"

#define LOOK_MS   50    /* between looks at what SIGCHLD cannot tell */
#define KILL_MS   1000  /* between attempts to kill what we may not */
#define NOTED_MS  10000 /* then COMMAND has survived the signal */
#define LINGER_MS 5000  /* then those that live on are worth a word */

#define WAIT_FAILURES 10 /* of waitid() in a row, then we do without it */

static bool
has_children(void)
{
	siginfo_t si;

	return waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) == 0 ||
	    errno != ECHILD;
}

int
child_init(struct child *c, const char *token, bool only_command)
{
	int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	memset(c, 0, sizeof(*c));
	if (tty != -1) {
		c->terminal = true;
		close(tty);
	}
	c->self = getpid();
	c->session = getsid(0);
	c->proc = procs_visible();
	c->only_command = only_command;
	c->kill_ms = c->reap_ms = CLOCK_NEVER;
	snprintf(c->env, sizeof(c->env), "REDLOCK_TOKEN=%s", token);
	/* Started by `job & exec redlock-run`, or with strangers' orphans. */
	c->foreign_orphans = has_children() || c->self == 1;
	c->shared = mmap(NULL, sizeof(*c->shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (c->shared == MAP_FAILED)
		return -1;
	return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

enum child_spawned
child_spawn(struct child *c, char *const argv[], const struct signals *s)
{
	volatile int error = 0;
	pid_t pid;

	/* All signals are blocked, so vfork's child can run no handler. */
	pid = vfork();
	if (pid == -1)
		return CHILD_NO_FORK;
	if (pid == 0) {
		if (!c->terminal)
			setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != c->self)
			_exit(0); /* we died first: nobody will see */
		signals_restore(s);
		execvp(argv[0], argv);
		error = errno;
		_exit(127);
	}
	if (error != 0) {
		waitpid(pid, NULL, 0);
		errno = error;
		return CHILD_NO_EXEC;
	}
	c->pid = c->command = pid;
	c->group = c->terminal ? 0 : pid;
	c->started = true;
	return CHILD_STARTED;
}

bool
child_marks(const struct child *c, pid_t pid)
{
	return !c->foreign_orphans ||
	    (c->group != 0 && getpgid(pid) == c->group) ||
	    proc_has_env(pid, c->env);
}

/* Whether the process is one of COMMAND's: procs_member_cb. */
static bool
is_command_process(const struct proc *p, void *arg)
{
	const struct child *c = arg;
	struct proc up = *p;
	bool foreign = true, marked = !c->foreign_orphans;

	if (p->pid == c->self || p->pid == 1 || p->pid == c->shared->guard)
		return false;
	while (up.start >= c->start) {
		if (up.pid == c->pid)
			return true;
		foreign = foreign && up.sid != c->session &&
		    up.sid != c->command &&
		    !sessions_has(&c->shared->others, up.sid);
		marked = marked || child_marks(c, up.pid);
		if (up.ppid == c->self)
			return marked && !foreign;
		if (up.ppid <= 1)
			return false;
		if (proc_read_ours(up.ppid, &up) == -1)
			/* Its parent is hidden. */
			return !foreign && proc_has_env(p->pid, c->env);
	}
	return false;
}

/* Without /proc: whether anything is left, as far as wait and kill tell. */
static bool
anything_left(const struct child *c)
{
	if (c->foreign_orphans && c->self != 1)
		return c->group != 0 && kill(-c->group, 0) == 0;
	return has_children();
}

static bool
lives(struct child *c, pid_t pid)
{
	struct proc p;

	return proc_read_ours(pid, &p) == 0 && p.running &&
	    is_command_process(&p, c);
}

/*
 * Looks for one of COMMAND's processes, which is then watched instead of all:
 * the last one again, the orphans among them, which are few and children of
 * ours, and only then all processes that there are.
 */
static pid_t
find_survivor(struct child *c)
{
	struct children orphans;
	pid_t pid;

	if (c->survivor != 0 && lives(c, c->survivor))
		return c->survivor;
	for (children_open(&orphans, c->self);
	     (pid = children_next(&orphans)) != 0;)
		if (lives(c, pid))
			break;
	children_close(&orphans);
	return pid != 0 ? pid : procs_first(is_command_process, c);
}

/*
 * Whether all of COMMAND's processes are gone.  A parent that ends during the
 * look hands its children to us behind the walk's back, so the look is
 * repeated when something ended meanwhile.
 */
static bool
all_gone(struct child *c)
{
	siginfo_t si;

	if (!has_children())
		return true;
	if (!c->proc)
		return !anything_left(c);
	for (;;) {
		c->survivor = find_survivor(c);
		if (c->survivor != 0)
			return false;
		si.si_pid = 0;
		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG) == -1 ||
		    si.si_pid == 0)
			return true;
	}
}

/*
 * Adds the sessions of all of COMMAND's processes, as a walk shows them; but
 * not the one that they were started in, which strangers share.
 */
static void
snapshot_processes(struct child *c, struct sessions *noted)
{
	procs_find(is_command_process, c, &c->found);
	for (int i = 0; i < c->found.n; i++) {
		pid_t sid = getsid(c->found.list[i]);

		if (sid != c->session)
			sessions_add(noted, sid);
	}
}

/*
 * Adds the sessions that processes of COMMAND may have had when a signal came
 * that did not come through us: those that the guard has seen lately, and
 * those of orphans which the guard did not see as orphans before.
 */
static void
snapshot_late(struct child *c, struct sessions *noted)
{
	const struct child_shared *s = c->shared;
	const struct child_snapshot *last =
	    &s->snapshots[s->turn % CHILD_SNAPSHOTS];
	const struct child_snapshot *before =
	    &s->snapshots[(s->turn - 1) % CHILD_SNAPSHOTS];
	struct children orphans;
	pid_t pid, sid;

	sessions_merge(noted, &last->live);
	sessions_merge(noted, &before->live);
	for (children_open(&orphans, c->self);
	     (pid = children_next(&orphans)) != 0;) {
		sid = getsid(pid);
		if (pid != s->guard && sid != c->session &&
		    child_marks(c, pid) && !sessions_has(&before->daemons, sid))
			sessions_add(noted, sid);
	}
}

/* Before a signal is passed on, or as soon as it came without us (late). */
static void
snapshot_sessions(struct child *c, int signo, bool late)
{
	if (!c->proc)
		return;
	if (procs_list_children())
		proc_tree_sessions(c->pid, c->session, &c->noted);
	else
		snapshot_processes(c, &c->noted);
	if (late)
		snapshot_late(c, &c->noted);
	c->noted_ms = clock_now_ms();
	c->told = c->told || signo == SIGTERM || signo == SIGINT ||
	    signo == SIGQUIT || signo == SIGHUP;
}

/*
 * COMMAND lives on long after the signal.  Those that the signal has made
 * orphans stay its processes; the others may yet become daemons.
 */
static void
forget_sessions(struct child *c)
{
	static struct sessions live, orphans; /* the stack may be small */

	live.n = orphans.n = 0;
	proc_tree_sessions(c->pid, c->session, &live);
	proc_child_sessions(c->self, c->session, &orphans);
	for (int i = 0; i < c->noted.n; i++) {
		pid_t sid = c->noted.list[i].sid;

		if (sessions_has(&orphans, sid) && !sessions_has(&live, sid))
			sessions_add(&c->shared->others, sid);
	}
	c->noted.n = 0;
	c->noted_ms = 0;
	c->told = false;
}

static void
command_exited(struct child *c, int code, int status)
{
	/* Shells make 128 and its number of a signal. */
	bool killed =
	    code != CLD_EXITED || (status > 128 && status <= 128 + SIGRTMAX);

	c->code = code;
	c->status = status;
	c->exited = true;
	c->exited_ms = clock_now_ms();
	c->pid = 0;
	if (killed && c->proc)
		snapshot_late(c, &c->noted);
	if (killed || c->told)
		sessions_merge(&c->shared->others, &c->noted);
}

/*
 * waitid() failed, and COMMAND may have ended: no further SIGCHLD will come,
 * so we try again.  If it goes on failing, a COMMAND that does not run any
 * more has ended, and its status is lost.
 */
static void
wait_failed(struct child *c, int error)
{
	struct proc p;

	c->reap_ms = clock_now_ms() + LOOK_MS;
	if (c->pid == 0 || ++c->wait_failures < WAIT_FAILURES)
		return;
	if (c->proc ? proc_read(c->pid, &p) == 0 && p.running :
		      error != ECHILD && kill(c->pid, 0) == 0)
		return;
	c->wait_error = error;
	command_exited(c, CLD_EXITED, EXIT_OS);
}

void
child_reap(struct child *c)
{
	siginfo_t si;
	int result;

	/* WSTOPPED: `^Z` concerns us only when COMMAND did stop. */
	while (si.si_pid = 0,
	    (result = waitid(P_ALL, 0, &si,
		 WEXITED | WSTOPPED | WCONTINUED | WNOHANG)) == 0 &&
		si.si_pid != 0) {
		/* Orphans speak for COMMAND once it is gone. */
		if (si.si_pid != c->pid && !c->exited)
			continue;
		if (si.si_code == CLD_STOPPED)
			c->stopped_by = si.si_status;
		else if (si.si_code == CLD_CONTINUED) {
			c->stopped_by = 0;
			c->continued = true;
		} else if (si.si_pid == c->pid)
			command_exited(c, si.si_code, si.si_status);
	}
	c->reap_ms = CLOCK_NEVER;
	if (result == 0)
		c->wait_failures = 0;
	else if (errno != ECHILD || c->pid != 0)
		wait_failed(c, errno);
	if (c->exited)
		c->look_ms = 0;
}

/* The group that is COMMAND's alone, 0 if there is none (any more). */
static pid_t
own_group(const struct child *c)
{
	return c->pid != 0 && getpgid(c->pid) == c->pid ? c->pid : 0;
}

bool
child_signal(struct child *c, const struct signalfd_siginfo *si)
{
	int signo = (int)si->ssi_signo;
	pid_t ours = getpgrp();
	bool sent = false;
	struct procs w;
	struct proc p;

	if (c->pid != 0) {
		if (si->ssi_code <= 0 && (pid_t)si->ssi_pid == c->pid)
			return false; /* from COMMAND itself */
		if (signals_terminates(signo))
			snapshot_sessions(c, signo, own_group(c) == 0);
		if (own_group(c) != 0)
			return kill(-c->pid, signo) == 0;
		return (getpgid(c->pid) != ours ||
			   !signals_from_keyboard(si)) &&
		    kill(c->pid, signo) == 0;
	}
	if (!c->proc)
		return c->group != 0 && kill(-c->group, signo) == 0;
	if (signals_terminates(signo)) {
		if (signals_from_keyboard(si))
			snapshot_late(c, &c->shared->others);
		snapshot_processes(c, &c->shared->others);
	}
	for (procs_open(&w); procs_next(&w, &p);)
		if (p.running && is_command_process(&p, c) &&
		    (p.pgid != ours || !signals_from_keyboard(si)))
			sent = kill(p.pid, signo) == 0 || sent;
	return sent;
}

/* To COMMAND's own group, or to each of its processes. */
static void
signal_all(struct child *c, int signo)
{
	pid_t group = own_group(c);

	if (group == 0 && !c->proc)
		group = c->group;
	if (group != 0)
		kill(-group, signo);
	else if (c->proc)
		procs_signal(is_command_process, c, signo);
	else if (c->pid != 0)
		kill(c->pid, signo);
}

void
child_stop(struct child *c, int64_t kill_ms)
{
	if (!c->stopping) {
		c->stopping = true;
		if (c->proc)
			snapshot_processes(c, &c->shared->others);
		signal_all(c, SIGTERM);
		/* A stopped process sees the one only after the other. */
		signal_all(c, SIGCONT);
	}
	if (kill_ms < c->kill_ms)
		c->kill_ms = kill_ms;
}

/* Returns whether there were any that we may kill. */
static bool
kill_all(struct child *c)
{
	if (!c->proc) {
		signal_all(c, SIGKILL);
		return true;
	}
	/* What is quick to reach stands still while the rest is found. */
	if (own_group(c) != 0)
		kill(-c->pid, SIGSTOP);
	else if (c->pid != 0)
		kill(c->pid, SIGSTOP);
	return procs_kill(is_command_process, c, &c->found) > 0;
}

char *
child_survivors(struct child *c, char *text, size_t size)
{
	static const char and_more[] = " and 2147483647 more";
	char one[80];
	size_t used = 0, len;
	int more = 0;
	struct procs w;
	struct proc p;

	for (procs_open(&w); procs_next(&w, &p);) {
		if (!p.running || !is_command_process(&p, c))
			continue;
		len = (size_t)snprintf(one, sizeof(one), "%s%s (pid %d%s)",
		    used > 0 ? ", " : "", p.name, (int)p.pid,
		    kill(p.pid, 0) == -1 && errno == EPERM ?
			", which we may not signal" :
			"");
		if (more > 0 || used + len + sizeof(and_more) > size) {
			more++;
			continue;
		}
		memcpy(text + used, one, len + 1);
		used += len;
	}
	if (used == 0)
		snprintf(text, size, "/proc does not show which");
	else if (more > 0)
		snprintf(text + used, size - used, " and %d more", more);
	return text;
}

int64_t
child_step(struct child *c)
{
	int64_t now = clock_now_ms(), wake;
	struct proc us;

	if (!c->started || c->gone)
		return CLOCK_NEVER;
	if (c->start == 0 && proc_read(c->self, &us) == 0)
		c->start = us.start;
	if (now >= c->kill_ms) {
		c->kill_pause_ms =
		    kill_all(c) ? LOOK_MS : 2 * c->kill_pause_ms + LOOK_MS;
		if (c->kill_pause_ms > KILL_MS)
			c->kill_pause_ms = KILL_MS;
		c->kill_ms = now + c->kill_pause_ms;
	}
	if (now >= c->reap_ms)
		child_reap(c);
	wake = c->kill_ms < c->reap_ms ? c->kill_ms : c->reap_ms;
	if (!c->exited && c->noted_ms != 0) {
		if (now >= c->noted_ms + NOTED_MS)
			forget_sessions(c);
		else if (c->noted_ms + NOTED_MS < wake)
			wake = c->noted_ms + NOTED_MS;
	}
	if (!c->exited)
		return wake;
	if (now >= c->look_ms) {
		c->gone = (c->only_command && !c->stopping) || all_gone(c);
		c->look_ms = now + LOOK_MS;
	}
	if (c->gone)
		return CLOCK_NEVER;
	c->lingers = now >= c->exited_ms + LINGER_MS;
	return c->look_ms < wake ? c->look_ms : wake;
}
