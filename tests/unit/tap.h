/*
 * As much of the Test Anything Protocol as the unit tests need.  A test is a
 * function with a sentence for a name; it fails if one of its checks does.
 */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tap_test {
	const char *name;
	void (*run)(void);
};

/* Of the test that runs. */
static bool tap_good;
static const char *tap_name = "";
static const char *tap_skipped; /* what it lacks here; NULL: nothing */

/* Marks the test that runs as failed and says why. */
__attribute__((format(printf, 1, 2))) static inline void
tap_fail(const char *fmt, ...)
{
	va_list ap;

	tap_good = false;
	fputs("# ", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static inline void
tap_same_int(int line, const char *what, int64_t got, int64_t want)
{
	if (got != want)
		tap_fail("line %d: %s is %lld, not %lld", line, what,
		    (long long)got, (long long)want);
}

static inline void
tap_same_text(int line, const char *what, const char *got, const char *want)
{
	if (strcmp(got, want) != 0)
		tap_fail(
		    "line %d: %s is \"%s\", not \"%s\"", line, what, got, want);
}

#define CHECK(claim)                                                           \
	((claim) ? (void)0 : tap_fail("line %d: not so: %s", __LINE__, #claim))
#define SAME_INT(got, want)  tap_same_int(__LINE__, #got, (got), (want))
#define SAME_TEXT(got, want) tap_same_text(__LINE__, #got, (got), (want))

/*
 * A copy of exactly len bytes in memory of its own: a sanitizer sees a step
 * beyond.
 */
static inline char *
tap_bytes(const void *src, size_t len)
{
	char *copy = malloc(len > 0 ? len : 1);

	if (copy == NULL)
		abort();
	memcpy(copy, src, len);
	return copy;
}

/* Runs all tests; returns the exit status. */
static inline int
tap_main(const struct tap_test *tests, size_t n)
{
	bool all_good = true;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%zu\n", n);
	for (size_t i = 0; i < n; i++) {
		tap_good = true;
		tap_name = tests[i].name;
		tap_skipped = NULL;
		tests[i].run();
		printf("%s %zu - %s%s%s\n", tap_good ? "ok" : "not ok", i + 1,
		    tests[i].name, tap_skipped != NULL ? " # skip " : "",
		    tap_skipped != NULL ? tap_skipped : "");
		all_good = all_good && tap_good;
	}
	return all_good ? 0 : 1;
}

#define TAP_MAIN(tests) tap_main(tests, sizeof(tests) / sizeof((tests)[0]))

#endif
