/*
 * The oracle: a record of every request of all simulated lives, so that a
 * change of src shows which of them it altered.  `make trace` compares the
 * digests with those in tests/sim/trace; see the Makefile.
 *
 * A section is a test, or LIVES_EACH lives of one.  TRACE names the file that
 * gets the digests, TRACE_REQUESTS the one that gets the requests themselves, a
 * line each; both are appended to.
 */
#ifndef TRACE_H
#define TRACE_H

#include <inttypes.h>
#include <stdarg.h>

#include "../unit/tap.h"

#define LIVES_EACH 500

static struct {
	bool begun;
	FILE *digests;
	FILE *requests;
	char section[128];
	uint64_t digest;
	int count; /* of requests in this section */
	uint64_t life;
} trace;

static FILE *
trace_open(const char *variable)
{
	const char *path = getenv(variable);
	FILE *file = path != NULL ? fopen(path, "a") : NULL;

	if (path != NULL && file == NULL) {
		perror(path);
		exit(1);
	}
	return file;
}

static void
trace_end_section(void)
{
	if (trace.digests != NULL && trace.count > 0)
		fprintf(trace.digests, "%016" PRIx64 " %6d %s\n", trace.digest,
		    trace.count, trace.section);
	trace.count = 0;
}

/* Begins a life; 0 stands for a test that has no numbered ones. */
static void
trace_begin(uint64_t life)
{
	char section[sizeof(trace.section)];
	uint64_t from = life == 0 ? 0 : (life - 1) / LIVES_EACH * LIVES_EACH;

	if (!trace.begun) {
		trace.begun = true;
		trace.digests = trace_open("TRACE");
		trace.requests = trace_open("TRACE_REQUESTS");
		atexit(trace_end_section);
	}
	trace.life = life;
	if (life == 0)
		snprintf(section, sizeof(section), "%s", tap_name);
	else
		snprintf(section, sizeof(section), "%s, lives %d to %d",
		    tap_name, (int)from + 1, (int)from + LIVES_EACH);
	if (strcmp(section, trace.section) == 0)
		return;
	trace_end_section();
	memcpy(trace.section, section, sizeof(section));
	trace.digest = UINT64_C(14695981039346656037);
}

/* Adds a line to the section; its digest is FNV-1a, by Fowler, Noll and Vo. */
__attribute__((format(printf, 1, 2))) static void
trace_request(const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (trace.digests == NULL && trace.requests == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	for (const char *p = line; *p != '\0'; p++)
		trace.digest = (trace.digest ^ (unsigned char)*p) *
		    UINT64_C(1099511628211);
	trace.count++;
	if (trace.requests != NULL)
		fprintf(trace.requests, "%s, life %" PRIu64 ": %s\n", tap_name,
		    trace.life, line);
}

#endif
