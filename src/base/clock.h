/* The clock that leases are measured on. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

#define CLOCK_NEVER INT64_MAX /* a moment that does not come */

/* Milliseconds on CLOCK_BOOTTIME, which goes on while the machine sleeps. */
int64_t clock_now_ms(void);

/* The same clock in microseconds, for how long something took. */
int64_t clock_now_us(void);

/*
 * Microseconds since 1970 by this host's wall clock; for fences, and to compare
 * it with a server's.
 */
int64_t clock_wall_us(void);

/* From ms to twice that, so that several clients do not act as one. */
static inline int64_t
clock_jitter(int64_t ms)
{
	return ms + clock_wall_us() % (ms + 1);
}

#endif
