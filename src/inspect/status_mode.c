/* Runs --status and chooses its exit status. */
#include <stdio.h>

#include "base/die.h"
#include "base/exit.h"
#include "inspect/report.h"
#include "inspect/status.h"
#include "inspect/status_json.h"
#include "inspect/status_mode.h"
#include "inspect/status_table.h"

/* Returns what the states of the locks that were read last make of the status. */
static int
status_of(const struct status *st, int status)
{
	for (size_t i = 0; i < st->nlocks; i++) {
		enum state state = st->locks[i].state;

		if (state == STATE_UNKNOWN)
			status = EXIT_UNREACHABLE;
		else if (state == STATE_FREE && status == 0)
			status = EXIT_FREE;
	}
	return status;
}

/* Prints the locks, of which only the rows and the text below them stay. */
static int
print_table(struct status *st, int *states)
{
	const struct options *opt = st->query.opt;
	struct status_table t;
	int result, failures;

	status_table_begin(&t, opt);
	while (status_next(st, QUERY_WINDOW)) {
		*states = status_of(st, *states);
		if (!opt->quiet)
			status_table_add(&t, st);
	}
	result = report_servers(&st->query, true, &failures);
	if (!opt->quiet && failures < st->query.nservers &&
	    (st->query.nlocks > 0 || result == 0))
		status_table_print(stdout, &t); /* even of a minority */
	else if (!opt->quiet)
		puts("unknown");
	status_table_release(&t);
	return result;
}

/* Of the locks only their text stays in memory. */
static int
print_json(struct status *st, int *states)
{
	struct status_json document;
	int result, failures;

	status_json_begin(&document);
	while (status_next(st, QUERY_WINDOW)) {
		*states = status_of(st, *states);
		status_json_add(&document, st);
	}
	result = report_servers(&st->query, true, &failures);
	status_json_end(stdout, &document, &st->query);
	return result;
}

int
status_run(const struct options *opt)
{
	struct status st;
	int result, states = 0;

	status_init(&st, opt);
	status_list(&st);
	result =
	    opt->json ? print_json(&st, &states) : print_table(&st, &states);
	if (opt->names.n > 0 && result == 0)
		result = states;
	die_unless_flushed();
	status_release(&st);
	return result;
}
