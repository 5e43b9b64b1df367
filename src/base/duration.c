/*
 * Durations as people write and read them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/duration.h"

static const struct {
	const char *name;
	int64_t ms;
} units[] = {
	{ "d", 86400000 },
	{ "h", 3600000 },
	{ "m", 60000 },
	{ "s", 1000 },
	{ "ms", 1 },
};

#define UNITS (sizeof(units) / sizeof(units[0]))

/* A number with its fraction in billionths, rounded up. */
struct number {
	int64_t whole;
	int64_t billionths;
	bool has_fraction;
};

/*
 * Parsed by hand: strtod() accepts blanks, signs, hexadecimal, "inf" and "nan",
 * and depends on the locale.  Returns what follows the number, or NULL if there
 * is none.
 */
static const char *
take_number(const char *p, struct number *n)
{
	size_t len = number_prefix(p, strlen(p), &n->whole);
	int64_t scale = 1000000000;
	bool digits = len > 0, more = false;

	p += len;
	n->billionths = 0;
	n->has_fraction = *p == '.';
	if (n->has_fraction)
		for (p++; *p >= '0' && *p <= '9'; p++, digits = true) {
			scale /= 10;
			n->billionths += (*p - '0') * scale;
			more = more || (scale == 0 && *p != '0');
		}
	n->billionths += more;
	return digits ? p : NULL;
}

/* Returns the index of the unit that the len bytes name, or UNITS. */
static size_t
find_unit(const char *name, size_t len)
{
	size_t i = 0;

	while (i < UNITS &&
	    (strlen(units[i].name) != len ||
		strncmp(units[i].name, name, len) != 0))
		i++;
	return i;
}

/* Adds n units of unit_ms to *total.  Returns -1 if that is too much. */
static int
add(int64_t *total, const struct number *n, int64_t unit_ms)
{
	if (n->whole > DURATION_MAX_MS / unit_ms)
		return -1;
	*total += n->whole * unit_ms +
	    (n->billionths * unit_ms + 999999999) / 1000000000;
	return *total > DURATION_MAX_MS ? -1 : 0;
}

/* Each unit is finer than the one before; only the last has a fraction. */
int
duration_parse(const char *text, int64_t *ms)
{
	const char *p = text;
	struct number n = { 0 };
	size_t unit, next = 0, len;
	int64_t total = 0;

	do {
		errno = EINVAL;
		p = n.has_fraction ? NULL : take_number(p, &n);
		if (p == NULL)
			return -1;
		len = strspn(p, "dhms");
		if (*p == '\0' && next == 0)
			unit = find_unit("s", 1);
		else
			unit = find_unit(p, len);
		if (unit < next || unit == UNITS)
			return -1;
		if (add(&total, &n, units[unit].ms) == -1) {
			errno = ERANGE;
			return -1;
		}
		next = unit + 1;
		p += len;
	} while (*p != '\0');
	*ms = total;
	return 0;
}

const char *
duration_format(int64_t ms, char buf[DURATION_TEXT])
{
	int64_t s = ms / 1000;
	int64_t big, small;
	char big_unit, small_unit;

	if (ms < 1000) {
		snprintf(buf, DURATION_TEXT, "%" PRId64 "ms", ms < 0 ? 0 : ms);
		return buf;
	}
	if (s < 60) {
		snprintf(buf, DURATION_TEXT, "%" PRId64 "s", s);
		return buf;
	}
	if (s < 3600) {
		big = s / 60, small = s % 60;
		big_unit = 'm', small_unit = 's';
	} else if (s < 86400) {
		big = s / 3600, small = s % 3600 / 60;
		big_unit = 'h', small_unit = 'm';
	} else {
		big = s / 86400, small = s % 86400 / 3600;
		big_unit = 'd', small_unit = 'h';
	}
	if (small == 0)
		snprintf(buf, DURATION_TEXT, "%" PRId64 "%c", big, big_unit);
	else
		snprintf(buf, DURATION_TEXT, "%" PRId64 "%c%" PRId64 "%c", big,
		    big_unit, small, small_unit);
	return buf;
}
