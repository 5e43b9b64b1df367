/* The clock that leases are measured on, and durations as people write them. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

#define CLOCK_NEVER     INT64_MAX /* a moment that does not come */
#define DURATION_MAX_MS INT64_C(100000000000000) /* about 3000 years */
#define DURATION_TEXT   24 /* room for duration_format() */

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

/*
 * Reads "90", "1.5h", "500ms"; a bare number is seconds; what is left below
 * a millisecond is rounded up.  Returns 0, or -1 if text is anything else or
 * more than DURATION_MAX_MS; *ms is then untouched.
 */
int duration_parse(const char *text, int64_t *ms);

/*
 * Writes ms (negative counts as 0) in at most two units, the finer one
 * dropped below its worth: "350ms", "27s", "3m12s", "5h2m", "2d4h".
 * Returns buf, for use in an argument list.
 */
const char *duration_format(int64_t ms, char buf[DURATION_TEXT]);

#endif
