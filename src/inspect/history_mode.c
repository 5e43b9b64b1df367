/* Runs --history and chooses its exit status. */
#include <stdio.h>

#include "base/die.h"
#include "base/exit.h"
#include "base/log.h"
#include "base/moment.h"
#include "inspect/history.h"
#include "inspect/history_json.h"
#include "inspect/history_mode.h"
#include "inspect/history_table.h"
#include "inspect/max_age.h"
#include "inspect/report.h"

/*
 * Reports named locks without any run.  Returns EXIT_NO_RUNS if there is one,
 * else 0.
 */
static int
report_unknown(const struct history *h)
{
	int result = 0;

	for (size_t i = 0; i < h->nlocks; i++) {
		if (h->locks[i].runs.n > 0)
			continue;
		notice("%s: no runs recorded in the last 30 days",
		    h->locks[i].name);
		result = EXIT_NO_RUNS;
	}
	return result;
}

/* Reports that the options leave no run, in place of a table without rows. */
static void
report_none(const struct options *opt)
{
	bool named = opt->names.n > 0;
	bool whole =
	    opt->since.kind == MOMENT_NONE && opt->until.kind == MOMENT_NONE;

	notice("%s%sno %sruns recorded in %s", named ? opt->names.joined : "",
	    named ? ": " : "", opt->failed ? "failed " : "",
	    whole ? "the last 30 days" : "that time");
}

/* Reports what --since, --until and --failed cannot show. */
static void
report_rest(const struct options *opt, const struct run_list *list)
{
	bool since = opt->since.kind != MOMENT_NONE;
	bool trimmed = list->from_ms > list->now_ms - HISTORY_MS;
	int64_t asked_ms = since ? moment_ms(&opt->since, list->now_ms) : 0;
	char from[MOMENT_TEXT];

	if (!opt->failed && !since && opt->until.kind == MOMENT_NONE)
		return;
	if (list->found > list->n)
		notice("%zu earlier run%s not shown; --rows %zu shows all",
		    list->found - list->n,
		    list->found - list->n == 1 ? "" : "s", list->found);
	if (list->from_ms > asked_ms && (since || trimmed))
		notice("%s%sruns before %s are not all recorded; a lock keeps "
		       "its last 100 runs, for 30 days",
		    opt->names.n > 0 ? opt->names.joined : "",
		    opt->names.n > 0 ? ": " : "",
		    moment_format(list->from_ms, from));
}

static int
print_list(struct history *h)
{
	const struct options *opt = h->query.opt;
	struct run_list list = { 0 };
	int result, failures;
	bool none;

	while (history_next(h, QUERY_WINDOW))
		run_list_add(&list, h);
	run_list_sort(&list, opt);
	result = report_servers(&h->query, true, &failures);
	if (opt->json)
		history_json(stdout, h, &list);
	else if (list.n == 0 && result != 0)
		puts("unknown");
	else if (list.n > 0) /* a minority may have runs */
		history_table(stdout, h, &list);
	none = list.n == 0 && result == 0 && !opt->json;
	if (result == 0 && opt->names.n > 0)
		result = report_unknown(h);
	if (none && result == 0)
		report_none(opt);
	if (result == 0 && !opt->json)
		report_rest(opt, &list);
	run_list_release(&list);
	return result;
}

/* A zone without data makes every local time, read or written, UTC. */
static void
report_zone(void)
{
	const char *zone = moment_unknown_zone();

	if (zone != NULL)
		notice("TZ: this host has no zone data for '%s'; times are in "
		       "UTC",
		    zone);
}

int
history_run(const struct options *opt)
{
	struct history h = { 0 };
	int result;

	report_zone();
	query_init(&h.query, opt);
	h.query.arg = &h;
	h.with_skips = opt->all || opt->max_age_ms > 0;
	history_list(&h);
	result = opt->max_age_ms > 0 ? max_age_check(&h) : print_list(&h);
	die_unless_flushed();
	history_release(&h);
	return result;
}
