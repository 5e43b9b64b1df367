/* Signals: taken from the kernel, read from a descriptor, given back. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

struct signals {
	int fd;             /* signalfd, non-blocking */
	sigset_t inherited; /* the mask that we were started with */
	bool chld_ignored;  /* SIGCHLD was ignored when we started */
};

/*
 * Remembers the mask that we were started with and blocks SIGPIPE: a server
 * that closes a connection must not kill us, whatever we do with it.
 */
void signals_init(struct signals *);

/*
 * After signals_init(): blocks every signal that is not ignored and opens the
 * descriptor on which they arrive.  Returns 0, or -1 with errno.
 */
int signals_take(struct signals *);

/*
 * Gives the calling process the mask and dispositions that we were started
 * with.  Async-signal-safe: for the child between vfork and exec.
 */
void signals_restore(const struct signals *);

/*
 * Before signals_restore() in this process itself: discards the SIGPIPE that
 * a write of ours has left pending.
 */
void signals_discard_pipe(void);

/* Reads one signal that has arrived; false if there is none. */
bool signals_next(const struct signals *, struct signalfd_siginfo *);

/* Whether the default action of signo ends a process. */
bool signals_terminates(int signo);

/* Whether a terminal or its hang-up sent this one to our whole group. */
bool signals_from_keyboard(const struct signalfd_siginfo *);

/* Takes the default action of a stop signal: returns after SIGCONT. */
void signals_stop_ourselves(int signo);

#endif
