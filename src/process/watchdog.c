/*
 * The guard blocks signals and shares only one page of memory, so both it and
 * redlock-run can be stopped or killed between any two steps.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/kernel.h"
#include "base/secret.h"
#include "process/proc.h"
#include "process/watchdog.h"

#ifndef SYS_close_range
#define SYS_close_range 436 /* glibc before 2.34; the same number everywhere */
#endif

#define SNAPSHOT_MIN_MS     10 /* between snapshots, doubled each time */
#define SNAPSHOT_MAX_MS     4000
#define SNAPSHOT_CHANGED_MS 260 /* after a change */
#define AGAIN_MS            20  /* between rounds of killing */
#define ROUNDS              500 /* after that the rest cannot be killed */

/* Returns the last snapshot (before is 0), or an earlier one (1). */
static struct tree_snapshot *
snapshot(const struct tree *t, unsigned int before)
{
	struct tree_shared *s = t->shared;

	return &s->snapshots[(s->turn - before) % TREE_SNAPSHOTS];
}

/* Whether the last snapshots show the session as a daemon's. */
static bool
is_daemon(const struct tree *t, pid_t sid)
{
	return sid != t->command && !sessions_has(&t->shared->others, sid) &&
	    (sessions_has(&snapshot(t, 0)->daemons, sid) ||
		sessions_has(&snapshot(t, 1)->daemons, sid));
}

/* Whether a descendant of COMMAND has created the session. */
static bool
is_made(const struct tree *t, pid_t sid)
{
	return sid != t->session &&
	    (sessions_has(&t->shared->others, sid) ||
		sessions_has(&snapshot(t, 0)->live, sid) ||
		sessions_has(&snapshot(t, 1)->live, sid));
}

/*
 * Whether p is one of COMMAND's processes; a procs_member_cb.  Once redlock-run
 * is gone, no line of parents leads to it.  So p counts if it or an ancestor
 * has COMMAND's session or group, unless it belongs to a daemon.  Only earlier
 * snapshots show which sessions are daemons'; a younger session counts as none.
 * A session or group from outside our pid namespace reads as 0 and proves
 * nothing.
 *
 * The token counts too, but others inherit it: at(1) sets it for a job of its
 * own.  So the topmost ancestor that is younger than redlock-run needs it as
 * well, or has to be in our session: a program that writes its title over its
 * environment loses it.  Orphans have our parent, which has adopted us, too.
 */
static bool
is_command_process(const struct proc *p, void *arg)
{
	const struct watchdog *w = arg;
	const struct tree *t = w->tree;
	struct proc up = *p;
	bool made = false, token = false, top = false;

	if (p->pid == getpid() || p->pid == t->self)
		return false;
	while (up.start >= t->start && up.pid != t->self) {
		if (up.pid == t->command && up.start == w->start)
			return true;
		if (is_daemon(t, up.sid))
			return false;
		made = made ||
		    (t->group != 0 && up.pgid == t->group &&
			up.sid == t->session) ||
		    is_made(t, up.sid);
		top = proc_has_env(up.pid, t->env);
		token = token || top;
		top = top || up.sid == t->session;
		if (up.ppid <= 1 || up.ppid == getppid() ||
		    proc_read(up.ppid, &up) == -1)
			break;
	}
	return made || (token && top);
}

static void
kill_processes(struct watchdog *w)
{
	const struct tree *t = w->tree;
	struct procs_found found;
	struct proc p;

	if (!t->proc) {
		kill(t->group != 0 ? -t->group : t->command, SIGKILL);
		return;
	}
	/*
	 * Stop COMMAND's group at once and, if redlock-run lives, what descends
	 * from it: on a busy machine the search for the rest takes long.
	 */
	if (proc_read(t->command, &p) == 0 && p.start == w->start)
		kill(p.pgid == t->command ? -t->command : t->command, SIGSTOP);
	procs_stop_below(t->self, is_command_process, w, &found);
	for (int i = 0; i < ROUNDS; i++) {
		if (procs_kill(is_command_process, w, &found) == 0)
			return;
		kernel_pause_ms(AGAIN_MS);
	}
}

static void
timer_set(int fd, int64_t at_ms)
{
	struct itimerspec its = { 0 };

	its.it_value.tv_sec = at_ms / 1000;
	its.it_value.tv_nsec = at_ms % 1000 * 1000000;
	kernel_timerfd_settime(fd, TFD_TIMER_ABSTIME, &its);
}

/* Reads all deadlines that were sent.  Returns false at end-of-file. */
static bool
read_deadline(struct watchdog *w)
{
	int64_t kill_ms;
	ssize_t n;

	while ((n = read(w->pipe_fd, &kill_ms, sizeof(kill_ms))) ==
	    sizeof(kill_ms))
		w->kill_ms = kill_ms;
	return n != 0;
}

/*
 * Takes a snapshot, unless COMMAND has exited: redlock-run decides about its
 * orphans.  Returns whether the processes have changed since the last one.
 */
static bool
snapshot_changed(struct watchdog *w)
{
	const struct tree *t = w->tree;
	uint64_t last = w->sum;
	struct proc p;

	if (proc_read(t->command, &p) == 0 && p.start == w->start && !p.running)
		return false;
	w->sum = tree_record(t, snapshot(t, -1U));
	t->shared->turn++;
	return w->sum != last;
}

/*
 * Takes a snapshot and chooses the time of the next one.  While processes come
 * and go it is soon, but not so soon that two snapshots could fall between the
 * deaths that one signal causes.  Snapshots may take a hundredth of the time.
 */
static void
take_snapshot(struct watchdog *w)
{
	int64_t began_us = clock_now_us(), least_ms;

	terminal_watch_jobs(&w->tree->shared->jobs, w->tree->self,
	    began_us / 1000);
	if (snapshot_changed(w) && w->pause_ms > SNAPSHOT_CHANGED_MS)
		w->pause_ms = SNAPSHOT_CHANGED_MS;
	least_ms = (clock_now_us() - began_us) / 10;
	w->snapshot_ms =
	    clock_now_ms() + (w->pause_ms > least_ms ? w->pause_ms : least_ms);
	w->pause_ms *= 2;
	if (w->pause_ms > SNAPSHOT_MAX_MS)
		w->pause_ms = SNAPSHOT_MAX_MS;
}

/*
 * Kills or takes a snapshot if that is due at now.  All deadlines that were
 * sent before now have been read.
 */
static void
guard_step(struct watchdog *w, int64_t now)
{
	if (now >= w->kill_ms) {
		kill_processes(w);
		w->kill_ms = CLOCK_NEVER;
	}
	if (now >= w->snapshot_ms)
		take_snapshot(w);
	timer_set(w->timer_fd, clock_min_ms(w->kill_ms, w->snapshot_ms));
}

static _Noreturn void
guard_run(struct watchdog *w)
{
	struct pollfd fds[2] = {
		{ .fd = w->pipe_fd, .events = POLLIN },
		{ .fd = w->timer_fd, .events = POLLIN },
	};
	int64_t now;
	bool open;

	for (;;) {
		/* Take the time before reading: we may be stopped in between. */
		now = clock_now_ms();
		open = read_deadline(w);
		if (w->kill_ms == GUARD_QUIT)
			break;
		if (!open) {
			kill_processes(w);
			break;
		}
		guard_step(w, now);
		poll(fds, 2, -1);
	}
	_exit(0);
}

/* Closes all descriptors except a and b. */
static void
close_others(int a, int b)
{
	unsigned int low = (unsigned int)(a < b ? a : b);
	unsigned int high = (unsigned int)(a < b ? b : a);
	long max;

	if (syscall(SYS_close_range, high + 1, ~0U, 0) == 0) {
		if (high > low + 1)
			syscall(SYS_close_range, low + 1, high - 1, 0);
		if (low > 0)
			syscall(SYS_close_range, 0, low - 1, 0);
		return;
	}
	max = sysconf(_SC_OPEN_MAX); /* before Linux 5.9 */
	for (int fd = 0; fd < (max > 0 && max < 65536 ? max : 65536); fd++)
		if (fd != a && fd != b)
			close(fd);
}

void
watchdog_main(struct watchdog *w, char *title, size_t title_len)
{
	static const char name[] = "redlock-guard";
	struct proc p;

	secret_wipe();
	setsid();
	prctl(PR_SET_NAME, name);
	memset(title, 0, title_len);
	strncpy(title, name, title_len);
	if (chdir("/") == -1)
		return;
	close_others(w->pipe_fd, w->timer_fd);
	if (proc_read(w->tree->command, &p) == 0)
		w->start = p.start;
	w->pause_ms = SNAPSHOT_MIN_MS;
	guard_run(w);
}
