/*
 * Durations as people write and read them.  A mistake would silently make a
 * lease too short or a limit too long.
 */
#include <locale.h>

#include "../../src/base/duration.c"
#include "tap.h"

static void
parses(const char *text, int64_t want_ms)
{
	int64_t ms = -1;

	if (duration_parse(text, &ms) != 0)
		tap_fail("'%s' is refused", text);
	else if (ms != want_ms)
		tap_fail("'%s' is %lld ms, not %lld", text, (long long)ms,
		    (long long)want_ms);
}

static void
refused(const char *text)
{
	int64_t ms = -42;

	if (duration_parse(text, &ms) != -1)
		tap_fail("'%s' is taken for %lld ms", text, (long long)ms);
	else if (ms != -42)
		tap_fail("'%s' is refused, but has changed the result", text);
}

static void
bare_numbers(void)
{
	parses("0", 0);
	parses("1", 1000);
	parses("90", 90000);
	parses("0090", 90000);
	parses("1.5", 1500);
}

static void
each_unit(void)
{
	parses("1ms", 1);
	parses("500ms", 500);
	parses("1s", 1000);
	parses("1m", INT64_C(60) * 1000);
	parses("1h", INT64_C(3600) * 1000);
	parses("1d", INT64_C(86400) * 1000);
	parses("365d", INT64_C(365) * 86400 * 1000);
	parses("0ms", 0);
	parses("0d", 0);
}

static void
fractions(void)
{
	parses(".5", 500);
	parses("0.5s", 500);
	parses("1.5m", 90000);
	parses("1.5h", 5400000);
	parses("2.25d", 194400000);
	parses("1.1d", 95040000);
	parses("2.0ms", 2);
	parses("0.000", 0);
}

static void
exact_milliseconds(void)
{
	char text[32];

	for (int ms = 0; ms < 100000; ms++) {
		snprintf(text, sizeof(text), "%d.%03d", ms / 1000, ms % 1000);
		parses(text, ms);
	}
}

static void
rounding(void)
{
	parses("0.1ms", 1);
	parses("0.9ms", 1);
	parses("1.0001ms", 2);
	parses("0.0001", 1);
	parses("0.0011s", 2);
	parses("0.00001m", 1);
	parses("0.000000001", 1);
	parses("0.0000000001", 1);
	parses("0.0000000000000000000000000000000000001d", 1);
	parses("1.0000000001s", 1001);
	parses("1.000000000000000000000000000000000000", 1000);
	parses("0.333333333333333333333333333333333333", 334);
	parses("0.999999999999999999999999999999999999", 1000);
}

static void
limits(void)
{
	parses("100000000000000ms", DURATION_MAX_MS);
	parses("100000000000", DURATION_MAX_MS);
	parses("1157407d", INT64_C(1157407) * 86400000);
	refused("100000000000001ms");
	refused("100000000000.001");
	refused("100000000000.000000001s");
	refused("1157408d");
	refused("1157407.5d");
}

static void
overflow(void)
{
	char zeros[5000], nines[5000];

	refused("9223372036854775807");
	refused("9223372036854775807ms");
	refused("9223372036854775808ms");
	refused("18446744073709551616");
	refused("18446744073709551617ms");
	refused("213503982334601d");
	refused("106751991167.3d");

	memset(zeros, '0', sizeof(zeros));
	memset(nines, '9', sizeof(nines));
	zeros[sizeof(zeros) - 1] = nines[sizeof(nines) - 1] = '\0';
	refused(nines);
	parses(zeros, 0);
	zeros[sizeof(zeros) - 2] = '7';
	parses(zeros, 7000);
	nines[0] = '.';
	parses(nines, 1000);
}

static void
garbage(void)
{
	static const char *const texts[] = { "", " ", "\t", "\n", "s", "ms",
		"d", ".", ".s", "-", "-1", "-0", "+1", "--1", "- 1", " 1", "1 ",
		"1 s", "1s ", "1s\n", "\n1", "1ss", "1sm", "1msm", "1mss", "1S",
		"1MS", "1Ms", "1H", "1D", "1M", "1w", "1y", "1us", "1ns",
		"1min", "1sec", "1hour", "1m30", "1:30", "1e3", "1e", "1E3s",
		"0x10", "0x1p3", "010x", "1..5", "1.5.2", "..5", "1.-5", "1.+5",
		"1. 5", "1_000", "1,000", "1'000", "1/2", "50%", "inf", "INF",
		"infinity", "nan", "NaN", "nan(1)", "never", "0b1", "$1", "1$",
		"1;", "\xc2\xb5", "1\xc2\xb5s", "\xd9\xa1", "\xd9\xa1\xd9\xa2s",
		"\xef\xbc\x91", "1\xff", "\xff" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		refused(texts[i]);
}

/* Those of a comma where they are installed; C.UTF-8 is everywhere. */
static void
locales(void)
{
	static const char *const names[] = { "C.UTF-8", "de_DE.UTF-8", "de_DE",
		"fr_FR.UTF-8", "ru_RU.UTF-8", "ar_EG.UTF-8", "fa_IR.UTF-8" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (setlocale(LC_ALL, names[i]) == NULL)
			continue;
		parses("1.5s", 1500);
		refused("1,5s");
		refused("1.000,5s");
		refused("1\xd9\xab"
			"5s");
	}
	setlocale(LC_ALL, "C");
}

static void
formats(int64_t ms, const char *want)
{
	char *buf = malloc(DURATION_TEXT);
	const char *text;

	if (buf == NULL)
		abort();
	text = duration_format(ms, buf);
	CHECK(text == buf);
	if (strcmp(text, want) != 0)
		tap_fail("%lld ms is written '%s', not '%s'", (long long)ms,
		    text, want);
	free(buf);
}

static void
format_units(void)
{
	formats(1, "1ms");
	formats(350, "350ms");
	formats(999, "999ms");
	formats(1000, "1s");
	formats(27000, "27s");
	formats(192000, "3m12s");
	formats(INT64_C(18120000), "5h2m");
	formats(INT64_C(187200000), "2d4h");
}

static void
format_drops(void)
{
	formats(1999, "1s");
	formats(59999, "59s");
	formats(60000, "1m");
	formats(60999, "1m");
	formats(61000, "1m1s");
	formats(3599999, "59m59s");
	formats(3600000, "1h");
	formats(3659999, "1h");
	formats(3660000, "1h1m");
	formats(86399999, "23h59m");
	formats(86400000, "1d");
	formats(89999999, "1d");
	formats(90000000, "1d1h");
	formats(INT64_C(365) * 86400000, "365d");
}

static void
format_limits(void)
{
	formats(0, "0ms");
	formats(-1, "0ms");
	formats(-60000, "0ms");
	formats(INT64_MIN, "0ms");
	formats(DURATION_MAX_MS, "1157407d9h");
	formats(INT64_MAX, "106751991167d7h");
}

static void
several_units(void)
{
	static const char *const bad[] = { "30m1h", "1h1h", "1ms1s", "1h30",
		"1.5h30m", "1.h1m", "1h-1m", "1h 30m", "1h+30m", "1dh", "h1m",
		"1h30m ", "1h30x", "1h.m", "1157407d10h",
		"1d99999999999999999999h" };

	parses("1h30m", 5400000);
	parses("1d2h3m4s5ms", INT64_C(93784005));
	parses("2d4h", INT64_C(187200000));
	parses("1m0s", 60000);
	parses("0h90m", 5400000);
	parses("1h1.5m", 3690000);
	parses("1s0.1ms", 1001);
	parses("1157407d9h", INT64_C(99999997200000));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused(bad[i]);
}

/* Everything finer than the second unit is dropped. */
static void
format_reads_back(void)
{
	char text[DURATION_TEXT];
	int64_t ms, got, unit_ms;

	for (ms = 0; ms < INT64_C(400) * 86400000; ms += ms / 97 + 1) {
		unit_ms = ms < 1000   ? 1 :
		    ms < 3600000      ? 1000 :
		    ms < 24 * 3600000 ? 60000 :
					3600000;
		duration_format(ms, text);
		if (duration_parse(text, &got) == -1 ||
		    got != ms / unit_ms * unit_ms)
			tap_fail("%lld ms is written %s", (long long)ms, text);
	}
}

static const struct tap_test tests[] = {
	{ "a bare number is seconds", bare_numbers },
	{ "the units are ms, s, m, h and d", each_unit },
	{ "fractions are allowed", fractions },
	{ "several units are added, each finer than the one before",
	    several_units },
	{ "every millisecond up to 100 s is read exactly", exact_milliseconds },
	{ "what is left below a millisecond is rounded up", rounding },
	{ "the longest duration is read, anything longer refused", limits },
	{ "no number of digits overflows", overflow },
	{ "anything else is refused and changes nothing", garbage },
	{ "the locale does not change what a duration means", locales },
	{ "a duration is written in at most two units", format_units },
	{ "a unit without worth is dropped, nothing is rounded up",
	    format_drops },
	{ "a negative duration is written as none, the longest one fits",
	    format_limits },
	{ "a duration reads back as written", format_reads_back },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
