/*
 * Every time in this program is in milliseconds of CLOCK_BOOTTIME, because
 * CLOCK_MONOTONIC stops while a machine is suspended, but the lease on the
 * server does not.  The kernel itself has that clock.  Only fence proposals and
 * the comparison with a server's clock read the wall clock, as libc has it.
 */
#include <time.h>

#include "base/clock.h"
#include "base/kernel.h"

/* A filter of system calls may not know this one, which libc does not make. */
static struct timespec
now(void)
{
	struct timespec ts;

	if (kernel_clock_gettime(CLOCK_BOOTTIME, &ts) == -1)
		clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts;
}

int64_t
clock_now_ms(void)
{
	struct timespec ts = now();

	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t
clock_now_us(void)
{
	struct timespec ts = now();

	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t
clock_wall_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}
