/*
 * A program that is killed leaves the terminal as it needed it: without echo,
 * or with a process group in the foreground that is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "process/terminal.h"

#define JOB_MS 1000 /* a shell has moved a job to the foreground by then */

void
terminal_record(struct terminal *t)
{
	pid_t group = getpgrp();

	/* tcgetpgrp() fails for a terminal that does not control us. */
	t->ours = tcgetpgrp(STDIN_FILENO) == group &&
	    tcgetpgrp(STDOUT_FILENO) == group &&
	    tcgetattr(STDIN_FILENO, &t->modes) == 0;
}

/* Whether our group has the foreground, or gets it from a group that is gone. */
static bool
in_foreground(int tty)
{
	pid_t group = tcgetpgrp(tty);

	if (group == getpgrp())
		return true;
	return group > 1 && kill(-group, 0) == -1 && errno == ESRCH &&
	    tcsetpgrp(tty, getpgrp()) == 0;
}

void
terminal_restore(const struct terminal *t)
{
	int tty;

	if (!t->ours)
		return;
	/* Our standard streams are closed by now. */
	tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (tty == -1)
		return;
	if (in_foreground(tty))
		tcsetattr(tty, TCSANOW, &t->modes);
	close(tty);
}

void
terminal_watch_jobs(struct terminal_jobs *j, pid_t pid, int64_t now_ms)
{
	struct proc p;

	if (proc_read(pid, &p) == -1 || p.foreground <= 0)
		return;
	j->foreground = p.foreground;
	j->seen_ms = now_ms;
}

bool
terminal_in_background(const struct terminal_jobs *j, const struct proc *p)
{
	int64_t ticks = (j->seen_ms - JOB_MS) * sysconf(_SC_CLK_TCK) / 1000;

	return ticks > 0 && p->start < (unsigned long long)ticks &&
	    p->pgid != j->foreground && p->pgid != getpgrp();
}
