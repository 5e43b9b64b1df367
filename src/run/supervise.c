/*
 * lock.c knows no process, and child.c no lock. step() derives from the state
 * of the lock and from the clock what must happen to COMMAND.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/exit.h"
#include "base/log.h"
#include "process/streams.h"
#include "protocol/lease.h"
#include "run/report.h"
#include "run/supervise.h"

#define GUARD_AFTER_MS 2    /* the manual promises a guard after 5 ms */
#define GUARD_PAUSE_MS 4000 /* between attempts to start a guard, at most */
#define OUTAGE_MS      1000 /* an outage this long is worth a message */

int64_t
supervise_margin_ms(const struct run *run)
{
	return lease_margin_ms(run->opt->settings.ttl_ms);
}

/* Returns the time from SIGTERM to SIGKILL when the lease is running out. */
static int64_t
short_kill_after_ms(const struct run *run)
{
	int64_t kill_after_ms = run->opt->settings.kill_after_ms;
	int64_t grant_ms = locks_grant_ms(&run->locks);

	return grant_ms != 0 ?
	    lease_grant_kill_after_ms(grant_ms, run->opt->settings.ttl_ms,
		kill_after_ms) :
	    lease_kill_after_ms(run->opt->settings.ttl_ms, kill_after_ms);
}

int64_t
supervise_stop_ms(const struct run *run)
{
	return run->deadline_ms - supervise_margin_ms(run) -
	    (run->opt->warn_on_loss ? 0 : short_kill_after_ms(run));
}

/* The guard kills at the same moment as we do. */
static int64_t
guard_kill_ms(const struct run *run)
{
	return run->opt->warn_on_loss ?
	    CLOCK_NEVER :
	    run->deadline_ms - supervise_margin_ms(run);
}

/* An outage shorter than this is not worth a message. */
static int64_t
settle_ms(const struct run *run)
{
	return clock_min_ms(OUTAGE_MS,
	    lease_retry_ms(run->opt->settings.ttl_ms));
}

/* Stops COMMAND.  The processes that outlive that are worth another message. */
static void
stop(struct run *run, int64_t kill_ms)
{
	child_stop(&run->child, kill_ms);
	run->survivors_reported = false;
}

static void
lose(struct run *run, int64_t kill_ms)
{
	const struct lock *l = locks_about(&run->locks);
	char text[OWNER_WHO + LOCK_WHY];
	bool paused = run->paused_ms >= settle_ms(run);

	run->lost = true;
	report_loss(l, paused ? run->paused_ms : 0, text, sizeof(text));
	if (run->opt->warn_on_loss) {
		warn("%s: lock lost: %s; '%s' runs on without it (--on-loss "
		     "warn)",
		    lock_name(l), text, run->owner.command);
		return;
	}
	warn("%s: lock lost: %s; stopping '%s'", lock_name(l), text,
	    run->owner.command);
	stop(run, kill_ms);
}

/* Stops COMMAND when the lease runs out.  Returns when to check again. */
static int64_t
lease_step(struct run *run, int64_t now)
{
	int64_t deadline = locks_deadline_ms(&run->locks);
	int64_t kill_ms, term_ms;

	if (deadline > now && deadline != run->deadline_ms) {
		run->deadline_ms = deadline;
		run->paused_ms = 0;
		guard_set_deadline(&run->guard, guard_kill_ms(run));
	}
	kill_ms = run->deadline_ms - supervise_margin_ms(run);
	term_ms = kill_ms - short_kill_after_ms(run);
	if (run->lost) {
		/* child_stop() has set the limit: the rest of the lease. */
		return CLOCK_NEVER;
	}
	if (now >= deadline) {
		/*
		 * The lease ran out while we did not run, or servers refused.
		 */
		lose(run,
		    clock_min_ms(kill_ms,
			now + run->opt->settings.kill_after_ms));
		return now;
	}
	if (now >= term_ms && !run->opt->warn_on_loss) {
		lose(run, kill_ms);
		return now;
	}
	return run->opt->warn_on_loss ? deadline : term_ms;
}

/*
 * While no majority renews the lock, an operator may still repair that.
 * Reports each outage once, unless it is over too soon to be read.
 */
static int64_t
outage_step(struct run *run, int64_t now)
{
	const struct lock *l = locks_failing(&run->locks);
	int64_t report_ms, left_ms;
	char why[LOCK_WHY], left[DURATION_TEXT];

	if (run->lost || run->child.stopping)
		return CLOCK_NEVER;
	if (l == NULL) {
		if (run->outage_reported)
			notice("%s: renewed again after %s; '%s' runs on",
			    run->opt->names.joined,
			    duration_format(now - run->outage_ms, left),
			    run->owner.command);
		run->outage_reported = false;
		run->outage_ms = 0;
		return CLOCK_NEVER;
	}
	if (run->outage_ms == 0)
		run->outage_ms = now;
	report_ms = run->outage_ms + settle_ms(run);
	if (run->outage_reported || now < report_ms)
		return run->outage_reported ? CLOCK_NEVER : report_ms;
	run->outage_reported = true;
	left_ms = run->deadline_ms - now;
	if (!run->opt->warn_on_loss)
		left_ms -= supervise_margin_ms(run) + short_kill_after_ms(run);
	lock_why(l, why);
	duration_format(left_ms, left);
	if (run->opt->warn_on_loss)
		warn(
		    "%s: cannot renew the lock: %s; '%s' runs on without it in "
		    "%s unless a renewal succeeds",
		    lock_name(l), why, run->owner.command, left);
	else
		warn(
		    "%s: cannot renew the lock: %s; stopping '%s' in %s unless "
		    "a renewal succeeds",
		    lock_name(l), why, run->owner.command, left);
	return CLOCK_NEVER;
}

static int64_t
max_run_step(struct run *run, int64_t now)
{
	int64_t end_ms;
	char text[DURATION_TEXT];

	if (run->opt->max_run_ms == CLOCK_NEVER || run->timed_out)
		return CLOCK_NEVER;
	end_ms = run->acquired_ms + run->opt->max_run_ms;
	if (now < end_ms)
		return end_ms;
	run->timed_out = true;
	if (!run->lost)
		warn("%s: '%s' has run for %s (--max-run); stopping it",
		    run->opt->names.joined, run->owner.command,
		    duration_format(run->opt->max_run_ms, text));
	stop(run, now + run->opt->settings.kill_after_ms);
	return now;
}

/*
 * Closes our copies of COMMAND's streams, so that COMMAND holds the only end of
 * a pipe.  That costs a few microseconds on the CPU where COMMAND has just
 * started, so it happens a little later.
 */
static void
drop_streams(struct run *run)
{
	if (run->streams_dropped)
		return;
	run->streams_dropped = true;
	if (run->child.gone)
		streams_close();
	else
		streams_drop();
}

/* Starts a guard.  Replaces guards that die soon at growing intervals. */
static int64_t
guard_step(struct run *run, int64_t now)
{
	struct guard *g = &run->guard;

	if (g->pid != 0)
		return CLOCK_NEVER;
	if (now < run->starts.next_ms)
		return run->starts.next_ms;
	drop_streams(run);
	if (g->lost)
		info("%s: the guard has died; starting another",
		    run->opt->names.joined);
	if (now - run->starts.next_ms > GUARD_PAUSE_MS)
		run->starts.pause_ms = 0;
	run->starts.pause_ms =
	    clock_min_ms(2 * run->starts.pause_ms + GUARD_AFTER_MS,
		GUARD_PAUSE_MS);
	run->starts.next_ms = now + run->starts.pause_ms;
	if (guard_start(g, &run->child.tree, guard_kill_ms(run)) == 0)
		return CLOCK_NEVER;
	if (!run->starts.reported)
		warn("%s: cannot start the guard: %s: %s; until a retry "
		     "succeeds, processes of '%s' run on if redlock-run is "
		     "killed",
		    run->opt->names.joined, g->call, strerror(errno),
		    run->owner.command);
	run->starts.reported = true;
	return run->starts.next_ms;
}

/* Reports once how COMMAND ended. */
static void
report_end(struct run *run)
{
	struct child *c = &run->child;
	char ran[DURATION_TEXT];

	if (c->exited && !run->exit_reported) {
		run->exit_reported = true;
		duration_format(c->exited_ms - run->acquired_ms, ran);
		if (c->wait_error != 0)
			warn("%s: cannot find out how '%s' ended: waitid: %s",
			    run->opt->names.joined, run->owner.command,
			    strerror(c->wait_error));
		else if (!c->how.signalled)
			info("%s: '%s' ended with status %d after %s",
			    run->opt->names.joined, run->owner.command,
			    c->how.number, ran);
		else
			info("%s: '%s' was killed by signal %d (%s) after %s",
			    run->opt->names.joined, run->owner.command,
			    c->how.number, strsignal(c->how.number), ran);
	}
}

/* Reports which of COMMAND's processes a stop does not end, and why. */
static void
report_unkilled(struct run *run)
{
	struct tree *t = &run->child.tree;
	const char *name = run->opt->names.joined;
	const char *held = run->lost ? "lock lost, but" : "still held:";
	char rest[512], until[64] = "";
	int denied = tree_survivors(t, true, rest, sizeof(rest));
	int n =
	    denied > 0 ? denied : tree_survivors(t, false, rest, sizeof(rest));

	if (n == 0 && t->proc)
		return; /* they have ended meanwhile */
	if (n == 0)
		snprintf(rest, sizeof(rest), "processes of '%s'",
		    run->owner.command);
	run->survivors_reported = true;
	if (!run->lost)
		snprintf(until, sizeof(until), "; the lock is released when %s",
		    n == 1 ? "it ends" : "they end");
	if (denied > 0)
		warn("%s: %s %s may not be signalled and run%s on%s", name,
		    held, rest, n == 1 ? "s" : "", until);
	else
		warn("%s: %s SIGKILL does not end %s%s", name, held, rest,
		    until);
}

/* Reports once, and again after a stop, which of COMMAND's processes live on. */
static void
report_survivors(struct run *run)
{
	struct child *c = &run->child;
	char rest[512];

	if (!c->lingers || run->survivors_reported)
		return;
	if (c->stopping) {
		report_unkilled(run);
		return;
	}
	run->survivors_reported = true;
	tree_survivors(&c->tree, false, rest, sizeof(rest));
	warn("%s: %s '%s' has ended, but its processes live on: %s%s (use -o "
	     "not to wait for them)",
	    run->opt->names.joined,
	    run->lost ? "lock lost;" : "still held:", run->owner.command, rest,
	    run->lost ? "" : "; the lock is released when they end");
}

/*
 * After COMMAND has stopped at a terminal: stops us too, until the shell's fg.
 * Only the guard can end COMMAND meanwhile, so there must be one.
 */
static void
stop_step(struct run *run)
{
	int signo = run->child.stopped_by;
	int64_t stopped_ms;
	char text[DURATION_TEXT];

	run->child.stopped_by = 0;
	if (!run->child.terminal || run->child.stopping)
		return;
	warn("%s: stopped; the lock is lost unless '%s' continues within %s",
	    run->opt->names.joined, run->owner.command,
	    duration_format(run->deadline_ms - supervise_margin_ms(run) -
		    clock_now_ms(),
		text));
	run->child.continued = false;
	run->starts.next_ms = clock_now_ms();
	guard_step(run, run->starts.next_ms);
	stopped_ms = clock_now_ms();
	signals_stop_ourselves(signo);
	run->paused_ms += clock_now_ms() - stopped_ms;
	run->resumed = true;
}

/*
 * Runs after each turn of the loop.  Returns the time of the next turn at the
 * latest.
 */
static int64_t
step(struct run *run)
{
	int64_t wake, now;

	if (run->child.stopped_by != 0)
		stop_step(run);
	now = run->turn_ms = clock_now_ms();
	wake = locks_step(&run->locks);
	wake = clock_min_ms(wake, lease_step(run, now));
	wake = clock_min_ms(wake, outage_step(run, now));
	if (!run->lost && !run->child.stopping)
		wake = clock_min_ms(wake,
		    degraded_step(&run->degraded, &run->locks, now));
	wake = clock_min_ms(wake, max_run_step(run, now));
	wake = clock_min_ms(wake, child_step(&run->child));
	report_end(run);
	report_survivors(run);
	if (!run->child.gone)
		wake = clock_min_ms(wake, guard_step(run, now));
	return wake;
}

/* Adds the delay of a turn that was to end at wake. */
static void
add_pause(struct run *run, int64_t wake)
{
	int64_t now = clock_now_ms();
	int64_t due_ms = wake > run->turn_ms ? wake : run->turn_ms;

	if (now > due_ms)
		run->paused_ms += now - due_ms;
}

struct exit_how
supervise(struct run *run)
{
	const struct child *c = &run->child;
	int64_t wake;

	run->starts.next_ms = clock_now_ms() + GUARD_AFTER_MS;
	degraded_init(&run->degraded, run->opt->names.joined,
	    run->acquired_ms + run->opt->settings.node_timeout_ms,
	    settle_ms(run));
	while (wake = step(run), !c->gone) {
		loop_turn(&run->loop, wake);
		add_pause(run, wake);
	}
	drop_streams(run);
	guard_dismiss(&run->guard);

	/* The guard may have killed COMMAND while we did not run. */
	if (!run->lost && !run->opt->warn_on_loss &&
	    clock_now_ms() >= run->deadline_ms - supervise_margin_ms(run))
		lose(run, 0);
	if (run->lost && !run->opt->warn_on_loss)
		return exit_with(EXIT_LOST);
	if (run->timed_out)
		return exit_with(EXIT_MAX_RUN);
	return c->how;
}
