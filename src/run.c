/*
 * lock.c knows no process and child.c no lock.  Here they meet, in run_step():
 * what follows for the one from the state of the other.
 */
#include "clock.h"
#include "exitcode.h"
#include "log.h"
#include "report.h"
#include "run.h"

#define GUARD_AFTER_MS 2 /* promised: from the fifth millisecond on */

static int64_t
earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t
run_margin_ms(const struct run *run)
{
	int64_t margin = run->opt.ttl_ms / 50 + 5;

	return margin < 100 ? margin : 100;
}

/* From SIGTERM to SIGKILL when the lease is running out. */
static int64_t
short_kill_after_ms(const struct run *run)
{
	int64_t third = run->opt.ttl_ms / 3;

	return run->opt.kill_after_ms < third ? run->opt.kill_after_ms : third;
}

/* The guard acts at the same moment as we. */
static int64_t
guard_kill_ms(const struct run *run)
{
	return run->opt.warn_on_loss ? CLOCK_NEVER :
				       run->deadline_ms - run_margin_ms(run);
}

static void
lose(struct run *run, int64_t kill_ms)
{
	char text[OWNER_WHO + LOCK_WHY];

	run->lost = true;
	report_loss(run->locks.about, text, sizeof(text));
	if (run->opt.warn_on_loss) {
		warn("%s: lock lost: %s; %s runs on without it (--on-loss "
		     "warn)",
		    run->locks.about->name, text, run->owner.command);
		return;
	}
	warn("%s: lock lost: %s; stopping %s", run->locks.about->name, text,
	    run->owner.command);
	child_stop(&run->child, kill_ms);
}

/* What follows for COMMAND from the state of the lease. */
static int64_t
lease_step(struct run *run, int64_t now)
{
	int64_t deadline = locks_deadline_ms(&run->locks);
	int64_t kill_ms, term_ms;

	if (deadline > now && deadline != run->deadline_ms) {
		run->deadline_ms = deadline;
		guard_tell(&run->guard, guard_kill_ms(run));
	}
	kill_ms = run->deadline_ms - run_margin_ms(run);
	term_ms = kill_ms - short_kill_after_ms(run);
	if (run->lost) {
		/* Stopping.  What is left of the lease is the limit. */
		return CLOCK_NEVER;
	}
	if (now >= deadline) {
		/* It ran out while we were away, or servers say "not yours". */
		lose(run, earlier(kill_ms, now + run->opt.kill_after_ms));
		return now;
	}
	if (now >= term_ms && !run->opt.warn_on_loss) {
		lose(run, kill_ms);
		return now;
	}
	return run->opt.warn_on_loss ? deadline : term_ms;
}

static int64_t
at_most_step(struct run *run, int64_t now)
{
	int64_t end_ms = run->acquired_ms + run->opt.at_most_ms;
	char text[DURATION_TEXT];

	if (run->opt.at_most_ms == 0 || run->timed_out)
		return CLOCK_NEVER;
	if (now < end_ms)
		return end_ms;
	run->timed_out = true;
	if (!run->lost)
		warn("%s: %s has run for %s (--at-most); stopping it",
		    run->opt.name, run->owner.command,
		    duration_format(run->opt.at_most_ms, text));
	child_stop(&run->child, now + run->opt.kill_after_ms);
	return now;
}

static int64_t
guard_step(struct run *run, int64_t now)
{
	if (run->guard.pid != 0 ? !run->guard.lost : now < run->guard_ms)
		return run->guard.pid != 0 ? CLOCK_NEVER : run->guard_ms;
	if (run->guard.lost)
		info("%s: the guard is gone; starting another", run->opt.name);
	if (guard_start(&run->guard, &run->child, guard_kill_ms(run)) == -1)
		run->guard_ms = now + GUARD_AFTER_MS;
	return now;
}

/* COMMAND has stopped on a terminal: so do we, until the shell's fg. */
static void
stop_step(struct run *run)
{
	int signo = run->child.stopped_by;
	char text[DURATION_TEXT];

	run->child.stopped_by = 0;
	if (!run->child.terminal || run->child.stopping)
		return;
	warn("%s: stopped; the lock is lost unless %s goes on within %s",
	    run->opt.name, run->owner.command,
	    duration_format(
		run->deadline_ms - run_margin_ms(run) - clock_now_ms(), text));
	signals_stop_ourselves(signo);
}

/* Answers have been read; now they and the clock are judged. */
static int64_t
run_step(struct run *run)
{
	int64_t wake, now;

	if (run->child.stopped_by != 0)
		stop_step(run);
	now = clock_now_ms();
	wake = locks_step(&run->locks);
	wake = earlier(wake, lease_step(run, now));
	wake = earlier(wake, at_most_step(run, now));
	wake = earlier(wake, child_step(&run->child));
	if (!run->child.gone)
		wake = earlier(wake, guard_step(run, now));
	return wake;
}

int
run_to_end(struct run *run)
{
	const struct child *c = &run->child;
	int64_t wake;

	run->guard_ms = clock_now_ms() + GUARD_AFTER_MS;
	while (wake = run_step(run), !c->gone)
		loop_turn(&run->loop, wake);
	guard_end(&run->guard);

	/* It may have been the guard that ended COMMAND while we were away. */
	if (!run->lost && !run->opt.warn_on_loss &&
	    clock_now_ms() >= run->deadline_ms - run_margin_ms(run))
		lose(run, 0);
	if (run->lost && !run->opt.warn_on_loss)
		return EXIT_LOST;
	if (run->timed_out)
		return EXIT_AT_MOST;
	return c->code == CLD_EXITED ? c->status : -c->status;
}
