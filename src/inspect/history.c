/*
 * Reads the history of each lock from every server. runs.c merges the
 * entries and decides how each run ended; history.c prints them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/xalloc.h"
#include "inspect/history.h"
#include "inspect/scan.h"
#include "scripts.h"
#include "wire.h"

/* How much of a history a server keeps and sends, see runs.lua. */
#define ENTRIES 200
#define SKIPS   100

void
history_add_runs(struct runs *runs, int server, const struct reply entries)
{
	const char *id, *word, *text;
	int64_t at_ms;
	size_t len;

	for (size_t e = 0; e + 2 < reply_count(&entries); e += 3) {
		id = reply_string(&entries, e, NULL);
		word = reply_string(&entries, e + 1, NULL);
		text = reply_string(&entries, e + 2, &len);
		if (id != NULL && word != NULL && text != NULL) {
			number_prefix(id, strlen(id), &at_ms);
			runs_add(runs, server, at_ms, word, text, len);
		}
	}
}

void
history_add_skips(struct runs *runs, int server, const struct reply skips)
{
	const char *id, *text, *value;
	int64_t at_ms;
	size_t len, value_len;

	for (size_t e = 0; e + 2 < reply_count(&skips); e += 3) {
		id = reply_string(&skips, e, NULL);
		text = reply_string(&skips, e + 1, &len);
		value = reply_string(&skips, e + 2, &value_len);
		if (id != NULL && text != NULL && value != NULL) {
			number_prefix(id, strlen(id), &at_ms);
			runs_add_skip(runs, server, at_ms, text, len, value,
			    value_len);
		}
	}
}

static int
send_lock(struct query_server *s, size_t i)
{
	const struct history *h = s->query->arg;
	const struct lock_runs *c = &h->locks[i];

	_Static_assert(HISTORY_SKIPS == 0 && HISTORY_ARGS == 1,
	    "the argument of its own");
	return query_read(s, i, &script_history, c->name, c->slots,
	    h->with_skips ? "1" : "0");
}

/*
 * Notes since when a server's entries are complete: those of the last 30 days, or
 * as many as it sends at most.
 */
static void
note_start(int64_t *from_ms, const struct reply entries, size_t most,
    int64_t now_ms)
{
	size_t n = reply_count(&entries) / 3;
	int64_t first_ms = now_ms - HISTORY_MS, oldest_ms;
	const char *id;

	id = n < most ? NULL : reply_string(&entries, 3 * (n - 1), NULL);
	if (id != NULL && number_prefix(id, strlen(id), &oldest_ms) > 0 &&
	    oldest_ms > first_ms)
		first_ms = oldest_ms;
	if (first_ms > *from_ms)
		*from_ms = first_ms;
}

static void
read_holders(struct server_log *log, const struct reply a)
{
	size_t n = reply_count(&a), len;
	const char *token;

	log->holders = xcalloc(n + 1, sizeof(*log->holders));
	for (size_t i = 0; i < n; i++) {
		token = reply_string(&a, i, &len);
		if (token != NULL && len < OWNER_TOKEN)
			memcpy(log->holders[log->nholders++], token, len);
	}
}

static bool
lock_replied(struct query_server *s, size_t i, const struct reply *a)
{
	const struct history *h = s->query->arg;
	struct lock_runs *c = &h->locks[i];
	int server = (int)(s - s->query->servers);
	struct server_log *log = &c->logs[server];
	const char *success;
	int64_t now_ms;
	size_t len;

	if (query_server_error(s, a))
		return false;
	if (reply_count(a) < 3 || reply_int(a, 0) <= 0)
		return query_server_malformed(s);
	log->known = true;
	now_ms = reply_int(a, 0) / 1000;
	c->now_ms = now_ms > c->now_ms ? now_ms : c->now_ms;
	note_start(&c->runs_from_ms, reply_sub(a, 1), ENTRIES, now_ms);
	note_start(&c->skips_from_ms, reply_sub(a, 3), SKIPS, now_ms);
	history_add_runs(&c->runs, server, reply_sub(a, 1));
	history_add_skips(&c->runs, server, reply_sub(a, 3));
	read_holders(log, reply_sub(a, 2));
	success = reply_string(a, 4, &len);
	success_read(&c->successes[server], success, len, now_ms);
	return false;
}

static void
judge_lock(const struct query *q, struct lock_runs *c)
{
	int silent = 0;

	for (int i = 0; i < q->nservers; i++) {
		const struct server_log *a = &c->logs[i];

		silent += !a->known;
		for (size_t k = 0; k < a->nholders; k++)
			runs_holds(&c->runs, i, a->holders[k]);
	}
	runs_judge(&c->runs, q->nservers, q->quorum, silent);
}

static void
forget_locks(struct history *h)
{
	for (size_t i = 0; i < h->nlocks; i++) {
		struct lock_runs *c = &h->locks[i];

		for (int j = 0; j < h->query.nservers; j++)
			free(c->logs[j].holders);
		free(c->logs);
		free(c->successes);
		runs_release(&c->runs);
	}
	free(h->locks);
	h->locks = NULL;
	h->nlocks = 0;
}

void
history_list(struct history *h)
{
	/* "" lists the slots of a lock, to learn which runs still hold one. */
	static const char *const wanted[] = { "runs", "", "skips", NULL };
	static const char *const without_skips[] = { "runs", "", NULL };

	scan_locks(&h->query, h->with_skips ? wanted : without_skips);
}

bool
history_next(struct history *h, size_t most)
{
	struct query *q = &h->query;
	const struct query_lock *listed;
	size_t n = query_next(q, most, &listed);

	if (n == 0)
		return false;
	forget_locks(h);
	h->locks = xcalloc(n, sizeof(*h->locks));
	h->nlocks = n;
	for (size_t i = 0; i < h->nlocks; i++) {
		struct lock_runs *c = &h->locks[i];

		c->name = listed[i].name;
		c->number = (size_t)(&listed[i] - q->locks);
		c->slots = listed[i].slots;
		c->logs = xcalloc((size_t)q->nservers, sizeof(*c->logs));
		c->successes =
		    xcalloc((size_t)q->nservers, sizeof(*c->successes));
	}
	query_send(q, h->nlocks, send_lock, lock_replied);
	for (size_t i = 0; i < h->nlocks; i++)
		judge_lock(q, &h->locks[i]);
	return true;
}

void
history_release(struct history *h)
{
	forget_locks(h);
	query_release(&h->query);
}
