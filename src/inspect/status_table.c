/* All of this output came from Redis, so all of it is escaped. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/escape.h"
#include "base/table.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "inspect/status_table.h"

#define COMMAND_LEAST 12 /* columns of it, with the message of -m */
#define LOCK_LEAST    8

enum { LOCK, STATE, HOLDER, COMMAND, HELD, LEASE, WAITING, FENCE, COLUMNS };

/* Writes the cells about one holder. */
static void
show_holder(struct table *t, size_t row, const struct lock_info *l,
    const struct holder *h)
{
	char text[DURATION_TEXT], who[OWNER_WHO], what[OWNER_WHAT];
	char pid[OWNER_PID];
	const struct owner *o = &h->owner;

	if (!h->ours) {
		owner_who(who, o, h->value, h->len < 75 ? h->len : 75);
		table_text(t, row, HOLDER, who);
	} else {
		if (o->in_cooldown)
			snprintf(who, sizeof(who), "%s@%s", o->user, o->host);
		else
			snprintf(who, sizeof(who), "%s@%s pid %s", o->user,
			    o->host, owner_pid(pid, o));
		table_text(t, row, HOLDER, who);
		owner_what(what, o);
		table_text(t, row, COMMAND, what);
	}
	if (status_holder_age_ms(l, h) >= 0)
		table_cell(t, row, HELD, "%s",
		    duration_format(status_holder_age_ms(l, h), text));
	if (h->ttl_ms >= 0)
		table_cell(t, row, LEASE, "%s%s",
		    duration_format(h->ttl_ms, text),
		    status_holder_overdue(l, h) ? " overdue" : "");
	if (status_holder_overdue(l, h))
		table_style(t, row, LEASE, STYLE_BAD);
}

/* Writes "held" or, with slots that are not all in cooldown, "2/3 slots". */
static void
show_state(struct table *t, size_t row, const struct lock_info *l)
{
	static const enum style styles[] = { STYLE_BAD, STYLE_DIM, STYLE_GOOD,
		STYLE_GOOD, STYLE_PLAIN };
	int slots = status_slots(l);

	if (l->state == STATE_HELD && slots > 0)
		table_cell(t, row, STATE, "%zu/%d slots", l->nholders, slots);
	else
		table_cell(t, row, STATE, "%s", state_names[l->state]);
	table_style(t, row, STATE, styles[l->state]);
}

/*
 * Adds a row for each holder, at least one; the first has the cells of the
 * lock.
 */
static void
show_lock(struct table *t, const struct lock_info *l)
{
	size_t first = t->nrows, row;

	for (size_t i = 0; i < (l->nholders > 0 ? l->nholders : 1); i++) {
		row = table_row(t);
		for (int c = HOLDER; c < (i == 0 ? t->columns : WAITING); c++)
			table_cell(t, row, c, "-");
		if (i < l->nholders)
			show_holder(t, row, l, &l->holders[i]);
	}
	table_text(t, first, LOCK, l->name);
	show_state(t, first, l);
	if (l->sample != NULL)
		table_cell(t, first, WAITING, "%d", l->sample->waiting);
	if (l->sample != NULL && l->sample->waiting > 0)
		table_style(t, first, WAITING, STYLE_BOLD);
	if (l->fence > 0 && t->columns > FENCE)
		table_cell(t, first, FENCE, "%" PRId64, l->fence);
}

/* With -v: prints the queue. */
static void
show_waiters(FILE *out, const struct lock_info *l)
{
	const struct server_view *v = l->sample;
	char text[DURATION_TEXT], who[OWNER_WHO], safe[2 * OWNER_WHO];

	for (size_t i = 0; v != NULL && i < v->nwaiters; i++) {
		const struct owner *w = &v->waiters[i];

		owner_who(who, w, "", 0);
		fprintf(out, "  waiting %zu: %s for %s\n", i + 1,
		    escape_text(safe, sizeof(safe), who, strlen(who)),
		    duration_format(owner_age_ms(w, v->now_us), text));
	}
	if (v != NULL && (size_t)v->waiting > v->nwaiters)
		fprintf(out, "  waiting: %zu more\n",
		    (size_t)v->waiting - v->nwaiters);
}

/* Prints the token of a run, its owner, its slot and its version. */
static void
show_token(FILE *out, const struct holder *h)
{
	char text[OWNER_WHO], safe[2 * OWNER_WHO], pid[OWNER_PID];
	const struct owner *o = &h->owner;
	bool known = o->version[0] != '\0';
	char slot[24] = "";

	if (h->slot > 0)
		snprintf(slot, sizeof(slot), ", slot %d", h->slot);
	snprintf(text, sizeof(text), "%s  %s@%s pid %s%s%s%s", o->token,
	    o->user, o->host, owner_pid(pid, o), slot,
	    known ? ", version " : "", o->version);
	fprintf(out, "  token %s\n",
	    escape_text(safe, sizeof(safe), text, strlen(text)));
}

/* With -v: prints the tokens and the view of each server. */
static void
show_views(FILE *out, const struct query *q, const struct lock_info *l)
{
	char text[DURATION_TEXT], who[OWNER_WHO], safe[2 * OWNER_WHO];

	for (size_t i = 0; i < l->nholders; i++)
		if (l->holders[i].ours)
			show_token(out, &l->holders[i]);
	for (int i = 0; i < q->nservers; i++) {
		const struct server_view *o = &l->views[i];
		const char *url = q->servers[i].conn.address.text;
		char server[ADDRESS_TEXT];

		escape_text(server, sizeof(server), url, strlen(url));
		if (!o->known)
			fprintf(out, "  %s  %s\n", server,
			    escape_text(safe, sizeof(safe), q->servers[i].why,
				strlen(q->servers[i].why)));
		else if (o->nholders == 0)
			fprintf(out, "  %s  free\n", server);
		for (size_t j = 0; j < o->nholders; j++) {
			const struct holder *h = &o->holders[j];

			owner_who(who, &h->owner, h->value, h->len);
			fprintf(out, "  %s  %s", server,
			    escape_text(safe, sizeof(safe), who, strlen(who)));
			if (h->ttl_ms >= 0)
				fprintf(out, ", %s left",
				    duration_format(h->ttl_ms, text));
			if (h->owner.lease_ms > 0 && !h->owner.in_cooldown)
				fprintf(out, ", at most %s",
				    duration_format(h->owner.ttl_ms, text));
			putc('\n', out);
		}
	}
}

/* Keeps what stands below the rows of a lock. */
static void
add_below(struct status_table *t, const struct query *q,
    const struct lock_info *l)
{
	size_t n = t->nbelow++;
	struct text text;

	if ((n & (n - 1)) == 0) /* doubles at each power of two */
		t->below =
		    xreallocarray(t->below, 2 * n + 1, sizeof(*t->below));
	t->below[n].end = t->table.nrows;
	text_begin(&text);
	show_waiters(text.out, l);
	show_views(text.out, q, l);
	t->below[n].text = text_end(&text);
}

void
status_table_begin(struct status_table *t, const struct options *opt)
{
	static const char *const titles[COLUMNS] = { "LOCK", "STATE", "HOLDER",
		"COMMAND", "HELD", "LEASE", "WAITING", "FENCE" };

	memset(t, 0, sizeof(*t));
	/* FENCE is shown only with -v, so that the table fits 80 columns. */
	table_init(&t->table, table_wants_colours(),
	    opt->verbose ? COLUMNS : FENCE, titles);
}

void
status_table_add(struct status_table *t, const struct status *st)
{
	for (size_t i = 0; i < st->nlocks; i++) {
		show_lock(&t->table, &st->locks[i]);
		if (st->query.opt->verbose)
			add_below(t, &st->query, &st->locks[i]);
	}
}

void
status_table_print(FILE *out, struct status_table *t)
{
	/* A message gives way first, and the holder last of all. */
	static const struct table_step steps[] = { { COMMAND, COMMAND_LEAST },
		{ FENCE, 0 }, { LEASE, 0 }, { HELD, 0 }, { COMMAND, 0 },
		{ WAITING, 0 }, { STATE, 0 }, { LOCK, LOCK_LEAST } };
	size_t row = 0;

	table_narrow(&t->table, steps, sizeof(steps) / sizeof(steps[0]));
	for (size_t i = 0; i < t->nbelow; i++) {
		table_print(out, &t->table, row, t->below[i].end);
		fputs(t->below[i].text, out);
		row = t->below[i].end;
	}
	table_print(out, &t->table, row, t->table.nrows);
}

void
status_table_release(struct status_table *t)
{
	for (size_t i = 0; i < t->nbelow; i++)
		free(t->below[i].text);
	free(t->below);
	table_release(&t->table);
}
