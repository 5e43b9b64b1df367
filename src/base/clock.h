/* The clock that measures leases. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

#define CLOCK_NEVER INT64_MAX /* a time that never comes */

/* Milliseconds of CLOCK_BOOTTIME, which runs while the machine sleeps. */
int64_t clock_now_ms(void);

/* The same clock in microseconds, to measure how long something took. */
int64_t clock_now_us(void);

/*
 * Microseconds since 1970 by this host's wall clock; for fences, and to compare
 * it with a server's.
 */
int64_t clock_wall_us(void);

/* Returns the smaller of two times or durations. */
static inline int64_t
clock_min_ms(int64_t a_ms, int64_t b_ms)
{
	return a_ms < b_ms ? a_ms : b_ms;
}

/* A random time from ms to twice ms, so that clients do not act in step. */
static inline int64_t
clock_jitter(int64_t ms)
{
	return ms + clock_wall_us() % (ms + 1);
}

#endif
