#include "base/clock.h"
#include "run/messages.h"
#include "run/waiting.h"

#define FIRST_MS 1000

void
waiting_begin(struct waiting *w, int64_t now_ms, int64_t end_ms)
{
	*w = (struct waiting){ .report_ms = now_ms + FIRST_MS,
		.end_ms = end_ms };
}

int64_t
waiting_cb(void *waiting, const struct lock *l)
{
	struct waiting *w = waiting;

	/* At the end of the wait the outcome is the report. */
	if (w->end_ms <= w->report_ms)
		w->report_ms = CLOCK_NEVER;
	if (clock_now_ms() >= w->report_ms) {
		report_waiting(l);
		w->report_ms = CLOCK_NEVER;
	}
	return w->report_ms;
}
