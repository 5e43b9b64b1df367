/*
 * The times of messages about a wait where no line can be drawn, over hours
 * that pass at once.
 */
#define clock_now_ms   made_up_now_ms
#define lock_name      made_up_name
#define lock_state     made_up_state
#define report_waiting made_up_report
#define report_wait    made_up_wait
#define notice         made_up_notice

#include "../../src/run/waiting.c"
#include "tap.h"

#define HOURS 4

static int64_t now_ms;
static int64_t reports_s[32]; /* when there was one, since the beginning */
static int nreports;

int64_t
made_up_now_ms(void)
{
	return now_ms;
}

const char *
made_up_name(const struct lock *l)
{
	(void)l;
	return "a";
}

const struct lock_state *
made_up_state(const struct lock *l)
{
	(void)l;
	return NULL;
}

static void
reported(void)
{
	if (nreports < (int)(sizeof(reports_s) / sizeof(reports_s[0])))
		reports_s[nreports++] = now_ms / SECOND_MS;
}

void
made_up_report(const struct lock *l)
{
	(void)l;
	reported();
}

char *
made_up_wait(const struct lock *l, int64_t aged_ms, int64_t left,
    char text[WAIT_TEXT])
{
	(void)l;
	(void)aged_ms;
	(void)left;
	text[0] = '\0';
	return text;
}

void
made_up_notice(const char *fmt, ...)
{
	(void)fmt;
	reported();
}

/* Waits for so long, called back when that was wanted. */
static struct waiting
wait_for(int64_t end_ms, int64_t until_ms)
{
	struct waiting w = { 0 };
	int64_t wake = 0;

	nreports = 0;
	now_ms = 0;
	waiting_begin(&w, 0, end_ms);
	while (now_ms < until_ms) {
		wake = waiting_cb(&w, NULL);
		CHECK(wake > now_ms);
		now_ms = wake < until_ms ? wake : until_ms;
	}
	return w;
}

static void
steps(void)
{
	static const int64_t want_s[] = { 1, 60, 300, 900, 3600, 7200, 10800 };
	const int n = sizeof(want_s) / sizeof(want_s[0]);
	struct waiting w = wait_for(CLOCK_NEVER, HOURS * HOUR_MS);

	SAME_INT(nreports, n);
	for (int i = 0; i < n && i < nreports; i++)
		SAME_INT(reports_s[i], want_s[i]);
	SAME_INT(waiting_end(&w), HOURS * HOUR_MS);
}

static void
ends(void)
{
	struct waiting w = wait_for(MINUTE_MS, MINUTE_MS);

	SAME_INT(nreports, 1);
	SAME_INT(waiting_end(&w), MINUTE_MS);
	w = wait_for(SECOND_MS, SECOND_MS);
	SAME_INT(nreports, 0);
	SAME_INT(waiting_end(&w), 0);
}

/* A process that did not run for long reports once, not once for each step. */
static void
late(void)
{
	struct waiting w = { 0 };

	nreports = 0;
	now_ms = 0;
	waiting_begin(&w, 0, CLOCK_NEVER);
	now_ms = 2 * HOUR_MS + MINUTE_MS;
	SAME_INT(waiting_cb(&w, NULL), 3 * HOUR_MS);
	waiting_cb(&w, NULL);
	SAME_INT(nreports, 1);
}

int
main(void)
{
	static const struct tap_test tests[] = {
		{ "a wait is reported after 1 s, 1, 5 and 15 min, each hour",
		    steps },
		{ "the end of a wait is no report, nor is a short wait", ends },
		{ "after a standstill one report is enough", late },
	};

	return TAP_MAIN(tests);
}
