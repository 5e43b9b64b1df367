/*
 * What --status found, as a table for people or as JSON for programs.
 * Everything printed here came out of Redis, so everything is escaped.
 */
#include <inttypes.h>
#include <string.h>

#include "base/duration.h"
#include "base/die.h"
#include "base/escape.h"
#include "base/exitcode.h"
#include "base/json.h"
#include "base/table.h"
#include "inspect/status.h"

enum { LOCK, STATE, HOLDER, COMMAND, HELD, LEASE, WAITING, FENCE, COLUMNS };

static const char *const state_names[] = { "unknown", "free", "held", "shared",
	"rest" };

/* How long it has it, by the server's clock; -1 if it does not say. */
static int64_t
held_ms(const struct entry *e, const struct holder *h)
{
	if (e->said == NULL || !h->ours || h->owner.resting)
		return -1;
	return owner_age_ms(&h->owner, e->said->now_us);
}

/* What stands in the row of a holder alone. */
static void
show_holder(
    struct table *t, size_t row, const struct entry *e, const struct holder *h)
{
	char text[DURATION_TEXT], who[OWNER_WHO];
	const struct owner *o = &h->owner;

	if (!h->ours) {
		table_text(t, row, HOLDER, h->value, h->len < 75 ? h->len : 75);
	} else {
		if (o->resting)
			snprintf(who, sizeof(who), "%s@%s", o->user, o->host);
		else
			snprintf(who, sizeof(who), "%s@%s pid %d", o->user,
			    o->host, (int)o->pid);
		table_text(t, row, HOLDER, who, strlen(who));
		table_text(t, row, COMMAND, o->command, strlen(o->command));
	}
	if (held_ms(e, h) >= 0)
		table_cell(
		    t, row, HELD, "%s", duration_format(held_ms(e, h), text));
	if (h->ttl_ms >= 0)
		table_cell(
		    t, row, LEASE, "%s", duration_format(h->ttl_ms, text));
}

/* A row for each holder, and one at least; the first says the rest. */
static void
show_entry(struct table *t, const struct entry *e)
{
	static const enum style styles[] = { STYLE_BAD, STYLE_DIM, STYLE_GOOD,
		STYLE_GOOD, STYLE_PLAIN };
	size_t first = t->nrows, row;

	for (size_t i = 0; i < (e->nholders > 0 ? e->nholders : 1); i++) {
		row = table_row(t);
		for (int c = HOLDER; c < (i == 0 ? COLUMNS : WAITING); c++)
			table_cell(t, row, c, "-");
		if (i < e->nholders)
			show_holder(t, row, e, &e->holders[i]);
	}
	table_text(t, first, LOCK, e->name, strlen(e->name));
	table_cell(t, first, STATE, "%s", state_names[e->state]);
	table_style(t, first, STATE, styles[e->state]);
	if (e->said != NULL)
		table_cell(t, first, WAITING, "%d", e->said->waiting);
	if (e->said != NULL && e->said->waiting > 0)
		table_style(t, first, WAITING, STYLE_BOLD);
	if (e->fence > 0)
		table_cell(t, first, FENCE, "%" PRId64, e->fence);
}

/* With -v: the tokens, and what each server says. */
static void
show_opinions(FILE *out, const struct survey *sv, const struct entry *e)
{
	char text[DURATION_TEXT], who[OWNER_WHO], safe[2 * OWNER_WHO];

	for (size_t i = 0; i < e->nholders; i++)
		if (e->holders[i].ours)
			fprintf(out, "  token %s\n",
			    escape_text(safe, sizeof(safe),
				e->holders[i].owner.token,
				strlen(e->holders[i].owner.token)));
	for (int i = 0; i < sv->nsources; i++) {
		const struct opinion *o = &e->opinions[i];
		const char *server = sv->sources[i].conn.address.text;

		if (!o->known)
			fprintf(out, "  %s  %s\n", server,
			    escape_text(safe, sizeof(safe), sv->sources[i].why,
				strlen(sv->sources[i].why)));
		else if (o->nholders == 0)
			fprintf(out, "  %s  free\n", server);
		for (size_t j = 0; j < o->nholders; j++) {
			const struct holder *h = &o->holders[j];

			owner_who(who, h->value, h->len);
			fprintf(out, "  %s  %s", server,
			    escape_text(safe, sizeof(safe), who, strlen(who)));
			if (h->ttl_ms >= 0)
				fprintf(out, ", %s left",
				    duration_format(h->ttl_ms, text));
			putc('\n', out);
		}
	}
}

void
show_table(FILE *out, const struct status *st)
{
	static const char *const titles[COLUMNS] = { "LOCK", "STATE", "HOLDER",
		"COMMAND", "HELD", "LEASE", "WAITING", "FENCE" };
	const struct survey *sv = &st->survey;
	struct table t;
	size_t row = 1, end;

	table_init(&t, table_wants_colours(), COLUMNS, titles);
	for (size_t i = 0; i < st->nentries; i++)
		show_entry(&t, &st->entries[i]);
	table_print(out, &t, 0, 1);
	for (size_t i = 0; i < st->nentries; i++) {
		const struct entry *e = &st->entries[i];

		end = row + (e->nholders > 0 ? e->nholders : 1);
		table_print(out, &t, row, end);
		row = end;
		if (sv->opt->verbose)
			show_opinions(out, sv, e);
	}
	table_release(&t);
}

static void
json_holder(FILE *out, const struct entry *e, const struct holder *h)
{
	if (h->ours) {
		putc('{', out);
		json_string(out, "token", h->owner.token);
		putc(',', out);
		json_string(out, "host", h->owner.host);
		fprintf(out, ",\"pid\":%d,", (int)h->owner.pid);
		json_string(out, "user", h->owner.user);
		putc(',', out);
		json_string(out, "command", h->owner.command);
		putc(',', out);
		json_time(out, "since", h->owner.since_ms);
	} else {
		fprintf(out, "{\"token\":");
		escape_json(out, h->value, h->len);
		fprintf(out,
		    ",\"host\":null,\"pid\":null,\"user\":null,"
		    "\"command\":null,\"since\":null");
	}
	putc(',', out);
	json_number(out, "held_ms", held_ms(e, h), 0);
	putc(',', out);
	json_number(out, "ttl_ms", h->ttl_ms, 0);
	putc('}', out);
}

static void
json_waiter(FILE *out, const struct opinion *o, const struct owner *w)
{
	putc('{', out);
	json_string(out, "token", w->token);
	putc(',', out);
	json_string(out, "host", w->host);
	fprintf(out, ",\"pid\":%d,\"waiting_ms\":%" PRId64 "}", (int)w->pid,
	    owner_age_ms(w, o->now_us));
}

/* The lease of a server is that of the last of its holders. */
static void
json_opinion(FILE *out, const struct source *s, const struct opinion *o)
{
	int64_t ttl_ms = -1;

	for (size_t i = 0; i < o->nholders; i++)
		if (i == 0 || o->holders[i].ttl_ms < 0 ||
		    (ttl_ms >= 0 && o->holders[i].ttl_ms > ttl_ms))
			ttl_ms = o->holders[i].ttl_ms;
	putc('{', out);
	json_string(out, "server", s->conn.address.text);
	fprintf(out, ",\"state\":\"%s\",", state_names[o->state]);
	json_number(out, "ttl_ms", ttl_ms, 0);
	putc('}', out);
}

static void
json_entry(FILE *out, const struct survey *sv, const struct entry *e)
{
	bool ours = e->nholders > 0 && e->holders[0].ours;
	bool shared = ours && e->said->shared;

	putc('{', out);
	json_string(out, "name", e->name);
	fprintf(out, ",\"state\":\"%s\",", state_names[e->state]);
	json_string(out, "mode", shared ? "shared" : ours ? "exclusive" : NULL);
	putc(',', out);
	json_number(out, "ttl_ms", e->ttl_ms, 0);
	fprintf(
	    out, ",\"waiting\":%d,", e->said == NULL ? 0 : e->said->waiting);
	json_number(out, "fence", e->fence, 1);
	fprintf(out, ",\"holders\":[");
	for (size_t i = 0; i < e->nholders; i++) {
		if (i > 0)
			putc(',', out);
		json_holder(out, e, &e->holders[i]);
	}
	fprintf(out, "],\"waiters\":[");
	for (size_t i = 0; e->said != NULL && i < e->said->nwaiters; i++) {
		if (i > 0)
			putc(',', out);
		json_waiter(out, e->said, &e->said->waiters[i]);
	}
	fprintf(out, "],\"servers\":[");
	for (int i = 0; i < sv->nsources; i++) {
		if (i > 0)
			putc(',', out);
		json_opinion(out, &sv->sources[i], &e->opinions[i]);
	}
	fprintf(out, "]}");
}

void
show_json(FILE *out, const struct status *st)
{
	putc('[', out);
	for (size_t i = 0; i < st->nentries; i++) {
		if (i > 0)
			fprintf(out, ",\n ");
		json_entry(out, &st->survey, &st->entries[i]);
	}
	fprintf(out, "]\n");
}

int
status_run(const struct options *opt)
{
	struct status st;
	int result, failures;

	status_init(&st, opt);
	status_read(&st);
	result = survey_report(&st.survey, &failures);
	if (opt->json)
		show_json(stdout, &st);
	else if (failures < st.survey.nsources) /* a minority may say it */
		show_table(stdout, &st);
	flush_output();
	for (size_t i = 0; i < st.nentries && opt->nnames > 0; i++) {
		enum state state = st.entries[i].state;

		if (state == STATE_UNKNOWN &&
		    (result == 0 || result == EXIT_FREE))
			result = EXIT_UNREACHABLE;
		else if (state == STATE_FREE && result == 0)
			result = EXIT_FREE;
	}
	status_release(&st);
	return result;
}
