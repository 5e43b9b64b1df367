/*
 * The order in run_job() is the design.  Signals are ours before there is
 * anything to lose; the lock is held before COMMAND exists; COMMAND's
 * processes are gone before the lock is given back.  Once COMMAND exists
 * nothing calls exit(): every path falls through to locks_release().
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "protocol/key.h"
#include "protocol/quorum.h"
#include "run/messages.h"
#include "run/run.h"
#include "run/supervise.h"

static void
signals_cb(void *arg, short revents)
{
	struct run *run = arg;
	struct signalfd_siginfo si;
	bool late;

	(void)revents;
	while (signals_next(&run->signals, &si)) {
		int signo = (int)si.ssi_signo;

		switch (signo) {
		case SIGCHLD:
			child_reap(&run->child);
			continue;
		case SIGCONT:
			/* COMMAND had it, too, and may have stopped again. */
			child_reap(&run->child);
			late = run->resumed &&
			    (run->child.continued ||
				run->child.stopped_by != 0);
			run->resumed = false;
			if (late)
				continue;
			break;
		case SIGTSTP:
		case SIGTTIN:
		case SIGTTOU:
			continue; /* we stop when COMMAND does */
		case SIGPIPE:
			if (si.ssi_pid == (uint32_t)getpid())
				continue; /* a write of ours */
			break;
		}
		if (run->child.started) {
			if (!run->child.gone && child_signal(&run->child, &si))
				info("%s: signal %d (%s) passed on to %s",
				    run->opt.name, signo, strsignal(signo),
				    run->owner.command);
		} else if (signals_terminates(signo) && run->cancelled == 0) {
			run->cancelled = signo;
			locks_cancel(&run->locks);
		}
	}
}

/* What COMMAND finds in its environment, over whatever was inherited. */
static int
export_lock(const struct run *run)
{
	char fences[LOCKS_MAX * 24], names[LOCKS_MAX * (LOCK_NAME + 1)];
	char pid[16];
	const struct {
		const char *name;
		const char *value;
	} vars[] = {
		{ "REDLOCK_KEY", names },
		{ "REDLOCK_TOKEN", run->owner.token },
		{ "REDLOCK_FENCE", fences },
		{ "REDLOCK_PID", pid },
		{ "REDLOCK_SITE", run->opt.site },
	};
	size_t nlen = 0, flen = 0;

	for (int i = 0; i < run->locks.n; i++) {
		const struct lock *l = &run->locks.lock[i];

		nlen += (size_t)snprintf(names + nlen, sizeof(names) - nlen,
		    "%s%s", i > 0 ? "\n" : "", l->name);
		flen += (size_t)snprintf(fences + flen, sizeof(fences) - flen,
		    "%s%" PRId64, i > 0 ? " " : "", l->fence);
	}
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	for (size_t i = 0; i < sizeof(vars) / sizeof(vars[0]); i++)
		if (unsetenv(vars[i].name) == -1 ||
		    setenv(vars[i].name, vars[i].value, 1) == -1)
			return -1;
	return 0;
}

/*
 * Our standard input and output become /dev/null: COMMAND's end of a pipe is
 * then its only one, so that end-of-file and SIGPIPE work.
 */
static void
drop_streams(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd == -1) {
		close(STDIN_FILENO);
		close(STDOUT_FILENO);
		return;
	}
	dup3(fd, STDIN_FILENO, O_CLOEXEC);
	dup3(fd, STDOUT_FILENO, O_CLOEXEC);
	close(fd);
}

/* Starts COMMAND under the lock; its end, or why it could not be. */
static int
run_command(struct run *run)
{
	struct options *opt = &run->opt;
	int64_t now = clock_now_ms();

	run->deadline_ms = locks_deadline_ms(&run->locks);
	run->acquired_ms = now;
	run->voted_ms = run->deadline_ms - lease_valid_ms(opt->ttl_ms);
	for (int i = 0; i < run->locks.n; i++)
		report_acquired(&run->locks.lock[i], now - run->asked_ms);
	signals_cb(run, 0); /* the last moment for one to be in time */
	if (run->cancelled != 0)
		return -run->cancelled;
	if (clock_now_ms() >= run->deadline_ms - run_margin_ms(run)) {
		warn("%s: %s was not run: we or the machine stood still until "
		     "the lease was over",
		    opt->name, run->owner.command);
		return EXIT_UNREACHABLE;
	}
	if (export_lock(run) == -1) {
		warn("%s: %s was not run: its environment: %s", opt->name,
		    run->owner.command, strerror(errno));
		return EXIT_OS;
	}
	switch (child_spawn(&run->child, opt->command, &run->signals)) {
	case CHILD_STARTED:
		info("%s: %s started, pid %d", opt->name, run->owner.command,
		    (int)run->child.pid);
		drop_streams();
		return run_to_end(run);
	case CHILD_NO_FORK:
		warn("%s: %s was not run: fork: %s", opt->name, opt->command[0],
		    strerror(errno));
		return EXIT_OS;
	case CHILD_NO_EXEC:
		warn("%s: %s was not run: %s", opt->name, opt->command[0],
		    strerror(errno));
		return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXEC;
	}
	return EXIT_OS;
}

/* How the run ended, in the words of the history. */
static void
describe_end(const struct run *run, int status, char end_record[LOCK_END])
{
	const struct child *c = &run->child;
	bool killed = c->started ? c->code != CLD_EXITED : status < 0;
	const char *ended = !c->started ? "not-run" :
	    run->lost                   ? "lost" :
	    run->timed_out              ? "at-most" :
	    killed                      ? "killed" :
					  "exited";
	char ran[32] = "";

	if (c->started) {
		status = c->status;
		snprintf(ran, sizeof(ran), " ran=%" PRId64,
		    clock_now_ms() - run->acquired_ms);
	}
	snprintf(end_record, LOCK_END, "%s ended=%s %s=%d", ran, ended,
	    killed ? "signal" : "status", status < 0 ? -status : status);
}

/* Gives the lock back; the status may turn out to be worth less. */
static int
give_back(struct run *run, int status)
{
	int64_t rest_ms = 0;
	int64_t now = clock_now_ms();
	char text[DURATION_TEXT], why[LOCK_WHY], end_record[LOCK_END];

	describe_end(run, status, end_record);
	if (run->child.started && !run->lost)
		rest_ms = run->voted_ms + run->opt.at_least_ms - now;
	switch (
	    locks_release(&run->locks, rest_ms > 0 ? rest_ms : 0, end_record)) {
	case RELEASE_DONE:
		if (rest_ms > 0)
			info("%s: stays taken for %s more", run->opt.name,
			    duration_format(rest_ms, text));
		else
			for (int i = 0; i < run->locks.begun; i++)
				report_released(
				    &run->locks.lock[i], clock_now_ms() - now);
		break;
	case RELEASE_NOT_OURS:
		if (run->lost || !run->child.started)
			break;
		run->lost = true;
		report_loss(run->locks.about, why, sizeof(why));
		warn("%s: lock lost before %s ended: %s",
		    run->locks.about->name, run->owner.command, why);
		return run->opt.warn_on_loss ? status : EXIT_LOST;
	case RELEASE_UNANSWERED:
		if (run->lost)
			break;
		warn("%s: the release was not answered (%s); the lock ends "
		     "with its lease, in at most %s",
		    run->locks.about->name, lock_why(run->locks.about, why),
		    duration_format(run->opt.ttl_ms, text));
		break;
	}
	if (run->lost && run->opt.warn_on_loss)
		warn("%s: %s ended, but the lock had been lost while it ran",
		    run->opt.name, run->owner.command);
	return status;
}

/* Until when we wait for our turn, 0 if not at all. */
static int64_t
wait_end_ms(const struct run *run)
{
	int64_t wait_ms = run->opt.wait_ms;

	if (wait_ms == 0 || wait_ms == CLOCK_NEVER)
		return wait_ms;
	return run->asked_ms + wait_ms;
}

/* Takes the lock and runs COMMAND; returns our exit status, -N: signal N. */
static int
run_locked(struct run *run)
{
	enum lock_outcome outcome;
	const struct lock *about;
	int status;

	run->asked_ms = clock_now_ms();
	locks_connect(&run->locks);
	owner_init(&run->owner, run->opt.command[0], run->opt.capacity);
	if (child_init(&run->child, run->owner.token, run->opt.only_command) ==
	    -1) {
		warn("%s: not run: %s", run->opt.name, strerror(errno));
		return EXIT_OS;
	}
	outcome = locks_acquire(
	    &run->locks, &run->owner, wait_end_ms(run), report_waiting);
	about = run->locks.about;
	switch (outcome) {
	case LOCK_HELD:
		status = run_command(run);
		return give_back(run, status);
	case LOCK_BUSY:
		report_busy(about);
		return run->opt.conflict_status;
	case LOCK_CANCELLED:
		info("%s: not run: signal %d (%s) ended the wait", about->name,
		    run->cancelled, strsignal(run->cancelled));
		return -run->cancelled;
	case LOCK_DENIED:
		report_failed(&run->opt, about);
		return EXIT_REFUSED;
	case LOCK_SAME_SERVER:
		warn("%s: not run: %s and %s are the same server; name each "
		     "once",
		    about->name, about->same[0], about->same[1]);
		return EXIT_USAGE;
	case LOCK_UNDECIDED:
	case LOCK_UNREACHABLE:
		break;
	}
	report_failed(&run->opt, about);
	return EXIT_UNREACHABLE;
}

/* A resolver may block, and be interrupted: signals are not ours yet. */
static void
init_locks(struct run *run)
{
	const struct options *opt = &run->opt;
	char why[LOCK_WHY];

	if (locks_init(&run->locks, &run->loop, opt->nnames) == -1)
		die(EXIT_OS, "%s: not run: %s", opt->name, strerror(errno));
	for (int i = 0; i < opt->nnames; i++) {
		struct lock *l = &run->locks.lock[i];

		if (lock_init(l, &run->loop, opt->prefix, opt->names[i],
			opt->lock_mode, opt->capacity, opt->addresses,
			opt->naddresses, opt->ttl_ms, opt->node_timeout_ms,
			opt->grace_ms) == -1)
			die(EXIT_OS, "%s: not run: %s", opt->names[i],
			    strerror(errno));
		l->replicas = opt->replicas;
		if (lock_resolve(l) == -1)
			die(EXIT_UNREACHABLE, "%s: not run: %s", l->name,
			    lock_why(l, why));
	}
}

int
run_job(struct options *opt, struct signals *signals)
{
	static struct run run; /* not on the stack, which may be small */
	int status, argc = 0;

	run.opt = *opt;
	run.signals = *signals;
	while (opt->argv[argc] != NULL)
		argc++;
	if (loop_init(&run.loop) == -1)
		die(EXIT_OS, "%s: not run: timerfd: %s", run.opt.name,
		    strerror(errno));
	init_locks(&run);
	if (signals_take(&run.signals) == -1)
		die(EXIT_OS, "%s: not run: signalfd: %s", run.opt.name,
		    strerror(errno));
	run.signal_watch = (struct loop_watch){ .fd = run.signals.fd,
		.events = POLLIN,
		.ready_cb = signals_cb,
		.arg = &run };
	loop_add(&run.loop, &run.signal_watch);
	if (guard_init(&run.guard, &run.loop, run.opt.ttl_ms / 3, argc,
		opt->argv) == -1)
		die(EXIT_OS, "%s: not run: no descriptors for the guard: %s",
		    run.opt.name, strerror(errno));

	status = run_locked(&run);

	guard_release(&run.guard);
	locks_close(&run.locks);
	close(run.signals.fd);
	loop_release(&run.loop);
	return status;
}
