/*
 * Numbers as other programs, servers and people write them.
 */
#include <string.h>

#include "../../src/base/number.c"
#include "tap.h"

static void
parses(const char *text, int64_t want)
{
	int64_t n = -42;

	if (number_parse(text, strlen(text), INT64_MAX, &n) != 0 || n != want)
		tap_fail("'%s' is read as %lld", text, (long long)n);
}

static void
refused(const char *text, int64_t max)
{
	int64_t n = -42;

	if (number_parse(text, strlen(text), max, &n) != -1 || n != -42)
		tap_fail("'%s' is taken for %lld", text, (long long)n);
}

static void
prefix(const char *text, size_t want_len, int64_t want)
{
	int64_t n = -42;
	size_t len = number_prefix(text, strlen(text), &n);

	if (len != want_len || n != want)
		tap_fail("'%s': %zu digits, %lld", text, len, (long long)n);
}

static void
whole_numbers(void)
{
	int64_t n;

	parses("0", 0);
	parses("007", 7);
	parses("9223372036854775807", INT64_MAX);
	parses("0000000000000000000000000000000000012", 12);
	CHECK(number_parse("123", 2, 100, &n) == 0 && n == 12);
}

static void
anything_else(void)
{
	static const char *const words[] = { "", " 1", "1 ", "+1", "-1", "1.0",
		"0x1", "1e3", "a", "\xd9\xa3", "9223372036854775808",
		"18446744073709551617", "99999999999999999999999999999" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		refused(words[i], INT64_MAX);
	refused("8", 7);
	refused("0", -1);
}

static void
prefixes(void)
{
	prefix("", 0, 0);
	prefix("abc", 0, 0);
	prefix("6.0.16", 1, 6);
	prefix("1700000000000-3", 13, INT64_C(1700000000000));
	prefix("9223372036854775807x", 19, INT64_MAX);
	prefix("99999999999999999999999", 23, INT64_MAX);
}

static void
hex_digits(void)
{
	for (int c = 0; c < 256; c++) {
		const char *digits = "0123456789abcdef0123456789ABCDEF";
		const char *at = c == 0 ? NULL : strrchr(digits, c);
		int want = at == NULL ? -1 : (int)(at - digits) % 16;

		if (number_hex((char)c) != want)
			tap_fail("%02x is worth %d", c, number_hex((char)c));
	}
}

static const struct tap_test tests[] = {
	{ "digits alone are a number, up to the largest", whole_numbers },
	{ "anything else is refused and changes nothing", anything_else },
	{ "the digits that text begins with are read, what is too large is "
	  "the largest",
	    prefixes },
	{ "a hexadecimal digit may be upper or lower case", hex_digits },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
