/*
 * Our side of the guard: starts it, sends it deadlines, ends it. watchdog.c is
 * the guard process itself.
 *
 * clone(2) without an exit signal creates the guard. wait(2) does not see such
 * a process unless called with __WCLONE, so "no children left" remains the
 * cheap test for the end of COMMAND's processes, and the guard's death sends no
 * SIGCHLD.  The pipe reports its death.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/guard.h"
#include "process/watchdog.h"

static int
open_pipe(struct guard *g)
{
	int fds[2];

	if (g->pipe_fd != -1)
		return 0;
	g->call = "pipe2";
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) == -1)
		return -1;
	g->pipe_fd = fds[0];
	g->watch.fd = fds[1];
	return 0;
}

int
guard_init(struct guard *g, struct loop *loop, char *const argv[])
{
	char *last = argv[0];

	memset(g, 0, sizeof(*g));
	g->loop = loop;
	g->pipe_fd = g->watch.fd = -1;
	g->title = argv[0];
	for (int i = 1; argv[i] != NULL; i++)
		if (argv[i] > last)
			last = argv[i];
	g->title_len = (size_t)(last - argv[0]) + strlen(last);
	g->call = "timerfd_create";
	g->timer_fd =
	    timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	return g->timer_fd == -1 ? -1 : open_pipe(g);
}

static void
close_fd(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

/* Closes our end of the pipe. */
static void
hang_up(struct guard *g)
{
	int fd = g->watch.fd;

	loop_remove(g->loop, &g->watch);
	close_fd(&fd);
}

/* Kills the guard and reaps it; SIGKILL cannot be blocked. */
static void
reap(struct guard *g)
{
	if (g->pid == 0)
		return;
	kill(g->pid, SIGKILL);
	waitpid(g->pid, NULL, __WCLONE);
	g->pid = 0;
}

/*
 * Reaps first, because a living guard that finds the pipe closed kills COMMAND.
 */
static void
guard_lost(struct guard *g)
{
	reap(g);
	hang_up(g);
	g->lost = true;
}

/* The guard has closed its end of the pipe, so it is dead. */
static void
guard_lost_cb(void *arg, short revents)
{
	(void)revents;
	guard_lost(arg);
}

int
guard_start(struct guard *g, const struct tree *t, int64_t kill_ms)
{
	struct watchdog w = {
		.tree = t, .kill_ms = kill_ms, .timer_fd = g->timer_fd
	};
	pid_t pid;

	if (open_pipe(g) == -1)
		return -1;
	w.pipe_fd = g->pipe_fd;
	g->call = "clone";
	pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	if (pid == -1)
		return -1;
	if (pid == 0) {
		watchdog_main(&w, g->title, g->title_len);
		_exit(1);
	}
	g->pid = t->shared->guard = pid;
	g->lost = false;
	close_fd(&g->pipe_fd);
	g->watch.ready_cb = guard_lost_cb;
	g->watch.arg = g;
	return loop_add(g->loop, &g->watch);
}

void
guard_set_deadline(struct guard *g, int64_t kill_ms)
{
	if (g->pid != 0 && write(g->watch.fd, &kill_ms, sizeof(kill_ms)) == -1)
		guard_lost(g);
}

void
guard_dismiss(struct guard *g)
{
	guard_set_deadline(g, GUARD_QUIT);
	hang_up(g);
}

void
guard_release(struct guard *g)
{
	reap(g);
	close_fd(&g->pipe_fd);
	close_fd(&g->timer_fd);
}
