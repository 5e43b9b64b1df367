/*
 * Everything printed here came from Redis, so everything is escaped.
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

/* The age of a lease by the server's clock; -1 if it has none. */
static int64_t
held_ms(const struct lock_info *l, const struct holder *h)
{
	if (l->sample == NULL || !h->ours || h->owner.resting)
		return -1;
	return owner_age_ms(&h->owner, l->sample->now_us);
}

/* The cells about one holder. */
static void
show_holder(struct table *t, size_t row, const struct lock_info *l,
    const struct holder *h)
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
	if (held_ms(l, h) >= 0)
		table_cell(
		    t, row, HELD, "%s", duration_format(held_ms(l, h), text));
	if (h->ttl_ms >= 0)
		table_cell(
		    t, row, LEASE, "%s", duration_format(h->ttl_ms, text));
}

/* A row for each holder, at least one; the first has the cells of the lock. */
static void
show_lock(struct table *t, const struct lock_info *l)
{
	static const enum style styles[] = { STYLE_BAD, STYLE_DIM, STYLE_GOOD,
		STYLE_GOOD, STYLE_PLAIN };
	size_t first = t->nrows, row;

	for (size_t i = 0; i < (l->nholders > 0 ? l->nholders : 1); i++) {
		row = table_row(t);
		for (int c = HOLDER; c < (i == 0 ? COLUMNS : WAITING); c++)
			table_cell(t, row, c, "-");
		if (i < l->nholders)
			show_holder(t, row, l, &l->holders[i]);
	}
	table_text(t, first, LOCK, l->name, strlen(l->name));
	table_cell(t, first, STATE, "%s", state_names[l->state]);
	table_style(t, first, STATE, styles[l->state]);
	if (l->sample != NULL)
		table_cell(t, first, WAITING, "%d", l->sample->waiting);
	if (l->sample != NULL && l->sample->waiting > 0)
		table_style(t, first, WAITING, STYLE_BOLD);
	if (l->fence > 0)
		table_cell(t, first, FENCE, "%" PRId64, l->fence);
}

/* With -v: the tokens, and the view of each server. */
static void
show_views(FILE *out, const struct query *q, const struct lock_info *l)
{
	char text[DURATION_TEXT], who[OWNER_WHO], safe[2 * OWNER_WHO];

	for (size_t i = 0; i < l->nholders; i++)
		if (l->holders[i].ours)
			fprintf(out, "  token %s\n",
			    escape_text(safe, sizeof(safe),
				l->holders[i].owner.token,
				strlen(l->holders[i].owner.token)));
	for (int i = 0; i < q->nservers; i++) {
		const struct server_view *o = &l->views[i];
		const char *server = q->servers[i].conn.address.text;

		if (!o->known)
			fprintf(out, "  %s  %s\n", server,
			    escape_text(safe, sizeof(safe), q->servers[i].why,
				strlen(q->servers[i].why)));
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
	const struct query *q = &st->query;
	struct table t;
	size_t row = 1, end;

	table_init(&t, table_wants_colours(), COLUMNS, titles);
	for (size_t i = 0; i < st->nlocks; i++)
		show_lock(&t, &st->locks[i]);
	table_print(out, &t, 0, 1);
	for (size_t i = 0; i < st->nlocks; i++) {
		const struct lock_info *l = &st->locks[i];

		end = row + (l->nholders > 0 ? l->nholders : 1);
		table_print(out, &t, row, end);
		row = end;
		if (q->opt->verbose)
			show_views(out, q, l);
	}
	table_release(&t);
}

/* A foreign value is its own token; nothing else of it is known. */
static void
json_holder(struct json *j, const struct lock_info *l, const struct holder *h)
{
	const struct owner *o = &h->owner;

	json_object(j, NULL);
	if (h->ours)
		json_string(j, "token", o->token);
	else
		json_bytes(j, "token", h->value, h->len);
	json_string(j, "host", h->ours ? o->host : NULL);
	json_number(j, "pid", h->ours ? o->pid : -1, 0);
	json_string(j, "user", h->ours ? o->user : NULL);
	json_string(j, "command", h->ours ? o->command : NULL);
	json_time(j, "since", h->ours ? o->since_ms : -1);
	json_number(j, "held_ms", held_ms(l, h), 0);
	json_number(j, "ttl_ms", h->ttl_ms, 0);
	json_end(j);
}

static void
json_waiter(struct json *j, const struct server_view *o, const struct owner *w)
{
	json_object(j, NULL);
	json_string(j, "token", w->token);
	json_string(j, "host", w->host);
	json_number(j, "pid", w->pid, 0);
	json_number(j, "waiting_ms", owner_age_ms(w, o->now_us), 0);
	json_end(j);
}

/* The lease of a server is that of the last of its holders. */
static void
json_view(
    struct json *j, const struct query_server *s, const struct server_view *o)
{
	int64_t ttl_ms = -1;

	for (size_t i = 0; i < o->nholders; i++)
		if (i == 0 || o->holders[i].ttl_ms < 0 ||
		    (ttl_ms >= 0 && o->holders[i].ttl_ms > ttl_ms))
			ttl_ms = o->holders[i].ttl_ms;
	json_object(j, NULL);
	json_string(j, "server", s->conn.address.text);
	json_string(j, "state", state_names[o->state]);
	json_number(j, "ttl_ms", ttl_ms, 0);
	json_end(j);
}

static void
json_lock(struct json *j, const struct query *q, const struct lock_info *l)
{
	bool ours = l->nholders > 0 && l->holders[0].ours;
	bool shared = ours && l->sample->shared;

	json_object(j, NULL);
	json_string(j, "name", l->name);
	json_string(j, "state", state_names[l->state]);
	json_string(j, "mode", shared ? "shared" : ours ? "exclusive" : NULL);
	json_number(j, "ttl_ms", l->ttl_ms, 0);
	json_number(
	    j, "waiting", l->sample == NULL ? 0 : l->sample->waiting, 0);
	json_number(j, "fence", l->fence, 1);
	json_array(j, "holders");
	for (size_t i = 0; i < l->nholders; i++)
		json_holder(j, l, &l->holders[i]);
	json_end(j);
	json_array(j, "waiters");
	for (size_t i = 0; l->sample != NULL && i < l->sample->nwaiters; i++)
		json_waiter(j, l->sample, &l->sample->waiters[i]);
	json_end(j);
	json_array(j, "servers");
	for (int i = 0; i < q->nservers; i++)
		json_view(j, &q->servers[i], &l->views[i]);
	json_end(j);
	json_end(j);
}

void
show_json(FILE *out, const struct status *st)
{
	struct json j = { .out = out };

	json_array(&j, NULL);
	for (size_t i = 0; i < st->nlocks; i++)
		json_lock(&j, &st->query, &st->locks[i]);
	json_end(&j);
}

int
status_run(const struct options *opt)
{
	struct status st;
	int result, failures;

	status_init(&st, opt);
	status_read(&st);
	result = query_report(&st.query, &failures);
	if (opt->json)
		show_json(stdout, &st);
	else if (failures < st.query.nservers) /* a minority may say it */
		show_table(stdout, &st);
	flush_output();
	for (size_t i = 0; i < st.nlocks && opt->names.n > 0; i++) {
		enum state state = st.locks[i].state;

		if (state == STATE_UNKNOWN &&
		    (result == 0 || result == EXIT_FREE))
			result = EXIT_UNREACHABLE;
		else if (state == STATE_FREE && result == 0)
			result = EXIT_FREE;
	}
	status_release(&st);
	return result;
}
