#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "run/forward.h"

/*
 * Whether the SIGCONT that continued us comes too late: COMMAND got it as well,
 * and may have stopped again since.
 */
static bool
late_continue(struct run *run)
{
	bool late;

	child_reap(&run->child);
	late = run->resumed &&
	    (run->child.continued || run->child.stopped_by != 0);
	run->resumed = false;
	return late;
}

/*
 * Stops us at ^Z before COMMAND exists.  Returns after SIGCONT; a grant may
 * have run out by then, which the clock decides as always.
 */
static void
stop_waiting(struct run *run, int signo)
{
	waiting_pause(&run->waiting);
	signals_stop_ourselves(signo);
}

/* Returns whether the signal concerns COMMAND or the wait. */
static bool
concerns_job(struct run *run, const struct signalfd_siginfo *si)
{
	switch ((int)si->ssi_signo) {
	case SIGCHLD:
		child_reap(&run->child);
		return false;
	case SIGCONT:
		return !late_continue(run) || signals_from_hangup(si);
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		/* Once COMMAND runs, we stop only when COMMAND does. */
		if (!run->child.started)
			stop_waiting(run, (int)si->ssi_signo);
		return false;
	case SIGPIPE:
		return si->ssi_pid != (uint32_t)getpid(); /* a write of ours */
	default:
		return true;
	}
}

void
forward_signals(struct run *run)
{
	struct signalfd_siginfo si;

	while (signals_next(&run->signals, &si)) {
		int signo = (int)si.ssi_signo;

		if (!concerns_job(run, &si))
			continue;
		if (run->child.started) {
			if (!run->child.gone && child_signal(&run->child, &si))
				info("%s: signal %d (%s) passed on to %s",
				    run->opt->names.joined, signo,
				    strsignal(signo), run->owner.command);
		} else if (signals_terminates(signo) && run->cancelled == 0) {
			run->cancelled = signo;
			locks_cancel(&run->locks);
		}
	}
}

void
forward_cb(void *run, short revents)
{
	(void)revents;
	forward_signals(run);
}
