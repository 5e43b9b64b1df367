/*
 * COMMAND's life, from vfork(2) to the end of its last process.  src/run
 * decides when to start and stop it.  COMMAND's pid is signalled only while it
 * has not been reaped.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit.h"
#include "process/child.h"
#include "process/exec.h"
#include "process/proc.h"

#define CHECK_MS    50    /* between checks that SIGCHLD does not cause */
#define KILL_MS     1000  /* between attempts to kill a process that stays */
#define SURVIVED_MS 10000 /* COMMAND has survived a signal after that time */
#define LINGER_MS   5000  /* survivors are worth a message after that time */

#define WAIT_FAILURES 10 /* waitid() failures in a row that we tolerate */

int
child_init(struct child *c, const char *token, bool only_command)
{
	int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	memset(c, 0, sizeof(*c));
	if (tty != -1) {
		c->terminal = true;
		close(tty);
	}
	c->only_command = only_command;
	c->kill_ms = c->reap_ms = CLOCK_NEVER;
	c->call = "mmap";
	if (tree_init(&c->tree, token) == -1)
		return -1;
	c->call = "cannot adopt orphaned processes: prctl";
	return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

enum child_spawned
child_spawn(struct child *c, char *const argv[], char pid_text[CHILD_PID_TEXT],
    const struct signals *s)
{
	volatile int error = 0;
	volatile pid_t parent = c->tree.self;
	pid_t pid;

	/* All signals are blocked, so vfork's child can run no handler. */
	pid = vfork();
	if (pid == -1)
		return CHILD_NO_FORK;
	if (pid == 0) {
		if (!c->terminal)
			setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* 0 outside of our pid namespace, another one if we are dead */
		parent = getppid();
		if (parent != c->tree.self)
			_exit(127);
		/* Into memory that our parent shares until exec. */
		snprintf(pid_text, CHILD_PID_TEXT, "%d", (int)getpid());
		signals_restore(s);
		exec_command(argv);
		error = errno;
		_exit(127);
	}
	if (parent != c->tree.self || error != 0) {
		waitpid(pid, NULL, 0);
		errno = error;
		return error != 0 ? CHILD_NO_EXEC : CHILD_ELSEWHERE;
	}
	tree_begin(&c->tree, pid, !c->terminal);
	c->started = true;
	return CHILD_STARTED;
}

/* Whether we end with COMMAND and leave its other processes. */
static bool
is_alone(const struct child *c)
{
	return c->only_command && !c->stopping;
}

/*
 * Sends SIGHUP and SIGCONT to stopped jobs that COMMAND left in our session.
 * The kernel does that if no parent there is left that could continue a job,
 * but we have adopted it.
 */
static void
hang_up_jobs(const struct tree *t)
{
	struct children orphans;
	struct proc p;
	pid_t pid;

	for (proc_children_open(&orphans, t->self);
	     (pid = proc_children_next(&orphans)) != 0;)
		if (proc_read(pid, &p) == 0 && p.stopped &&
		    p.sid == t->session && p.pgid != t->command &&
		    p.pgid != getpgrp() && tree_marks(t, pid)) {
			kill(-p.pgid, SIGHUP);
			kill(-p.pgid, SIGCONT);
		}
}

static void
command_exited(struct child *c, struct exit_how how)
{
	/* Shells exit with 128 + N after signal N. */
	bool killed =
	    how.signalled || (how.number > 128 && how.number <= 128 + SIGRTMAX);

	c->how = how;
	c->exited = true;
	c->exited_ms = clock_now_ms();
	tree_command_exited(&c->tree, killed, c->terminating);
	if (c->tree.proc && !is_alone(c))
		hang_up_jobs(&c->tree);
}

/*
 * After waitid() has failed COMMAND may have exited unseen.  No further SIGCHLD
 * will come, so we try again.  If it keeps failing and COMMAND no longer runs,
 * its status stays unknown.
 */
static void
wait_failed(struct child *c, int error)
{
	struct proc p;

	c->reap_ms = clock_now_ms() + CHECK_MS;
	if (c->tree.pid == 0 || ++c->wait_failures < WAIT_FAILURES)
		return;
	if (c->tree.proc ? proc_read(c->tree.pid, &p) == 0 && p.running :
			   error != ECHILD && kill(c->tree.pid, 0) == 0)
		return;
	c->wait_error = error;
	command_exited(c, exit_with(EXIT_OS));
}

void
child_reap(struct child *c)
{
	siginfo_t si;
	int result;

	/* WSTOPPED, because we stop at ^Z only once COMMAND has stopped. */
	while (si.si_pid = 0,
	    (result = waitid(P_ALL, 0, &si,
		 WEXITED | WSTOPPED | WCONTINUED | WNOHANG)) == 0 &&
		si.si_pid != 0) {
		/*
		 * Once COMMAND is gone, orphans that stop or continue count as
		 * well.
		 */
		if (si.si_pid != c->tree.pid && !c->exited)
			continue;
		if (si.si_code == CLD_STOPPED)
			c->stopped_by = si.si_status;
		else if (si.si_code == CLD_CONTINUED) {
			c->stopped_by = 0;
			c->continued = true;
		} else if (si.si_pid == c->tree.pid)
			command_exited(c,
			    si.si_code == CLD_EXITED ?
				exit_with(si.si_status) :
				exit_of_signal(si.si_status));
	}
	c->reap_ms = CLOCK_NEVER;
	if (result == 0)
		c->wait_failures = 0;
	else if (errno != ECHILD || c->tree.pid != 0)
		wait_failed(c, errno);
	if (c->exited)
		c->check_ms = 0;
}

/* Whether users send this signal to ask a process to end. */
static bool
asks_to_end(int signo)
{
	return signo == SIGTERM || signo == SIGINT || signo == SIGQUIT ||
	    signo == SIGHUP;
}

bool
child_signal(struct child *c, const struct signalfd_siginfo *si)
{
	int signo = (int)si->ssi_signo;
	pid_t pid = c->tree.pid, group;

	if (pid == 0)
		return !is_alone(c) && tree_forward(&c->tree, si);
	if (si->ssi_code <= 0 && (pid_t)si->ssi_pid == pid)
		return false; /* from COMMAND itself */
	group = tree_own_group(&c->tree);
	if (signals_terminates(signo)) {
		tree_snapshot(&c->tree, group == 0);
		c->signalled_ms = clock_now_ms();
		c->terminating = c->terminating || asks_to_end(signo);
	}
	/* The kernel sends it to processes that we leave, when we end. */
	if (signals_from_hangup(si) && c->tree.proc && !is_alone(c))
		return tree_forward(&c->tree, si);
	if (group != 0)
		return kill(-group, signo) == 0;
	return (getpgid(pid) != getpgrp() || !signals_from_keyboard(si)) &&
	    kill(pid, signo) == 0;
}

void
child_stop(struct child *c, int64_t kill_ms)
{
	if (!c->stopping) {
		c->stopping = true;
		c->lingers = false;
		tree_freeze(&c->tree);
		tree_signal(&c->tree, SIGTERM);
		/*
		 * A stopped process handles the signal only once it continues.
		 */
		tree_signal(&c->tree, SIGCONT);
	}
	if (kill_ms < c->kill_ms)
		c->kill_ms = kill_ms;
}

/* Kills the remaining processes, less often while one cannot be killed. */
static void
kill_step(struct child *c, int64_t now)
{
	bool killed;

	if (now < c->kill_ms)
		return;
	killed = tree_kill(&c->tree);
	if (c->killed_ms == 0)
		c->killed_ms = now;
	else /* those that we may kill have had time to end the others */
		c->lingers = c->lingers || tree_denies(&c->tree) ||
		    (killed && now >= c->killed_ms + LINGER_MS);
	c->kill_pause_ms = killed ? CHECK_MS : 2 * c->kill_pause_ms + CHECK_MS;
	if (c->kill_pause_ms > KILL_MS)
		c->kill_pause_ms = KILL_MS;
	c->kill_ms = now + c->kill_pause_ms;
}

/* Drops the snapshot of a signal that COMMAND has survived. */
static int64_t
survival_step(struct child *c, int64_t now)
{
	if (c->exited || c->signalled_ms == 0)
		return CLOCK_NEVER;
	if (now < c->signalled_ms + SURVIVED_MS)
		return c->signalled_ms + SURVIVED_MS;
	tree_forget_snapshot(&c->tree);
	c->signalled_ms = 0;
	c->terminating = false;
	return CLOCK_NEVER;
}

/* Once COMMAND has exited, checks whether its processes are gone. */
static int64_t
gone_step(struct child *c, int64_t now)
{
	if (!c->exited)
		return CLOCK_NEVER;
	if (now >= c->check_ms) {
		c->gone = is_alone(c) || tree_gone(&c->tree);
		c->check_ms = now + CHECK_MS;
	}
	if (c->gone)
		return CLOCK_NEVER;
	if (!c->stopping)
		c->lingers = now >= c->exited_ms + LINGER_MS;
	return c->check_ms;
}

int64_t
child_step(struct child *c)
{
	int64_t now = clock_now_ms(), wake;

	if (!c->started || c->gone)
		return CLOCK_NEVER;
	kill_step(c, now);
	if (now >= c->reap_ms)
		child_reap(c);
	wake = clock_min_ms(c->kill_ms, c->reap_ms);
	wake = clock_min_ms(wake, survival_step(c, now));
	wake = clock_min_ms(wake, gone_step(c, now));
	return c->gone ? CLOCK_NEVER : wake;
}
