/*
 * For LD_PRELOAD: a timer on the wall clock is the FIFO named by CLOCK_FIFO, so
 * that a write to that FIFO sets the clock.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>

int
timerfd_create(int clock, int flags)
{
	int (*real)(int, int) = dlsym(RTLD_NEXT, "timerfd_create");

	if (clock != CLOCK_REALTIME)
		return real(clock, flags);
	return open(getenv("CLOCK_FIFO"), O_RDWR | O_NONBLOCK | O_CLOEXEC);
}
