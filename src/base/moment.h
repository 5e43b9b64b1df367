/* Moments of the past, as journalctl(1) reads them. */
#ifndef MOMENT_H
#define MOMENT_H

#include <stdint.h>

enum moment_kind { MOMENT_NONE, MOMENT_AGO, MOMENT_AT };

struct moment {
	enum moment_kind kind;
	int64_t ms; /* a duration before now, or a time since 1970 */
};

/*
 * Reads "2d" (that long ago), "2026-11-01", "2026-11-01 02:00", "02:00" (of
 * today), each time with or without seconds, "today" and "yesterday" (their
 * midnight), in local time; now_ms is the time since 1970.  A time that a
 * change of clocks skips is moved by that change.  Returns 0, or -1 with errno
 * ERANGE for a duration that is too long, and EINVAL for anything else; *m is
 * then untouched.
 */
int moment_parse(const char *text, int64_t now_ms, struct moment *m);

/* Returns the moment in ms since 1970, like now_ms.  Not for MOMENT_NONE. */
int64_t moment_ms(const struct moment *m, int64_t now_ms);

#endif
