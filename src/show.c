/*
 * What --status found, as a table for people or as JSON for programs.
 * Everything printed here came out of Redis, so everything is escaped.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "escape.h"
#include "exitcode.h"
#include "log.h"
#include "show.h"

#define COLUMNS 8
#define CELL    300

static const char *const state_names[] = { "unknown", "free", "held", "shared",
	"rest" };

/* How long it has it, by the server's clock; -1 if it does not say. */
static int64_t
held_ms(const struct entry *e, const struct holder *h)
{
	int64_t ms;

	if (e->said == NULL || !h->ours || h->owner.resting)
		return -1;
	ms = e->said->now_us / 1000 - h->owner.since_ms;
	return ms < 0 ? 0 : ms;
}

/* What stands in the row of a holder alone. */
static void
table_holder(
    char row[COLUMNS][CELL], const struct entry *e, const struct holder *h)
{
	char text[DURATION_TEXT], raw[OWNER_WHO];

	if (!h->ours)
		escape_text(row[2], CELL / 2, h->value, h->len);
	else if (h->owner.resting)
		snprintf(
		    raw, sizeof(raw), "%s@%s", h->owner.user, h->owner.host);
	else
		snprintf(raw, sizeof(raw), "%s@%s pid %d", h->owner.user,
		    h->owner.host, (int)h->owner.pid);
	if (h->ours) {
		escape_text(row[2], CELL, raw, strlen(raw));
		escape_text(
		    row[3], CELL, h->owner.command, strlen(h->owner.command));
	}
	if (held_ms(e, h) >= 0)
		snprintf(
		    row[4], CELL, "%s", duration_format(held_ms(e, h), text));
	if (h->ttl_ms >= 0)
		snprintf(row[5], CELL, "%s", duration_format(h->ttl_ms, text));
}

/* A row for each holder, and one at least; the first says the rest. */
static size_t
rows_of(const struct entry *e)
{
	return e->nholders > 0 ? e->nholders : 1;
}

static void
table_entry(char rows[][COLUMNS][CELL], const struct entry *e)
{
	for (int c = 2; c < COLUMNS; c++)
		snprintf(rows[0][c], CELL, "-");
	escape_text(rows[0][0], CELL, e->name, strlen(e->name));
	snprintf(rows[0][1], CELL, "%s", state_names[e->state]);
	for (size_t i = 0; i < e->nholders; i++) {
		for (int c = 2; c < 6; c++)
			snprintf(rows[i][c], CELL, "-");
		table_holder(rows[i], e, &e->holders[i]);
	}
	if (e->said != NULL)
		snprintf(rows[0][6], CELL, "%d", e->said->waiting);
	if (e->fence > 0)
		snprintf(rows[0][7], CELL, "%" PRId64, e->fence);
}

/* Without blanks behind the last that says anything. */
static void
print_row(char row[COLUMNS][CELL], const int width[COLUMNS])
{
	int last = COLUMNS - 1;

	while (last > 0 && row[last][0] == '\0')
		last--;
	for (int c = 0; c <= last; c++) {
		fputs(row[c], stdout);
		if (c < last)
			printf("%*s", width[c] + 2 - escape_width(row[c]), "");
	}
	putchar('\n');
}

/* With -v: the tokens, and what each server says. */
static void
print_opinions(const struct status *st, const struct entry *e)
{
	char text[DURATION_TEXT], who[OWNER_WHO], safe[2 * OWNER_WHO];

	for (size_t i = 0; i < e->nholders; i++)
		if (e->holders[i].ours)
			printf("  token %s\n",
			    escape_text(safe, sizeof(safe),
				e->holders[i].owner.token,
				strlen(e->holders[i].owner.token)));
	for (int i = 0; i < st->nsources; i++) {
		const struct opinion *o = &e->opinions[i];
		const char *server = st->sources[i].node.address.text;

		if (!o->known)
			printf("  %s  %s\n", server,
			    escape_text(safe, sizeof(safe), st->sources[i].why,
				strlen(st->sources[i].why)));
		else if (o->nholders == 0)
			printf("  %s  free\n", server);
		for (size_t j = 0; j < o->nholders; j++) {
			const struct holder *h = &o->holders[j];

			owner_who(who, h->value, h->len);
			printf("  %s  %s", server,
			    escape_text(safe, sizeof(safe), who, strlen(who)));
			if (h->ttl_ms >= 0)
				printf(", %s left",
				    duration_format(h->ttl_ms, text));
			putchar('\n');
		}
	}
}

void
show_table(const struct status *st)
{
	static const char *const titles[COLUMNS] = { "LOCK", "STATE", "HOLDER",
		"COMMAND", "HELD", "LEASE", "WAITING", "FENCE" };
	char(*rows)[COLUMNS][CELL];
	int width[COLUMNS] = { 0 }, w;
	size_t n = 1, row = 1;

	for (size_t i = 0; i < st->nentries; i++)
		n += rows_of(&st->entries[i]);
	if ((rows = calloc(n, sizeof(*rows))) == NULL)
		die(EXIT_OS, "%s", strerror(errno));
	for (int c = 0; c < COLUMNS; c++)
		snprintf(rows[0][c], CELL, "%s", titles[c]);
	for (size_t i = 0; i < st->nentries; i++) {
		table_entry(rows + row, &st->entries[i]);
		row += rows_of(&st->entries[i]);
	}
	for (size_t i = 0; i < n; i++)
		for (int c = 0; c < COLUMNS; c++)
			if ((w = escape_width(rows[i][c])) > width[c])
				width[c] = w;
	print_row(rows[0], width);
	row = 1;
	for (size_t i = 0; i < st->nentries; i++) {
		for (size_t end = row + rows_of(&st->entries[i]); row < end;)
			print_row(rows[row++], width);
		if (st->opt->verbose)
			print_opinions(st, &st->entries[i]);
	}
	free(rows);
}

static void
json_string(const char *name, const char *value)
{
	printf("\"%s\":", name);
	escape_json(stdout, value, value == NULL ? 0 : strlen(value));
}

/* A number, or null if it is less than least. */
static void
json_number(const char *name, int64_t value, int64_t least)
{
	if (value < least)
		printf("\"%s\":null", name);
	else
		printf("\"%s\":%" PRId64, name, value);
}

static void
json_time(const char *name, int64_t wall_ms)
{
	char text[40];
	time_t seconds = wall_ms / 1000;
	struct tm tm;

	if (gmtime_r(&seconds, &tm) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		printf("\"%s\":null", name);
	else
		printf(
		    "\"%s\":\"%s.%03dZ\"", name, text, (int)(wall_ms % 1000));
}

static void
json_holder(const struct entry *e, const struct holder *h)
{
	if (h->ours) {
		putchar('{');
		json_string("token", h->owner.token);
		putchar(',');
		json_string("host", h->owner.host);
		printf(",\"pid\":%d,", (int)h->owner.pid);
		json_string("user", h->owner.user);
		putchar(',');
		json_string("command", h->owner.command);
		putchar(',');
		json_time("since", h->owner.since_ms);
	} else {
		printf("{\"token\":");
		escape_json(stdout, h->value, h->len);
		printf(",\"host\":null,\"pid\":null,\"user\":null,"
		       "\"command\":null,\"since\":null");
	}
	putchar(',');
	json_number("held_ms", held_ms(e, h), 0);
	putchar(',');
	json_number("ttl_ms", h->ttl_ms, 0);
	putchar('}');
}

static void
json_waiter(const struct opinion *o, const struct owner *w)
{
	int64_t ms = o->now_us / 1000 - w->since_ms;

	putchar('{');
	json_string("token", w->token);
	putchar(',');
	json_string("host", w->host);
	printf(",\"pid\":%d,\"waiting_ms\":%" PRId64 "}", (int)w->pid,
	    ms > 0 ? ms : 0);
}

/* The lease of a server is that of the last of its holders. */
static void
json_opinion(const struct source *s, const struct opinion *o)
{
	int64_t ttl_ms = -1;

	for (size_t i = 0; i < o->nholders; i++)
		if (i == 0 || o->holders[i].ttl_ms < 0 ||
		    (ttl_ms >= 0 && o->holders[i].ttl_ms > ttl_ms))
			ttl_ms = o->holders[i].ttl_ms;
	putchar('{');
	json_string("server", s->node.address.text);
	printf(",\"state\":\"%s\",", state_names[o->state]);
	json_number("ttl_ms", ttl_ms, 0);
	putchar('}');
}

static void
json_entry(const struct status *st, const struct entry *e)
{
	bool ours = e->nholders > 0 && e->holders[0].ours;
	bool shared = ours && e->said->shared;

	putchar('{');
	json_string("name", e->name);
	printf(",\"state\":\"%s\",", state_names[e->state]);
	json_string("mode", shared ? "shared" : ours ? "exclusive" : NULL);
	putchar(',');
	json_number("ttl_ms", e->ttl_ms, 0);
	printf(",\"waiting\":%d,", e->said == NULL ? 0 : e->said->waiting);
	json_number("fence", e->fence, 1);
	printf(",\"holders\":[");
	for (size_t i = 0; i < e->nholders; i++) {
		if (i > 0)
			putchar(',');
		json_holder(e, &e->holders[i]);
	}
	printf("],\"waiters\":[");
	for (size_t i = 0; e->said != NULL && i < e->said->nwaiters; i++) {
		if (i > 0)
			putchar(',');
		json_waiter(e->said, &e->said->waiters[i]);
	}
	printf("],\"servers\":[");
	for (int i = 0; i < st->nsources; i++) {
		if (i > 0)
			putchar(',');
		json_opinion(&st->sources[i], &e->opinions[i]);
	}
	printf("]}");
}

void
show_json(const struct status *st)
{
	putchar('[');
	for (size_t i = 0; i < st->nentries; i++) {
		if (i > 0)
			printf(",\n ");
		json_entry(st, &st->entries[i]);
	}
	printf("]\n");
}
