/* Defaults and release of struct options. */
#include "base/clock.h"
#include "base/exit.h"
#include "config/options.h"

void
options_init(struct options *opt)
{
	*opt = (struct options){
		.conflict_status = EXIT_BUSY,
		.capacity = 1,
		.rows = 50,
		.max_run_ms = CLOCK_NEVER,
	};
}

void
options_release(struct options *opt)
{
	servers_release(&opt->servers);
	settings_release(&opt->settings);
	names_release(&opt->names);
}
