/*
 * All signals are blocked from the start and read from a signalfd in the loop,
 * so none arrives between two steps.  A signal that was ignored when we started
 * (nohup) stays ignored and out of the mask, because the kernel queues a
 * blocked signal even if it is ignored.
 */
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/sigmask.h"
#include "process/signals.h"

void
signals_init(struct signals *s)
{
	const sigset_t set = sigmask_only(SIGPIPE);

	*s = (struct signals){ .fd = -1 };
	sigmask_set(SIG_BLOCK, &set, &s->inherited);
}

int
signals_take(struct signals *s)
{
	struct sigaction sa;
	sigset_t set = sigmask_all();

	for (int signo = 1; signo <= SIGRTMAX; signo++) {
		if (sigaction(signo, NULL, &sa) == -1 ||
		    (sa.sa_flags & SA_SIGINFO) || sa.sa_handler != SIG_IGN)
			continue;
		if (signo != SIGCHLD) {
			sigdelset(&set, signo);
			continue;
		}
		/*
		 * While SIGCHLD is ignored, the kernel reaps COMMAND before we
		 * can.
		 */
		s->chld_ignored = true;
		sa.sa_handler = SIG_DFL;
		sigaction(SIGCHLD, &sa, NULL);
	}
	if (sigmask_set(SIG_SETMASK, &set, NULL) == -1)
		return -1;
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->fd == -1 ? -1 : 0;
}

void
signals_restore(const struct signals *s)
{
	if (s->chld_ignored)
		signal(SIGCHLD, SIG_IGN);
	sigmask_set(SIG_SETMASK, &s->inherited, NULL);
}

void
signals_discard_pipe(void)
{
	const struct timespec now = { 0 };
	const sigset_t set = sigmask_only(SIGPIPE);

	while (sigtimedwait(&set, NULL, &now) == SIGPIPE)
		continue;
}

bool
signals_next(const struct signals *s, struct signalfd_siginfo *si)
{
	return read(s->fd, si, sizeof(*si)) == (ssize_t)sizeof(*si);
}

bool
signals_terminates(int signo)
{
	switch (signo) {
	case SIGCHLD:
	case SIGCONT:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
	case SIGURG:
	case SIGWINCH:
		return false;
	default:
		return true;
	}
}

/*
 * The kernel sends a terminal's signals to the foreground group.  It sends
 * SIGHUP to the session's leader, and to the group only once the leader is
 * gone.
 */
bool
signals_from_keyboard(const struct signalfd_siginfo *si)
{
	if (si->ssi_code != SI_KERNEL)
		return false;
	switch ((int)si->ssi_signo) {
	case SIGINT:
	case SIGQUIT:
	case SIGWINCH:
		return true;
	case SIGHUP:
	case SIGCONT:
		return !signals_from_hangup(si);
	default:
		return false;
	}
}

bool
signals_from_hangup(const struct signalfd_siginfo *si)
{
	int signo = (int)si->ssi_signo;

	return si->ssi_code == SI_KERNEL && getsid(0) == getpid() &&
	    (signo == SIGHUP || signo == SIGCONT);
}

void
signals_stop_ourselves(int signo)
{
	const sigset_t set = sigmask_only(signo);
	sigset_t old;

	kill(getpid(), signo);
	sigmask_set(SIG_UNBLOCK, &set, &old);
	sigmask_set(SIG_SETMASK, &old, NULL);
}
