/*
 * Durations as people write and read them.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/duration.h"

static int
unit_parse(const char *text, int64_t *unit_ms)
{
	static const struct {
		const char *name;
		int64_t ms;
	} units[] = {
		{ "", 1000 },
		{ "ms", 1 },
		{ "s", 1000 },
		{ "m", 60000 },
		{ "h", 3600000 },
		{ "d", 86400000 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(text, units[i].name) == 0) {
			*unit_ms = units[i].ms;
			return 0;
		}
	return -1;
}

/*
 * By hand rather than with strtod(), which takes blanks, signs, hexadecimal,
 * "inf" and "nan", and which counts in the user's locale.
 */
int
duration_parse(const char *text, int64_t *ms)
{
	const char *p = text;
	int64_t whole, scale = 1, part = 0, unit_ms, total;
	bool digits, more = false;

	p += number_prefix(p, strlen(p), &whole);
	digits = p > text;
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++, digits = true) {
			if (scale == 1000000000) {
				more = more || *p != '0';
				continue; /* finer than it matters */
			}
			scale *= 10;
			part = part * 10 + (*p - '0');
		}
	part += more;
	if (!digits || unit_parse(p, &unit_ms) == -1)
		return -1;
	if (whole > DURATION_MAX_MS / unit_ms)
		return -1;
	total = whole * unit_ms + (part * unit_ms + scale - 1) / scale;
	if (total > DURATION_MAX_MS)
		return -1;
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
