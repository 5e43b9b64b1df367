/* Signals: block them, read them from a descriptor, restore them. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

struct signals {
	int fd;             /* signalfd, non-blocking */
	sigset_t inherited; /* our mask when we started */
	bool chld_ignored;  /* SIGCHLD was ignored when we started */
};

/*
 * Saves the signal mask and blocks SIGPIPE, so that a server that closes a
 * connection cannot kill us.
 */
void signals_init(struct signals *);

/*
 * Call after signals_init(): blocks every signal that is not ignored and opens
 * the descriptor that delivers them.  Returns 0, or -1 with errno.
 */
int signals_take(struct signals *);

/*
 * Restores the mask and dispositions with which we were started.
 * Async-signal-safe, for the child between vfork and exec.
 */
void signals_restore(const struct signals *);

/*
 * Call before signals_restore() in this process: discards a SIGPIPE that one of
 * our writes has left pending.
 */
void signals_discard_pipe(void);

/* Reads one signal that has arrived.  Returns false if there is none. */
bool signals_next(const struct signals *, struct signalfd_siginfo *);

/* Whether the default action of signo ends a process. */
bool signals_terminates(int signo);

/* Whether a terminal or its hang-up sent the signal to our whole group. */
bool signals_from_keyboard(const struct signalfd_siginfo *);

/*
 * Whether the kernel sent the signal to us alone, as the leader of a session
 * whose terminal is gone: SIGHUP and then SIGCONT.
 */
bool signals_from_hangup(const struct signalfd_siginfo *);

/* Takes the default action of a stop signal.  Returns after SIGCONT. */
void signals_stop_ourselves(int signo);

#endif
