/* Moments of the past, as journalctl(1) reads them. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/moment.h"
#include "base/number.h"

#define DATE     "0000-00-00"
#define DAY_S    86400
#define MINUTE_S 60
#define OFFSET   "00:00"

/* What a text says of a moment, before the time zone decides. */
struct calendar {
	struct tm tm;
	int ms;
	bool zoned; /* the text has its own zone, */
	int east_s; /* so far ahead of UTC */
};

/* Whether text begins like the pattern, where 0 stands for any digit. */
static bool
begins(const char *text, const char *pattern)
{
	for (; *pattern != '\0'; text++, pattern++)
		if (*pattern == '0' ? *text < '0' || *text > '9' :
				      *text != *pattern)
			return false;
	return true;
}

static int
two_digits(const char *p)
{
	return (p[0] - '0') * 10 + (p[1] - '0');
}

/* Reads a day that the calendar has, from 1970 on. */
static int
read_date(const char *text, struct tm *tm)
{
	struct tm day = { .tm_year = two_digits(text) * 100 +
		    two_digits(text + 2) - 1900,
		.tm_mon = two_digits(text + 5) - 1,
		.tm_mday = two_digits(text + 8) };

	*tm = day;
	timegm(&day); /* moves a day that its month lacks into the next one */
	return tm->tm_year < 70 || day.tm_mon != tm->tm_mon ||
		day.tm_mday != tm->tm_mday ?
	    -1 :
	    0;
}

/* Reads the digits of a second's fraction; those below a ms do not count. */
static const char *
read_fraction(const char *p, int *ms)
{
	int scale = 100;

	if (*p < '0' || *p > '9')
		return NULL;
	for (*ms = 0; *p >= '0' && *p <= '9'; p++, scale /= 10)
		*ms += (*p - '0') * scale;
	return p;
}

/* Returns what follows the time of day, or NULL if there is none. */
static const char *
read_time(const char *p, struct calendar *c)
{
	if (!begins(p, "00:00"))
		return NULL;
	c->tm.tm_hour = two_digits(p);
	c->tm.tm_min = two_digits(p + 3);
	p += 5;
	if (begins(p, ":00")) {
		c->tm.tm_sec = two_digits(p + 1);
		p += 3;
		if (*p == '.')
			p = read_fraction(p + 1, &c->ms);
	}
	return c->tm.tm_hour > 23 || c->tm.tm_min > 59 || c->tm.tm_sec > 59 ?
	    NULL :
	    p;
}

/* Reads the rest of a text with a date and a time: nothing, or a zone. */
static int
read_zone(const char *p, struct calendar *c)
{
	const char *rest;
	int minutes;

	if (*p == '\0')
		return 0;
	c->zoned = true;
	if (strcmp(p, "Z") == 0 || strcmp(p, " UTC") == 0)
		return 0;
	if (*p != '+' && *p != '-')
		return -1;
	rest = p + (begins(p + 1, OFFSET) ? 4 : 3);
	if (!begins(p + 1, "00") || !begins(rest, "00") || rest[2] != '\0' ||
	    two_digits(rest) > 59)
		return -1;
	minutes = two_digits(p + 1) * 60 + two_digits(rest);
	c->east_s = (*p == '-' ? -minutes : minutes) * MINUTE_S;
	return 0;
}

/* Reads a day or a time of day into *c, which holds the last midnight. */
static int
read_calendar(const char *text, struct calendar *c)
{
	static const char *const days[] = { "yesterday", "today", "tomorrow" };
	const char *rest;

	for (int i = 0; i < 3; i++)
		if (strcmp(text, days[i]) == 0) {
			c->tm.tm_mday += i - 1;
			return 0;
		}
	if (!begins(text, DATE)) {
		rest = read_time(text, c);
		return rest != NULL && *rest == '\0' ? 0 : -1;
	}
	if (read_date(text, &c->tm) == -1)
		return -1;
	text += strlen(DATE);
	if (*text == '\0')
		return 0;
	rest = *text == ' ' || *text == 'T' ? read_time(text + 1, c) : NULL;
	return rest == NULL ? -1 : read_zone(rest, c);
}

/* Returns how far local time is ahead of UTC then, in seconds. */
static int64_t
east_at(int64_t when_s)
{
	time_t t = when_s;
	struct tm tm;

	return localtime_r(&t, &tm) == NULL ? 0 : tm.tm_gmtoff;
}

/*
 * Returns the seconds since 1970 of a local time, given as if it were UTC.  Not
 * by mktime(3), which chooses between the two moments of a change of clocks as its
 * last call left it.
 */
static int64_t
from_local(int64_t local_s, enum moment_side side)
{
	int64_t before = local_s - east_at(local_s - DAY_S);
	int64_t after = local_s - east_at(local_s + DAY_S);
	bool is_before = before + east_at(before) == local_s;
	bool is_after = after + east_at(after) == local_s;

	if (is_before != is_after)
		return is_before ? before : after;
	/* It comes twice, or never, or there is no change. */
	return (before < after) == (side == MOMENT_EARLIER) ? before : after;
}

static int64_t
calendar_ms(struct calendar *c, enum moment_side side)
{
	int64_t s = timegm(&c->tm);

	return (c->zoned ? s - c->east_s : from_local(s, side)) * 1000 + c->ms;
}

/* Reads "2d", "-2d" or "2d ago". */
static int
read_ago(const char *text, int64_t *ms)
{
	char copy[64];
	size_t len = strlen(text);
	bool minus = *text == '-',
	     ago = len > 4 && strcmp(text + len - 4, " ago") == 0;

	errno = EINVAL;
	if (len >= sizeof(copy) || (minus && ago))
		return -1;
	snprintf(copy, sizeof(copy), "%.*s", (int)(len - (ago ? 4 : 0)),
	    text + minus);
	if (!minus && !ago && begins(copy, "00000000") &&
	    copy[strspn(copy, "0123456789")] == '\0') {
		errno = EDOM; /* 20 million seconds are hardly meant */
		return -1;
	}
	return duration_parse(copy, ms);
}

int
moment_parse(const char *text, int64_t now_ms, enum moment_side side,
    struct moment *m)
{
	const int64_t longest_s = INT64_C(100000000000);
	time_t now = now_ms / 1000;
	struct calendar c = { 0 };
	int64_t n;

	if (read_ago(text, &n) == 0) {
		*m = (struct moment){ .kind = MOMENT_AGO, .ms = n };
		return 0;
	}
	if (errno != EINVAL)
		return -1;
	if (strcmp(text, "now") == 0) {
		*m = (struct moment){ .kind = MOMENT_AT, .ms = now_ms };
		return 0;
	}
	if (*text == '@' &&
	    number_parse(text + 1, strlen(text + 1), longest_s, &n) == 0) {
		*m = (struct moment){ .kind = MOMENT_AT, .ms = n * 1000 };
		return 0;
	}
	errno = EINVAL;
	if (localtime_r(&now, &c.tm) == NULL)
		return -1;
	c.tm.tm_hour = c.tm.tm_min = c.tm.tm_sec = 0;
	if (read_calendar(text, &c) == -1)
		return -1;
	*m = (struct moment){ .kind = MOMENT_AT, .ms = calendar_ms(&c, side) };
	return 0;
}

int64_t
moment_ms(const struct moment *m, int64_t now_ms)
{
	return m->kind == MOMENT_AGO ? now_ms - m->ms : m->ms;
}

char *
moment_format(int64_t ms, char buf[MOMENT_TEXT])
{
	time_t seconds = ms / 1000;
	struct tm tm;

	if (ms < 0 || localtime_r(&seconds, &tm) == NULL ||
	    strftime(buf, MOMENT_TEXT, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		buf[0] = '\0';
	return buf;
}

/* Whether TZ has its rules in itself, as "CET-1CEST", or names UTC. */
static bool
is_rule(const char *zone)
{
	static const char *const letters =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t len =
	    *zone == '<' ? strcspn(zone, ">") + 1 : strspn(zone, letters);

	if (strcmp(zone, "UTC") == 0 || strcmp(zone, "GMT") == 0)
		return true;
	return len >= 3 && strlen(zone) > len &&
	    strspn(zone + len, "+-0123456789") > 0;
}

static bool
is_zone_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	    access(path, R_OK) == 0;
}

const char *
moment_unknown_zone(void)
{
	static const char *const dirs[] = { "/usr/share/zoneinfo",
		"/share/zoneinfo", "/etc/zoneinfo" };
	const char *zone = getenv("TZ"), *dir = getenv("TZDIR");
	char path[4096];

	if (zone != NULL && *zone == ':')
		zone++;
	if (zone == NULL || *zone == '\0' || is_rule(zone))
		return NULL;
	if (*zone == '/')
		return is_zone_file(zone) ? NULL : zone;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s",
		    dir != NULL && i == 0 ? dir : dirs[i], zone);
		if (is_zone_file(path))
			return NULL;
	}
	return zone;
}
