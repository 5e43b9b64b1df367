/* Runs --status and chooses its exit status. */
#include <stdio.h>

#include "base/die.h"
#include "base/exit.h"
#include "inspect/report.h"
#include "inspect/status.h"
#include "inspect/status_json.h"
#include "inspect/status_mode.h"
#include "inspect/status_table.h"

/* Returns what the states of named locks make of the exit status. */
static int
status_of(const struct status *st, int result)
{
	for (size_t i = 0; i < st->nlocks; i++) {
		enum state state = st->locks[i].state;

		if (state == STATE_UNKNOWN &&
		    (result == 0 || result == EXIT_FREE))
			result = EXIT_UNREACHABLE;
		else if (state == STATE_FREE && result == 0)
			result = EXIT_FREE;
	}
	return result;
}

/* Prints the locks under the prefix, of which only the rows stay in memory. */
static int
print_rows(struct status *st)
{
	int result, failures;
	struct table t;

	status_list(st);
	status_table_begin(&t, st->query.opt);
	while (status_next(st, QUERY_WINDOW))
		status_table_add(&t, st);
	result = report_servers(&st->query, true, &failures);
	if (st->query.nlocks == 0 && result != 0)
		puts("unknown");
	else if (failures <
	    st->query.nservers) /* a minority still shows its view */
		table_print(stdout, &t, 0, t.nrows);
	table_release(&t);
	return result;
}

/* Of the locks only their text stays in memory. */
static int
print_json(struct status *st)
{
	struct status_json document = { 0 };
	int result, failures;

	status_list(st);
	status_json_begin(&document);
	while (status_next(st, QUERY_WINDOW))
		status_json_add(&document, st);
	result = report_servers(&st->query, true, &failures);
	status_json_end(stdout, &document, &st->query);
	return result;
}

static int
print_all(struct status *st)
{
	const struct options *opt = st->query.opt;
	int result, failures;

	status_read(st);
	result = report_servers(&st->query, true, &failures);
	if (!opt->quiet && st->nlocks == 0 && result != 0)
		puts("unknown");
	else if (!opt->quiet && failures < st->query.nservers)
		status_table(stdout, st);
	return result;
}

int
status_run(const struct options *opt)
{
	bool rows =
	    opt->names.n == 0 && !opt->json && !opt->quiet && !opt->verbose;
	struct status st;
	int result;

	status_init(&st, opt);
	result = rows ? print_rows(&st) :
	    opt->json ? print_json(&st) :
			print_all(&st);
	if (opt->names.n > 0)
		result = status_of(&st, result);
	die_unless_flushed();
	status_release(&st);
	return result;
}
