/*
 * Prints the probes as a table and the findings as sentences, or both as JSON.
 * All of it may come from Redis, so all of it is escaped.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "base/duration.h"
#include "base/escape.h"
#include "base/exit.h"
#include "base/json.h"
#include "base/table.h"
#include "base/xalloc.h"
#include "inspect/check.h"
#include "inspect/findings.h"
#include "inspect/members.h"
#include "inspect/probe.h"
#include "inspect/query.h"
#include "protocol/acl.h"

enum {
	SERVER,
	VERDICT,
	VERSION_IS,
	ROLE,
	UPTIME,
	CLOCK,
	RTT,
	PERSISTENCE,
	EVICTION,
	COLUMNS
};

static const char *
role_of(const struct probe *p)
{
	return strcmp(p->mode, "sentinel") == 0 ? "sentinel" :
	    strcmp(p->role, "slave") == 0       ? "replica" :
						  p->role;
}

/* Writes "Valkey 8.1.0" or, for Redis, the number alone. */
static void
version_of(char *text, size_t size, const struct probe *p)
{
	snprintf(text, size, "%s%s", p->valkey ? "Valkey " : "", p->version);
}

static void
show_probe(struct table *t, size_t row, const struct probe *p)
{
	char text[DURATION_TEXT], version[PROBE_WORD + 8];
	int64_t off_ms = p->offset_us / 1000;

	if (p->informed) {
		version_of(version, sizeof(version), p);
		table_text(t, row, VERSION_IS, version);
		table_text(t, row, ROLE, role_of(p));
		table_text(t, row, PERSISTENCE, findings_persistence(p));
		table_text(t, row, EVICTION,
		    p->policy[0] != '\0' ? p->policy : "-");
	}
	if (p->uptime_ms >= 0)
		table_text(t, row, UPTIME, duration_format(p->uptime_ms, text));
	if (p->offset_us != PROBE_UNKNOWN)
		table_cell(t, row, CLOCK, "%s%s",
		    off_ms > 0     ? "+" :
			off_ms < 0 ? "-" :
				     "",
		    duration_format(off_ms < 0 ? -off_ms : off_ms, text));
	if (p->rtt_us >= 0 && p->rtt_us < 1000)
		table_cell(t, row, RTT, "%dus", (int)p->rtt_us);
	else if (p->rtt_us >= 0)
		table_cell(t, row, RTT, "%" PRId64 ".%02dms", p->rtt_us / 1000,
		    (int)(p->rtt_us % 1000 / 10));
}

static void
show_table(FILE *out, const struct probe *probes, const struct findings *found,
    int n)
{
	static const char *const titles[COLUMNS] = { "SERVER", "VERDICT",
		"VERSION", "ROLE", "UPTIME", "CLOCK", "RTT", "PERSISTENCE",
		"EVICTION" };
	struct table t;

	table_init(&t, table_wants_colours(), COLUMNS, titles);
	for (int i = 0; i < n; i++) {
		size_t row = table_row(&t);
		bool good = found[i].worst == LEVEL_NOTE;

		table_text(&t, row, SERVER, probes[i].address->text);
		table_text(&t, row, VERDICT, good ? "OK" : "NOT OK");
		table_style(&t, row, VERDICT, good ? STYLE_GOOD : STYLE_BAD);
		for (int c = VERSION_IS; c < COLUMNS; c++)
			table_text(&t, row, c, "-");
		show_probe(&t, row, &probes[i]);
	}
	table_print(out, &t, 0, t.nrows);
	table_release(&t);
}

/* Prints a line for each finding; with -q only for bad ones. */
static void
show_findings(FILE *out, const struct probe *probes,
    const struct findings *found, int n, bool quiet)
{
	char safe[4 * ACL_TEXT];

	for (int i = 0; i < n; i++)
		for (int j = 0; j < found[i].n; j++) {
			const struct finding *it = &found[i].list[j];

			if (quiet && it->level == LEVEL_NOTE)
				continue;
			fprintf(out, "%s: ",
			    escape_text(safe, sizeof(safe),
				probes[i].address->text,
				strlen(probes[i].address->text)));
			fprintf(out, "%s: %s\n",
			    it->level == LEVEL_NOTE ? "note" : "NOT OK",
			    escape_text(safe, sizeof(safe), it->text,
				strlen(it->text)));
		}
}

static void
json_server(struct json *j, const struct probe *p, const struct findings *found)
{
	char version[PROBE_WORD + 8];

	version_of(version, sizeof(version), p);
	json_object(j, NULL);
	json_string(j, "server", p->address->text);
	json_string(j, "state", members_server_state(p->failure));
	json_string(j, "error", p->failure == REPLY_OK ? NULL : p->why);
	json_bool(j, "ok", found->worst == LEVEL_NOTE);
	json_string(j, "version", p->informed ? version : NULL);
	json_string(j, "role", p->informed ? role_of(p) : NULL);
	json_number(j, "uptime_ms", p->uptime_ms, 0);
	json_number(j, "clock_offset_ms",
	    p->offset_us == PROBE_UNKNOWN ? p->offset_us : p->offset_us / 1000,
	    PROBE_UNKNOWN + 1);
	json_number(j, "rtt_us", p->rtt_us, 0);
	json_string(j, "persistence", findings_persistence(p));
	json_string(j, "eviction", p->policy[0] != '\0' ? p->policy : NULL);
	json_array(j, "findings");
	for (int i = 0; i < found->n; i++) {
		const struct finding *it = &found->list[i];

		json_object(j, NULL);
		json_string(j, "level",
		    it->level == LEVEL_NOTE ? "note" : "bad");
		json_string(j, "text", it->text);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

static void
show_json(FILE *out, const struct probe *probes, const struct findings *found,
    int n)
{
	struct json j = { .out = out };

	members_begin(&j);
	json_array(&j, "servers");
	for (int i = 0; i < n; i++)
		json_server(&j, &probes[i], &found[i]);
	json_end(&j);
	json_end(&j);
}

int
check_run(const struct options *opt)
{
	int n = opt->servers.n, result = 0;
	struct findings *found = xcalloc((size_t)n, sizeof(*found));
	struct probe *probes = xcalloc((size_t)n, sizeof(*probes));
	struct query q;

	query_init(&q, opt);
	probe_servers(probes, &q);
	query_release(&q);
	findings_judge(found, probes, n, opt);
	if (opt->json)
		show_json(stdout, probes, found, n);
	else if (!opt->quiet)
		show_table(stdout, probes, found, n);
	if (!opt->json)
		show_findings(stdout, probes, found, n, opt->quiet);
	die_unless_flushed();
	for (int i = 0; i < n; i++) {
		if (found[i].worst == LEVEL_REFUSED)
			result = EXIT_REFUSED;
		else if (found[i].worst == LEVEL_BAD && result == 0)
			result = EXIT_UNREACHABLE;
		findings_release(&found[i]);
	}
	free(found);
	free(probes);
	return result;
}
