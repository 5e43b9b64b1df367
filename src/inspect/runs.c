/*
 * Merges the entries of several servers.  Other programs can write to Redis
 * too, so malformed entries are skipped.
 */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "inspect/runs.h"

/* Searches backwards, since most entries belong to the run added last. */
static struct past_run *
find(const struct runs *runs, const char *token)
{
	for (size_t i = runs->n; i > 0; i--)
		if (strcmp(runs->run[i - 1].owner.token, token) == 0)
			return &runs->run[i - 1];
	return NULL;
}

static struct past_run *
find_or_add(struct runs *runs, const struct owner *owner)
{
	struct past_run *run = find(runs, owner->token);

	if (run != NULL)
		return run;
	/* Doubles when the number of runs reaches a power of two. */
	if ((runs->n & (runs->n - 1)) == 0)
		runs->run = xreallocarray(runs->run, 2 * runs->n + 1,
		    sizeof(*runs->run));
	run = &runs->run[runs->n++];
	memset(run, 0, sizeof(*run));
	run->owner = *owner;
	run->since_ms = run->waited_ms = run->ran_ms = -1;
	run->status = run->signal = -1;
	return run;
}

/*
 * Returns the run of this owner.  If another server recorded it as skipped, it
 * got the lock after all.
 */
static struct past_run *
find_or_add_run(struct runs *runs, const struct owner *owner)
{
	struct past_run *run = find_or_add(runs, owner);

	if (run->skip != NULL) {
		free(run->skip);
		run->skip = NULL;
		run->since_ms = run->waited_ms = -1;
	}
	return run;
}

static void
note_slot(struct past_run *run, const char *text, size_t len)
{
	if (run->slot == 0)
		run->slot = record_slot(text, len);
}

static enum event
event_of(const char *word)
{
	return strcmp(word, "start") == 0 ? EVENT_START :
	    strcmp(word, "end") == 0      ? EVENT_END :
	    strcmp(word, "lost") == 0     ? EVENT_LOST :
					    EVENT_NONE;
}

static void
forget_start(struct past_run *run, unsigned char *event)
{
	*event = EVENT_NONE;
	run->since_ms = run->waited_ms = -1;
	run->slot = 0;
}

void
runs_add(struct runs *runs, int server, int64_t at_ms, const char *word,
    const char *text, size_t len)
{
	enum event event = event_of(word);
	struct record record;
	unsigned char *before;
	struct past_run *run;
	struct owner owner;

	if (at_ms >= 0 && strcmp(word, "broken") == 0 &&
	    owner_parse(&owner, text, len) == 0) {
		run = find_or_add_run(runs, &owner);
		note_slot(run, text, len);
		run->since_ms = owner.since_ms;
		owner_read_by(run->broken_by, text, len);
		/* The newest entry comes first. */
		run->broken[server] = run->event[server] == EVENT_NONE;
		return;
	}
	record_read(&record, text, len);
	if (event == EVENT_NONE || at_ms < 0 ||
	    owner_parse(&owner, text, len) == -1)
		return;
	run = find_or_add_run(runs, &owner);
	before = &run->event[server];
	/* Of two starts the later attempt's counts. */
	if (*before == EVENT_START && event == EVENT_START)
		return;
	/* An end is that of all attempts: the start is of a request that ran late. */
	if (*before == EVENT_START)
		forget_start(run, before);
	/* A repeated release is recorded as "lost"; the first one counts. */
	if (*before == EVENT_NONE ||
	    (*before == EVENT_LOST && event == EVENT_END))
		*before = (unsigned char)event;
	note_slot(run, text, len);
	if (run->waited_ms == -1)
		run->waited_ms = record.waited_ms;
	if (event == EVENT_START) {
		run->since_ms = owner.since_ms;
		return;
	}
	if (run->ending != ENDED_UNKNOWN)
		return;
	run->ending = record.ending;
	run->ran_ms = record.ran_ms;
	run->status = record.status;
	run->signal = record.signal;
	if (run->since_ms == -1)
		run->since_ms = at_ms - (run->ran_ms > 0 ? run->ran_ms : 0);
}

void
runs_add_skip(struct runs *runs, int server, int64_t at_ms, const char *text,
    size_t len, const char *value, size_t value_len)
{
	struct record record;
	struct past_run *run;
	struct owner owner;
	size_t before = runs->n;
	struct skip *s;

	record_read(&record, text, len);
	if (record.skip == SKIP_NONE || at_ms < 0 ||
	    owner_parse(&owner, text, len) == -1)
		return;
	run = find_or_add(runs, &owner);
	if (runs->n > before) {
		run->since_ms = owner.since_ms;
		run->waited_ms = record.waited_ms;
		s = run->skip = xcalloc(1, sizeof(*run->skip));
		s->reason = record.skip;
		owner_parse(&s->holder, value, value_len);
		s->len = value_len < SKIP_VALUE ? value_len : SKIP_VALUE;
		memcpy(s->value, value, s->len);
	}
	if (run->skip != NULL)
		run->skip->recorded[server] = true;
}

void
runs_holds(struct runs *runs, int server, const char *token)
{
	struct past_run *run = find(runs, token);

	if (run != NULL)
		run->holds[server] = true;
}

/* A run is "running" if it holds the lock on a majority of all servers. */
static void
judge(struct past_run *run, int nservers, int quorum, int nsilent)
{
	int lost = 0, ended = 0, holds = 0, released = 0;

	if (run->skip != NULL) {
		run->ending = ENDED_SKIPPED;
		return;
	}
	for (int i = 0; i < nservers; i++) {
		lost += run->event[i] == EVENT_LOST;
		ended += run->event[i] == EVENT_END;
		holds += run->holds[i];
		released += run->broken[i] && run->event[i] == EVENT_END;
	}
	run->released = released >= quorum;
	if (lost > nservers - quorum)
		run->ending = ENDED_LOST;
	if (lost + ended > 0)
		return;
	run->ending = holds >= quorum ? ENDED_RUNNING :
	    holds + nsilent >= quorum ? ENDED_UNKNOWN :
					ENDED_DIED;
}

/* Whether so few servers recorded the skip that the others are a majority. */
static bool
is_minor(const struct past_run *run, int nservers, int quorum)
{
	int recorded = 0;

	for (int i = 0; run->skip != NULL && i < nservers; i++)
		recorded += run->skip->recorded[i];
	return run->skip != NULL && recorded <= nservers - quorum;
}

static void
drop_minor(struct runs *runs, int nservers, int quorum)
{
	size_t n = 0;

	for (size_t i = 0; i < runs->n; i++) {
		if (is_minor(&runs->run[i], nservers, quorum))
			free(runs->run[i].skip);
		else
			runs->run[n++] = runs->run[i];
	}
	runs->n = n;
}

static int
compare_runs(const void *a, const void *b)
{
	const struct past_run *x = a, *y = b;

	if (x->since_ms != y->since_ms)
		return x->since_ms > y->since_ms ? -1 : 1;
	return strcmp(x->owner.token, y->owner.token);
}

void
runs_judge(struct runs *runs, int nservers, int quorum, int nsilent)
{
	drop_minor(runs, nservers, quorum);
	for (size_t i = 0; i < runs->n; i++)
		judge(&runs->run[i], nservers, quorum, nsilent);
	if (runs->n > 1)
		qsort(runs->run, runs->n, sizeof(*runs->run), compare_runs);
}

bool
runs_has_failed(const struct past_run *run)
{
	switch (run->ending) {
	case ENDED_UNKNOWN:
	case ENDED_RUNNING:
	case ENDED_SKIPPED:
		return false;
	case ENDED_EXITED:
		return run->status != 0;
	case ENDED_OTHER:
		return run->status > 0;
	case ENDED_KILLED:
	case ENDED_MAX_RUN:
	case ENDED_LOST:
	case ENDED_NOT_RUN:
	case ENDED_DIED:
		break;
	}
	return true;
}

const struct past_run *
runs_last_ended(const struct runs *runs)
{
	for (size_t i = 0; i < runs->n; i++)
		if (runs->run[i].ending != ENDED_RUNNING &&
		    runs->run[i].ending != ENDED_SKIPPED &&
		    runs->run[i].ending != ENDED_UNKNOWN)
			return &runs->run[i];
	return NULL;
}

const struct past_run *
runs_last_skip(const struct runs *runs)
{
	for (size_t i = 0; i < runs->n; i++)
		if (runs->run[i].ending == ENDED_SKIPPED)
			return &runs->run[i];
	return NULL;
}

void
runs_release(struct runs *runs)
{
	for (size_t i = 0; i < runs->n; i++)
		free(runs->run[i].skip);
	free(runs->run);
	runs->run = NULL;
	runs->n = 0;
}
