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

static const char *const state_names[] = { "unknown", "free", "held", "rest" };

/* How long the holder has it, by the server's clock; -1 if it does not say. */
static int64_t
held_ms(const struct entry *e)
{
	int64_t ms;

	if (e->state != STATE_HELD || !e->agreed->ours)
		return -1;
	ms = e->agreed->view.now_us / 1000 - e->agreed->owner.since_ms;
	return ms < 0 ? 0 : ms;
}

/* The table's cells are as wide as they turn out. */
static void
table_entry(char row[COLUMNS][CELL], const struct entry *e)
{
	const struct opinion *o = e->agreed;
	char text[DURATION_TEXT], raw[OWNER_WHO];

	escape_text(row[0], CELL, e->name, strlen(e->name));
	snprintf(row[1], CELL, "%s", state_names[e->state]);
	for (int c = 2; c < COLUMNS; c++)
		snprintf(row[c], CELL, "-");
	if (e->state == STATE_HELD || e->state == STATE_REST) {
		if (!o->ours)
			escape_text(
			    row[2], CELL / 2, o->view.value, o->view.len);
		else if (e->state == STATE_REST)
			snprintf(raw, sizeof(raw), "%s@%s", o->owner.user,
			    o->owner.host);
		else
			snprintf(raw, sizeof(raw), "%s@%s pid %d",
			    o->owner.user, o->owner.host, (int)o->owner.pid);
		if (o->ours) {
			escape_text(row[2], CELL, raw, strlen(raw));
			escape_text(row[3], CELL, o->owner.command,
			    strlen(o->owner.command));
		}
		if (e->ttl_ms >= 0)
			snprintf(row[5], CELL, "%s",
			    duration_format(e->ttl_ms, text));
		if (held_ms(e) >= 0)
			snprintf(row[4], CELL, "%s",
			    duration_format(held_ms(e), text));
	}
	if (e->state != STATE_UNKNOWN)
		snprintf(row[6], CELL, "%d", e->agreed->view.waiting);
	if (e->fence > 0)
		snprintf(row[7], CELL, "%" PRId64, e->fence);
}

static void
print_row(char row[COLUMNS][CELL], const int width[COLUMNS])
{
	for (int c = 0; c < COLUMNS; c++) {
		fputs(row[c], stdout);
		if (c + 1 < COLUMNS)
			printf("%*s", width[c] + 2 - escape_width(row[c]), "");
	}
	putchar('\n');
}

/* With -v: the token, and what each server says. */
static void
print_opinions(const struct status *st, const struct entry *e)
{
	char text[DURATION_TEXT], who[OWNER_WHO], safe[2 * OWNER_WHO];

	if (e->agreed != NULL && e->agreed->ours)
		printf("  token %s\n",
		    escape_text(safe, sizeof(safe), e->agreed->owner.token,
			strlen(e->agreed->owner.token)));
	for (int i = 0; i < st->nsources; i++) {
		const struct opinion *o = &e->opinions[i];
		const char *server = st->sources[i].node.address.text;

		if (!o->known)
			snprintf(who, sizeof(who), "%s", st->sources[i].why);
		else if (!o->view.taken)
			snprintf(who, sizeof(who), "free");
		else
			owner_who(who, o->view.value, o->view.len);
		printf("  %s  %s", server,
		    escape_text(safe, sizeof(safe), who, strlen(who)));
		if (o->known && o->view.ttl_ms >= 0)
			printf(
			    ", %s left", duration_format(o->view.ttl_ms, text));
		putchar('\n');
	}
}

void
show_table(const struct status *st)
{
	static const char *const titles[COLUMNS] = { "LOCK", "STATE", "HOLDER",
		"COMMAND", "HELD", "LEASE", "WAITING", "FENCE" };
	char(*rows)[COLUMNS][CELL];
	int width[COLUMNS] = { 0 }, w;

	if ((rows = calloc(st->nentries + 1, sizeof(*rows))) == NULL)
		die(EXIT_OS, "%s", strerror(errno));
	for (int c = 0; c < COLUMNS; c++)
		snprintf(rows[0][c], CELL, "%s", titles[c]);
	for (size_t i = 0; i < st->nentries; i++)
		table_entry(rows[i + 1], &st->entries[i]);
	for (size_t i = 0; i <= st->nentries; i++)
		for (int c = 0; c < COLUMNS; c++)
			if ((w = escape_width(rows[i][c])) > width[c])
				width[c] = w;
	print_row(rows[0], width);
	for (size_t i = 0; i < st->nentries; i++) {
		print_row(rows[i + 1], width);
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
json_holder(const struct entry *e)
{
	const struct opinion *o = e->agreed;

	if (o->ours) {
		putchar('{');
		json_string("token", o->owner.token);
		putchar(',');
		json_string("host", o->owner.host);
		printf(",\"pid\":%d,", (int)o->owner.pid);
		json_string("user", o->owner.user);
		putchar(',');
		json_string("command", o->owner.command);
		putchar(',');
		json_time("since", o->owner.since_ms);
	} else {
		printf("{\"token\":");
		escape_json(stdout, o->view.value, o->view.len);
		printf(",\"host\":null,\"pid\":null,\"user\":null,"
		       "\"command\":null,\"since\":null");
	}
	putchar(',');
	json_number("held_ms", held_ms(e), 0);
	putchar(',');
	json_number("ttl_ms", e->ttl_ms, 0);
	putchar('}');
}

static void
json_waiter(const struct opinion *o, const struct owner *w)
{
	int64_t ms = o->view.now_us / 1000 - w->since_ms;

	putchar('{');
	json_string("token", w->token);
	putchar(',');
	json_string("host", w->host);
	printf(",\"pid\":%d,\"waiting_ms\":%" PRId64 "}", (int)w->pid,
	    ms > 0 ? ms : 0);
}

static void
json_opinion(const struct source *s, const struct opinion *o)
{
	enum state state = !o->known ? STATE_UNKNOWN :
	    !o->view.taken           ? STATE_FREE :
	    o->owner.resting         ? STATE_REST :
				       STATE_HELD;

	putchar('{');
	json_string("server", s->node.address.text);
	printf(",\"state\":\"%s\",", state_names[state]);
	json_number("ttl_ms", o->known ? o->view.ttl_ms : -1, 0);
	putchar('}');
}

static void
json_entry(const struct status *st, const struct entry *e)
{
	bool taken = e->state == STATE_HELD || e->state == STATE_REST;

	putchar('{');
	json_string("name", e->name);
	printf(",\"state\":\"%s\",", state_names[e->state]);
	json_string("mode", taken && e->agreed->ours ? "exclusive" : NULL);
	putchar(',');
	json_number("ttl_ms", taken ? e->ttl_ms : -1, 0);
	printf(",\"waiting\":%d,",
	    e->agreed == NULL ? 0 : e->agreed->view.waiting);
	json_number("fence", e->fence, 1);
	printf(",\"holders\":[");
	if (taken)
		json_holder(e);
	printf("],\"waiters\":[");
	for (size_t i = 0; e->agreed != NULL && i < e->agreed->nwaiters; i++) {
		if (i > 0)
			putchar(',');
		json_waiter(e->agreed, &e->agreed->waiters[i]);
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
