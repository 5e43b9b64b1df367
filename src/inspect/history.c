/* Runs --history and chooses its exit status. */
#include <stdio.h>

#include "base/die.h"
#include "inspect/history.h"
#include "inspect/history_json.h"
#include "inspect/history_table.h"
#include "inspect/runlog.h"

int
history_run(const struct options *opt)
{
	struct history h = { 0 };
	int result, failures;

	query_init(&h.query, opt);
	h.query.arg = &h;
	history_read(&h);
	result = query_report(&h.query, &failures);
	if (opt->json)
		history_json(stdout, &h);
	else if (failures < h.query.nservers) /* a minority may say it */
		history_table(stdout, &h);
	flush_output();
	history_release(&h);
	return result;
}
