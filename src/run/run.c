/*
 * The order in run_job() is the design.  We take over the signals before there
 * is a lock to lose.  We hold the lock before COMMAND exists.  COMMAND's
 * processes are gone before we release the lock.  Once COMMAND exists, nothing
 * calls exit(): every path leads to release().
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/die.h"
#include "base/duration.h"
#include "base/exit.h"
#include "base/log.h"
#include "process/proc.h"
#include "protocol/lease.h"
#include "protocol/record.h"
#include "run/environment.h"
#include "run/forward.h"
#include "run/exec_error.h"
#include "run/report.h"
#include "run/run.h"
#include "run/run_state.h"
#include "run/supervise.h"
#include "run/waiting.h"

static void
init_locks(struct run *run)
{
	const struct options *opt = run->opt;
	struct lock_config config = { .prefix = opt->settings.prefix,
		.mode = opt->lock_mode,
		.capacity = opt->capacity,
		.replicas = opt->replicas,
		.max_waiting = opt->settings.max_waiting,
		.addresses = opt->servers.address,
		.naddresses = opt->servers.n,
		.answered = run->answered,
		.ttl_ms = opt->settings.ttl_ms,
		.max_ttl_ms = opt->settings.max_ttl_ms,
		.node_timeout_ms = opt->settings.node_timeout_ms,
		.grace_ms = opt->settings.grace_ms,
		.once_per_ms = opt->once_per_ms,
		.latest = opt->latest };

	if (locks_init(&run->locks, &run->loop, opt->names.n) == -1)
		die(EXIT_OS, "%s: not run: %s", opt->names.joined,
		    strerror(errno));
	for (int i = 0; i < opt->names.n; i++) {
		struct lock *l = locks_at(&run->locks, i);

		config.name = opt->names.name[i];
		if (lock_init(l, &run->resolver, &config) == -1)
			die(EXIT_OS, "%s: not run: %s", opt->names.name[i],
			    strerror(errno));
	}
}

/* Takes from the operating system what the run needs, or exits. */
static void
init(struct run *run, const struct options *opt, const struct signals *signals)
{
	run->opt = opt;
	run->signals = *signals;
	if (loop_init(&run->loop) == -1)
		die(EXIT_OS, "%s: not run: timerfd: %s", opt->names.joined,
		    strerror(errno));
	resolver_init(&run->resolver, &run->loop,
	    opt->settings.node_timeout_ms);
	init_locks(run);
	waiting_init(&run->waiting, opt);
	if (signals_take(&run->signals) == -1)
		die(EXIT_OS, "%s: not run: signalfd: %s", opt->names.joined,
		    strerror(errno));
	run->signal_watch = (struct loop_watch){ .fd = run->signals.fd,
		.events = POLLIN,
		.ready_cb = forward_cb,
		.arg = run };
	loop_add(&run->loop, &run->signal_watch);
	if (guard_init(&run->guard, &run->loop, opt->argv) == -1)
		die(EXIT_OS, "%s: not run: cannot set up the guard: %s: %s",
		    opt->names.joined, run->guard.call, strerror(errno));
}

static void
finish(struct run *run)
{
	guard_release(&run->guard);
	locks_close(&run->locks);
	resolver_release(&run->resolver);
	close(run->signals.fd);
	loop_release(&run->loop);
}

/*
 * Reports why the lock is not held after waited_ms.  Returns how to end.
 */
static struct exit_how
not_acquired(const struct run *run, enum lock_outcome outcome,
    int64_t waited_ms)
{
	const struct lock *l = locks_about(&run->locks);
	const char *urls[2];

	switch (outcome) {
	case LOCK_BUSY:
		report_busy(l, waited_ms);
		return exit_with(run->opt->conflict_status);
	case LOCK_SUPERSEDED:
		report_superseded(l);
		return exit_with(run->opt->conflict_status);
	case LOCK_QUEUE_FULL:
		report_queue_full(l, waited_ms);
		return exit_with(run->opt->conflict_status);
	case LOCK_OTHER_MODE:
		report_other_mode(l);
		return exit_with(EXIT_USAGE);
	case LOCK_OUTLASTS:
		report_outlasting(l);
		return exit_with(EXIT_USAGE);
	case LOCK_CANCELLED:
		info("%s: not run: signal %d (%s) ended the wait", lock_name(l),
		    run->cancelled, strsignal(run->cancelled));
		return exit_of_signal(run->cancelled);
	case LOCK_DENIED:
		report_failed(run->opt, l);
		return exit_with(EXIT_REFUSED);
	case LOCK_SAME_SERVER:
		lock_same_server(l, urls);
		warn("%s: not run: %s and %s are the same server; name each "
		     "once",
		    lock_name(l), urls[0], urls[1]);
		return exit_with(EXIT_USAGE);
	case LOCK_HELD:
	case LOCK_UNDECIDED:
	case LOCK_UNREACHABLE:
		break;
	}
	report_failed(run->opt, l);
	return exit_with(EXIT_UNREACHABLE);
}

/* Returns when the wait for our turn ends; 0: no wait. */
static int64_t
wait_end_ms(const struct run *run)
{
	int64_t wait_ms = run->opt->wait_ms;

	if (wait_ms == 0 || wait_ms == CLOCK_NEVER)
		return wait_ms;
	return run->asked_ms + wait_ms;
}

/* Returns our exit status where COMMAND cannot have a guard. */
static int
elsewhere(const struct run *run)
{
	warn("%s: '%s' was not run: it would start in another PID namespace, "
	     "where the guard cannot kill it; unshare(1) needs -f",
	    run->opt->names.joined, run->owner.command);
	return EXIT_OS;
}

/*
 * Begins to connect, and prepares everything else in the meantime.  Returns 0,
 * or our exit status.
 */
static int
prepare(struct run *run)
{
	run->asked_ms = clock_now_ms();
	locks_connect(&run->locks);
	owner_init(&run->owner, run->opt->command[0], run->opt->capacity);
	run->owner.ttl_ms = run->opt->settings.max_ttl_ms;
	if (run->owner.ttl_ms > run->opt->settings.ttl_ms)
		run->owner.lease_ms = run->opt->settings.ttl_ms;
	run->owner.hold_ms = run->opt->min_hold_ms;
	if (run->opt->message != NULL)
		snprintf(run->owner.message, sizeof(run->owner.message), "%s",
		    run->opt->message);
	if (child_init(&run->child, run->owner.token, run->opt->only_command) ==
	    -1) {
		warn("%s: not run: %s: %s", run->opt->names.joined,
		    run->child.call, strerror(errno));
		return EXIT_OS;
	}
	if (procs_born_elsewhere())
		return elsewhere(run);
	run->owner.start_ticks = (int64_t)run->child.tree.start;
	waiting_begin(&run->waiting, run->asked_ms, wait_end_ms(run));
	return 0;
}

/*
 * Takes all locks, or the last one once more.  Returns whether they are held;
 * if not, *how is how to end.
 */
static bool
acquire(struct run *run, struct exit_how *how)
{
	enum lock_outcome outcome;
	int64_t now, waited_ms;

	outcome = locks_acquire(&run->locks, &run->owner, wait_end_ms(run),
	    waiting_cb, &run->waiting);
	waited_ms = waiting_end(&run->waiting);
	if (outcome != LOCK_HELD) {
		*how = not_acquired(run, outcome, waited_ms);
		return false;
	}
	now = clock_now_ms();
	run->deadline_ms = locks_deadline_ms(&run->locks);
	run->acquired_ms = now;
	/*
	 * --min-hold counts from the request for the votes.  A grant that came
	 * with the wake needed none, so it counts from now.
	 */
	run->voted_ms = locks_grant_ms(&run->locks) != 0 ?
	    now :
	    run->deadline_ms - lease_valid_ms(run->opt->settings.ttl_ms);
	run->waited_ms = waited_ms;
	return true;
}

/*
 * A grant that came with the wake is short.  Returns whether too little of it
 * is left to start COMMAND; the grant is then given up.
 */
static bool
grant_has_passed(struct run *run)
{
	if (locks_grant_ms(&run->locks) == 0 ||
	    clock_now_ms() < supervise_stop_ms(run))
		return false;
	locks_drop_grant(&run->locks);
	return true;
}

static void
report_acquisition(const struct run *run)
{
	char text[DURATION_TEXT];

	if (run->waited_ms > 0)
		notice("%s: acquired after %s", run->opt->names.joined,
		    duration_format(run->waited_ms, text));
	for (int i = 0; i < locks_count(&run->locks); i++)
		report_acquired(locks_at(&run->locks, i),
		    run->acquired_ms - run->asked_ms);
}

/*
 * Returns whether the locks that we hold settle the run: COMMAND can start, or
 * a signal that arrived until now has cancelled it.  If not, acquire again.
 */
static bool
ready(struct run *run)
{
	forward_signals(run);
	if (run->cancelled != 0)
		return true;
	if (grant_has_passed(run))
		return false;
	report_acquisition(run);
	/* A message may have had to wait for room. */
	return !grant_has_passed(run);
}

/*
 * Starts COMMAND under the lock.  Returns whether it runs; if not, *how is
 * how to end.
 */
static bool
start(struct run *run, struct exit_how *how)
{
	const struct options *opt = run->opt;

	if (run->cancelled != 0) {
		*how = exit_of_signal(run->cancelled);
		return false;
	}
	if (clock_now_ms() >= run->deadline_ms - supervise_margin_ms(run)) {
		warn("%s: '%s' was not run: the lease ran out while "
		     "redlock-run was stopped or the machine slept",
		    opt->names.joined, run->owner.command);
		*how = exit_with(EXIT_UNREACHABLE);
		return false;
	}
	*how = exit_with(EXIT_OS);
	if (environment_export(&run->locks, &run->owner, opt->site,
		opt->numbered) == -1) {
		warn("%s: '%s' was not run: cannot set its environment: %s",
		    opt->names.joined, run->owner.command, strerror(errno));
		return false;
	}
	terminal_record(&run->terminal);
	switch (child_spawn(&run->child, opt->command,
	    environment_command_pid(), &run->signals)) {
	case CHILD_STARTED:
		locks_grow(&run->locks);
		info("%s: %s started, pid %d", opt->names.joined,
		    run->owner.command, (int)run->child.tree.pid);
		return true;
	case CHILD_NO_FORK:
		warn("%s: '%s' was not run: fork: %s", opt->names.joined,
		    opt->command[0], strerror(errno));
		break;
	case CHILD_NO_EXEC:
		*how = exit_with(exec_report(opt, errno));
		break;
	case CHILD_ELSEWHERE:
		*how = exit_with(elsewhere(run));
		break;
	}
	return false;
}

/* Returns the end of the run for the history. */
static struct record
record_of(const struct run *run, struct exit_how how)
{
	const struct child *c = &run->child;

	if (c->started)
		how = c->how;
	return (struct record){
		.ran_ms = c->started ? clock_now_ms() - run->acquired_ms : -1,
		.ending = !c->started ? ENDED_NOT_RUN :
		    run->lost         ? ENDED_LOST :
		    run->timed_out    ? ENDED_MAX_RUN :
		    how.signalled     ? ENDED_KILLED :
					ENDED_EXITED,
		.status = how.signalled ? -1 : how.number,
		.signal = how.signalled ? how.number : -1
	};
}

/* Reports what the release reveals about the run.  Returns how to end. */
static struct exit_how
released(struct run *run, enum lock_release_result result, struct exit_how how)
{
	const struct lock *l = locks_about(&run->locks);
	char text[DURATION_TEXT], why[LOCK_WHY];

	switch (result) {
	case RELEASE_DONE:
		break;
	case RELEASE_NOT_OURS:
		if (run->lost || !run->child.started)
			break;
		run->lost = true;
		report_loss(l, 0, why, sizeof(why));
		warn("%s: lock lost before '%s' ended: %s", lock_name(l),
		    run->owner.command, why);
		return run->opt->warn_on_loss ? how : exit_with(EXIT_LOST);
	case RELEASE_UNANSWERED:
		if (run->lost)
			break;
		warn("%s: release not confirmed: %s; the lock ends with its "
		     "lease, in at most %s%s",
		    lock_name(l), lock_why(l, why),
		    duration_format(lock_longest_ms(l), text),
		    run->child.started && exit_is_success(how) ?
			"; --once-per may forget this success" :
			"");
		break;
	}
	if (run->lost && run->opt->warn_on_loss)
		warn("%s: '%s' has ended; the lock was lost while it ran",
		    run->opt->names.joined, run->owner.command);
	return how;
}

/*
 * Releases all locks, or leaves them in cooldown for the rest of --min-hold.
 * Returns how to end: so, unless the locks turn out to have been lost.
 */
static struct exit_how
release(struct run *run, struct exit_how how)
{
	int64_t cooldown_ms = 0, now = clock_now_ms();
	const struct record end = record_of(run, how);
	char text[DURATION_TEXT];
	enum lock_release_result result;

	if (run->child.started && !run->lost)
		cooldown_ms = run->voted_ms + run->opt->min_hold_ms - now;
	if (cooldown_ms < 0)
		cooldown_ms = 0;
	result = locks_release(&run->locks, cooldown_ms, &end);
	if (result == RELEASE_DONE && cooldown_ms > 0)
		info("%s: in cooldown for another %s (--min-hold)",
		    run->opt->names.joined, duration_format(cooldown_ms, text));
	else if (result == RELEASE_DONE)
		for (int i = 0; i < locks_count(&run->locks); i++)
			report_released(locks_at(&run->locks, i),
			    clock_now_ms() - now);
	return released(run, result, how);
}

/* Acquires, starts, supervises, releases.  Returns how to end. */
static struct exit_how
run_locked(struct run *run)
{
	struct exit_how how;

	do {
		if (!acquire(run, &how))
			return how;
	} while (!ready(run));
	if (start(run, &how))
		how = supervise(run);
	how = release(run, how);
	if (run->child.stopping)
		terminal_restore(&run->terminal);
	return how;
}

struct exit_how
run_job(const struct options *opt, const struct signals *signals)
{
	static struct run run; /* not on the stack, which may be small */
	struct exit_how how;

	init(&run, opt, signals);
	how = exit_with(prepare(&run));
	if (exit_is_success(how))
		how = run_locked(&run);
	finish(&run);
	return how;
}
