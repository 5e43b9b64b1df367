/*
 * The signal mask, by the system call.  The functions of libc leave out the
 * signals that its threads use: 32 and 33 in glibc, 32 to 34 in musl.
 */
#ifndef SIGMASK_H
#define SIGMASK_H

#include <signal.h>

/* Return a mask of all signals, and of signo alone. */
sigset_t sigmask_all(void);
sigset_t sigmask_only(int signo);

/*
 * Like sigprocmask(2), for the calling thread.  Only the kernel's part of *old
 * is filled, so only sigmask_set() may take it.  Async-signal-safe.
 */
int sigmask_set(int how, const sigset_t *set, sigset_t *old);

#endif
