/*
 * Moments as people write them, in a zone whose clocks change.  A mistake would
 * hide runs from --history.
 */
#include <stdlib.h>

#include "../../src/base/moment.c"
#include "tap.h"

/* 2026-11-01 12:34:56 in Berlin, a week after the clocks were set back. */
#define NOW_MS (INT64_C(1793532896) * 1000 + 789)

#define BERLIN  "CET-1CEST,M3.5.0,M10.5.0/3"
#define HOUR_MS INT64_C(3600000)

static void
parses(const char *text, enum moment_kind want, int64_t want_ms)
{
	struct moment m = { .kind = MOMENT_NONE };
	char *copy = tap_bytes(text, strlen(text) + 1);

	if (moment_parse(copy, NOW_MS, MOMENT_EARLIER, &m) != 0)
		tap_fail("'%s' is refused", text);
	else if (m.kind != want || m.ms != want_ms)
		tap_fail("'%s' is %d %lld, not %d %lld", text, (int)m.kind,
		    (long long)m.ms, (int)want, (long long)want_ms);
	free(copy);
}

static void
refused(const char *text, int want)
{
	struct moment m = { .kind = MOMENT_NONE, .ms = -42 };
	char *copy = tap_bytes(text, strlen(text) + 1);

	errno = 0;
	if (moment_parse(copy, NOW_MS, MOMENT_EARLIER, &m) != -1)
		tap_fail("'%s' is taken for %d %lld", text, (int)m.kind,
		    (long long)m.ms);
	else if (errno != want)
		tap_fail("'%s' is refused with %s", text, strerror(errno));
	else if (m.kind != MOMENT_NONE || m.ms != -42)
		tap_fail("'%s' is refused, but has changed the result", text);
	free(copy);
}

/* With utc_s as date(1) converts it. */
static void
at(const char *text, int64_t utc_s)
{
	parses(text, MOMENT_AT, utc_s * 1000);
}

static void
durations(void)
{
	parses("7d", MOMENT_AGO, 7 * 24 * HOUR_MS);
	parses("1h30m", MOMENT_AGO, HOUR_MS * 3 / 2);
	parses("90", MOMENT_AGO, 90000);
	refused("999999999d", ERANGE);
}

static void
dates_and_times_are_local(void)
{
	at("2026-11-01", 1793487600);
	at("2026-11-01 02:00", 1793494800);
	at("2026-11-01 02:00:07", 1793494807);
	at("2026-07-01 00:00", 1782856800); /* two hours ahead of UTC */
	at("2024-02-29", 1709161200);
	at("1970-01-01 01:00", 0);
	at("2100-01-01", INT64_C(4102441200));
}

static void
words_and_times_of_today(void)
{
	at("today", 1793487600);
	at("yesterday", 1793401200);
	at("02:00", 1793494800);
	at("23:59:59", 1793573999);
}

static void
a_day_of_25_hours(void)
{
	struct moment m;

	/* the noon after the night in which the clocks were set back */
	SAME_INT(moment_parse("today", INT64_C(1792926000) * 1000,
		     MOMENT_EARLIER, &m),
	    0);
	SAME_INT(m.ms / 1000, 1792879200);
	SAME_INT(moment_parse("yesterday", INT64_C(1792926000) * 1000,
		     MOMENT_EARLIER, &m),
	    0);
	SAME_INT(m.ms / 1000, 1792792800);
	SAME_INT(moment_parse("yesterday", INT64_C(1793012400) * 1000,
		     MOMENT_EARLIER, &m),
	    0);
	SAME_INT(m.ms / 1000, 1792879200);
}

/* Checks both sides, after calls that would lead mktime(3) either way. */
static void
both(const char *text, int64_t earlier_s, int64_t later_s)
{
	static const char *const last[] = { "2026-01-01", "2026-07-01" };
	struct moment m;

	for (int i = 0; i < 4; i++) {
		int64_t want = i < 2 ? earlier_s : later_s;

		moment_parse(last[i % 2], NOW_MS, MOMENT_EARLIER, &m);
		SAME_INT(moment_parse(text, NOW_MS,
			     i < 2 ? MOMENT_EARLIER : MOMENT_LATER, &m),
		    0);
		if (m.ms != want * 1000)
			tap_fail("'%s' is %lld, not %lld", text,
			    (long long)m.ms / 1000, (long long)want);
	}
}

static void
a_time_that_comes_twice_or_never(void)
{
	both("2026-10-25 02:30", 1792888200, 1792891800);
	both("2026-10-25 02:00", 1792886400, 1792890000);
	both("2026-10-25 03:00", 1792893600, 1792893600);
	both("2026-10-25 01:59:59", 1792886399, 1792886399);
	/* 02:30 is half an hour before 01:00 UTC, or half an hour after. */
	both("2026-03-29 02:30", 1774744200, 1774747800);
	both("2026-03-29 03:00", 1774746000, 1774746000);
	both("2026-03-29 01:59:59", 1774745999, 1774745999);
}

static void
other_forms(void)
{
	at("2026-11-01T02:00", 1793494800);
	at("2026-11-01T02:00:07", 1793494807);
	at("@1793494800", 1793494800);
	at("tomorrow", 1793574000);
	at("2026-11-01T01:00:00Z", 1793494800);
	at("2026-11-01 01:00 UTC", 1793494800);
	at("2026-11-01T01:00:00+00:00", 1793494800);
	at("2026-11-01T02:00:00+0100", 1793494800);
	at("2026-10-31T21:30:00-0330", 1793494800);
	at("2026-10-31T19:30:00-05:30", 1793494800);
	at("2026-11-01T06:30+05:30", 1793494800);
	parses("2026-11-01T01:00:00.907Z", MOMENT_AT,
	    INT64_C(1793494800) * 1000 + 907);
	parses("2026-11-01 02:00:00.5", MOMENT_AT,
	    INT64_C(1793494800) * 1000 + 500);
	parses("now", MOMENT_AT, NOW_MS);
	parses("-1d", MOMENT_AGO, 24 * HOUR_MS);
	parses("1h30m ago", MOMENT_AGO, HOUR_MS * 3 / 2);
}

static void
numbers_without_a_unit(void)
{
	parses("9999999", MOMENT_AGO, INT64_C(9999999) * 1000);
	refused("20261101", EDOM);
	refused("1793494800", EDOM);
	parses("20261101s", MOMENT_AGO, INT64_C(20261101) * 1000);
}

static void
zone_is(const char *tz, const char *want)
{
	const char *got;

	setenv("TZ", tz, 1);
	got = moment_unknown_zone();
	if ((got == NULL) != (want == NULL) ||
	    (got != NULL && strcmp(got, want) != 0))
		tap_fail("TZ='%s' is unknown as '%s'", tz,
		    got == NULL ? "(known)" : got);
}

static void
unknown_zones(void)
{
	zone_is("Nowhere/Utopia", "Nowhere/Utopia");
	zone_is(":Nowhere/Utopia", "Nowhere/Utopia");
	zone_is("Utopia", "Utopia");
	zone_is("/nonexistent/zone", "/nonexistent/zone");
	zone_is("/usr", "/usr"); /* as "Europe", a directory */
	zone_is("", NULL);
	zone_is("UTC", NULL);
	zone_is("UTC0", NULL);
	zone_is("<+03>-3", NULL);
	zone_is("CET-1CEST,M3.5.0,M10.5.0/3", NULL);
	unsetenv("TZ");
	CHECK(moment_unknown_zone() == NULL);
	setenv("TZ", BERLIN, 1);
}

static void
nonsense(void)
{
	static const char *const words[] = { "", " ", "Tomorrow", "Today",
		"today ", "2026-11", "2026-11-1", "2026-1-01", "2026-11-01 ",
		" 2026-11-01", "2026-11-01 2:00", "2026-11-01t02:00",
		"2026-11-01 02:00:00.", "2026-11-01Z", "02:00Z",
		"2026-11-01 02:00+1", "2026-11-01 02:00+01:60",
		"2026-11-01 02:00+01", "2026-11-01 02:00+01000",
		"2026-11-01 02:00+0160", "2026-11-01 02:00+01:0",
		"2026-11-01 02:00+01:00 ", "2026-11-01 02:00 CET",
		"2026-11-01T", "@", "@-1", "@1.5", "@999999999999", "-1d ago",
		"ago", " ago", "-", "--1d", "NOW", "2026-11-01  02:00",
		"2026-11-01 02:", "2026-11-01 02", "2026-11-01 24:00",
		"2026-11-01 02:60", "2026-11-01 02:00:60", "2026-02-29",
		"2026-02-30", "2026-04-31", "2026-13-01", "2026-00-10",
		"2026-01-00", "1969-12-31", "0000-01-01", "+1d", "2026-1a-01",
		"24:00", "1:00", "01:0", "01:00:", "01:00:0", "2026/11/01",
		"01.11.2026" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		refused(words[i], EINVAL);
}

static void
resolved(void)
{
	const struct moment ago = { .kind = MOMENT_AGO, .ms = 5 };
	const struct moment then = { .kind = MOMENT_AT, .ms = 70 };

	SAME_INT(moment_ms(&ago, 1000), 995);
	SAME_INT(moment_ms(&then, 1000), 70);
}

static const struct tap_test tests[] = {
	{ "a duration is that long ago", durations },
	{ "dates and times are local, each by the rules of its day",
	    dates_and_times_are_local },
	{ "today and yesterday are midnights, and a time alone is today's",
	    words_and_times_of_today },
	{ "yesterday began a day ago, even if that day has 25 hours",
	    a_day_of_25_hours },
	{ "a local time that comes twice or never is the earlier or the later "
	  "moment, whatever was asked before",
	    a_time_that_comes_twice_or_never },
	{ "what --json, date -Is and journalctl(1) write is taken",
	    other_forms },
	{ "eight digits without a unit are refused", numbers_without_a_unit },
	{ "a TZ without zone data is named", unknown_zones },
	{ "anything else is refused and changes nothing", nonsense },
	{ "a duration counts from the given now, a date does not", resolved },
};

int
main(void)
{
	setenv("TZ", BERLIN, 1);
	tzset();
	return TAP_MAIN(tests);
}
