#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/progress.h"
#include "run/nested.h"
#include "run/report.h"
#include "run/waiting.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)

void
waiting_init(struct waiting *w, const struct options *opt)
{
	w->terminal =
	    opt->wait_ms != 0 && log_notices_on_stderr() && progress_possible();
}

void
waiting_begin(struct waiting *w, int64_t now_ms, int64_t end_ms)
{
	w->begin_ms = now_ms;
	w->end_ms = end_ms;
	w->report_ms = w->draw_ms = now_ms + SECOND_MS;
}

/* Returns the waiting time at which the next message is due. */
static int64_t
next_report_ms(int64_t waited_ms)
{
	static const int64_t steps[] = { SECOND_MS, MINUTE_MS, 5 * MINUTE_MS,
		15 * MINUTE_MS };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (waited_ms < steps[i])
			return steps[i];
	return waited_ms - waited_ms % HOUR_MS + HOUR_MS;
}

/* Returns the rest of the wait. */
static int64_t
left_ms(const struct waiting *w, int64_t now)
{
	return w->end_ms == CLOCK_NEVER ? CLOCK_NEVER : w->end_ms - now;
}

/* Returns how old the server's reply is. */
static int64_t
state_age_ms(struct waiting *w, const struct lock *l, int64_t now)
{
	const struct lock_state *v = lock_state(l);

	if (v != NULL && v->now_us != w->state_us) {
		w->state_us = v->now_us;
		w->state_ms = now;
	}
	return now - w->state_ms;
}

static void
draw(struct waiting *w, const struct lock *l, int64_t now)
{
	char text[WAIT_TEXT], line[LOCK_NAME + WAIT_TEXT];

	snprintf(line, sizeof(line), "%s: %s", lock_name(l),
	    report_wait(l, state_age_ms(w, l, now), left_ms(w, now), text));
	progress_draw(line);
	w->announced = true;
}

/* Draws the line on the terminal, once a second. */
static int64_t
draw_step(struct waiting *w, const struct lock *l, int64_t now)
{
	if (now >= w->draw_ms || progress_resized()) {
		draw(w, l, now);
		w->draw_ms = now + SECOND_MS - (now - w->begin_ms) % SECOND_MS;
	}
	return w->draw_ms;
}

/* Reports the wait in a message. */
static void
report(struct waiting *w, const struct lock *l, int64_t now)
{
	char text[WAIT_TEXT], waited[DURATION_TEXT];
	int64_t waited_ms = now - w->begin_ms;

	if (waited_ms < MINUTE_MS)
		report_waiting(l);
	else
		notice("%s: waiting for %s: %s", lock_name(l),
		    duration_format(waited_ms, waited),
		    report_wait(l, state_age_ms(w, l, now), left_ms(w, now),
			text));
	w->announced = true;
}

/*
 * Reports at once if the holder is a run that waits for us.  nested_run() sees
 * only what the environment names.
 */
static int64_t
nested_step(struct waiting *w, const struct lock *l, int64_t now)
{
	const struct lock_state *v = lock_state(l);
	bool busy;

	if (v == NULL || !v->taken || strcmp(w->judged, v->owner.token) == 0)
		return CLOCK_NEVER;
	if (nested_below(&v->owner, &busy)) {
		if (busy && now < w->begin_ms + NESTED_BUSY_MS)
			return now + NESTED_CHECK_MS;
		nested_report(lock_name(l));
	}
	memcpy(w->judged, v->owner.token, sizeof(w->judged));
	return CLOCK_NEVER;
}

/* Reports or draws what is due.  Returns when to do so again. */
static int64_t
report_step(struct waiting *w, const struct lock *l, int64_t now)
{
	bool foreground = w->terminal && progress_foreground();
	int64_t due_ms = w->report_ms;

	state_age_ms(w, l, now);
	if (now >= due_ms) {
		w->report_ms = w->begin_ms + next_report_ms(now - w->begin_ms);
		/* At the end of the wait the outcome is the report. */
		if (!foreground && due_ms < w->end_ms)
			report(w, l, now);
	}
	if (foreground && now >= w->begin_ms + SECOND_MS && now < w->end_ms)
		return draw_step(w, l, now);
	/* The shell may bring us to the foreground. */
	return w->terminal && now + SECOND_MS < w->report_ms ? now + SECOND_MS :
							       w->report_ms;
}

int64_t
waiting_cb(void *waiting, const struct lock *l)
{
	int64_t now = clock_now_ms(), again_ms = nested_step(waiting, l, now);

	return clock_min_ms(again_ms, report_step(waiting, l, now));
}

void
waiting_pause(struct waiting *w)
{
	progress_erase();
	w->draw_ms = 0;
}

int64_t
waiting_end(struct waiting *w)
{
	progress_erase();
	return w->announced ? clock_now_ms() - w->begin_ms : 0;
}
