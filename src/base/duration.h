/* Durations as people write and read them. */
#ifndef DURATION_H
#define DURATION_H

#include <stdint.h>

#define DURATION_MAX_MS INT64_C(100000000000000) /* about 3000 years */
#define DURATION_TEXT   24 /* room for duration_format() */

/*
 * Reads "90", "1.5h", "500ms", "1h30m"; a bare number is seconds.  Several
 * units stand in the order d, h, m, s, ms, and only the last may have a
 * fraction.  Parts of a millisecond are rounded up.  Returns 0, or -1 with errno
 * ERANGE if that is more than DURATION_MAX_MS, and EINVAL if text is anything
 * else; *ms is then untouched.
 */
int duration_parse(const char *text, int64_t *ms);

/*
 * Writes ms (negative counts as 0) in at most two units, the finer one
 * dropped below its worth: "350ms", "27s", "3m12s", "5h2m", "2d4h".
 * Returns buf, for use in an argument list.
 */
const char *duration_format(int64_t ms, char buf[DURATION_TEXT]);

#endif
