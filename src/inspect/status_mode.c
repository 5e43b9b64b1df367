/* Runs --status and chooses its exit status. */
#include <stdio.h>

#include "base/die.h"
#include "base/exit.h"
#include "inspect/report.h"
#include "inspect/status.h"
#include "inspect/status_json.h"
#include "inspect/status_mode.h"
#include "inspect/status_table.h"

int
status_run(const struct options *opt)
{
	struct status st;
	int result, failures;

	status_init(&st, opt);
	status_read(&st);
	result = report_servers(&st.query, true, &failures);
	if (opt->json)
		status_json(stdout, &st);
	else if (!opt->quiet && st.nlocks == 0 && result != 0)
		puts("unknown");
	else if (!opt->quiet &&
	    failures < st.query.nservers) /* a minority still shows its view */
		status_table(stdout, &st);
	die_unless_flushed();
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
