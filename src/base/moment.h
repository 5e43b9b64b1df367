/* Moments of the past, as journalctl(1) reads them. */
#ifndef MOMENT_H
#define MOMENT_H

#include <stdint.h>

enum moment_kind { MOMENT_NONE, MOMENT_AGO, MOMENT_AT };

/*
 * When the clocks are set back, a local time comes twice; when they are set
 * forward, a time between the two never comes, and stands for itself by the
 * rules before and after the change.  A side chooses one of the two moments.
 */
enum moment_side { MOMENT_EARLIER, MOMENT_LATER };

struct moment {
	enum moment_kind kind;
	int64_t ms; /* a duration before now, or a time since 1970 */
};

/*
 * Reads "2d", "-2d" or "2d ago"; "2026-11-01", "2026-11-01 02:00", "02:00" (of
 * today), each time with or without seconds and their fraction, and "T" in place
 * of the blank; "today", "yesterday" and "tomorrow" (their midnight), in local
 * time; a date with a time in "Z", " UTC", "+01:00" or "+0100"; "@1793494800"
 * (seconds since 1970) and "now".  now_ms is the time since 1970.  Returns 0, or
 * -1 with errno ERANGE for a duration that is too long, EDOM for a bare number of eight
 * digits or more, and EINVAL for anything else; *m is then untouched.
 */
int moment_parse(const char *text, int64_t now_ms, enum moment_side,
    struct moment *m);

/* Returns the moment in ms since 1970, like now_ms.  Not for MOMENT_NONE. */
int64_t moment_ms(const struct moment *m, int64_t now_ms);

/*
 * Writes "2026-11-01 02:00:00", in local time.  Returns buf, which is empty if the
 * calendar has no such moment.
 */
#define MOMENT_TEXT 64
char *moment_format(int64_t ms, char buf[MOMENT_TEXT]);

/*
 * Returns the time zone that TZ names, if this host has no data about it, so that
 * libc takes UTC for local time; else NULL.  Owned by the environment.
 */
const char *moment_unknown_zone(void);

#endif
