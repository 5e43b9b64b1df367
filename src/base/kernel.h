/*
 * System calls without libc, in which libraries of LD_PRELOAD replace them:
 * that of faketime(1) the clocks, timers and pauses, that of fakeroot(1) stat(2),
 * which ends the process where its descriptors are closed.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <sys/timerfd.h>
#include <time.h>

/* Returns 0, or -1 with errno, as clock_gettime(2) does. */
int kernel_clock_gettime(clockid_t, struct timespec *);

/* Returns 0, or -1 with errno, as timerfd_settime(2) does. */
int kernel_timerfd_settime(int fd, int flags, const struct itimerspec *);

/* Sleeps for less than a second, or until a signal arrives. */
void kernel_pause_ms(int ms);

/* Returns how many links the file has, or 0 if that cannot be told. */
unsigned int kernel_links(const char *path);

#endif
