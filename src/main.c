/*
 * redlock-run -k NAME -- COMMAND: runs COMMAND while it holds the lock NAME.
 */
#include <sys/auxv.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/die.h"
#include "base/exit.h"
#include "config/cmdline.h"
#include "config/show_config.h"
#include "inspect/break.h"
#include "inspect/check.h"
#include "inspect/history_mode.h"
#include "inspect/metrics.h"
#include "inspect/status_mode.h"
#include "inspect/watch.h"
#include "process/signals.h"
#include "process/streams.h"
#include "run/nested.h"
#include "run/run.h"

/* Runs an option that starts no COMMAND.  Returns the exit status. */
static int
run_query_mode(const struct options *opt)
{
	switch (opt->mode) {
	case MODE_STATUS:
		return opt->watch ? watch_run(opt) : status_run(opt);
	case MODE_HISTORY:
		return history_run(opt);
	case MODE_BREAK:
		return break_run(opt);
	case MODE_CHECK:
		return check_run(opt);
	case MODE_METRICS:
		return metrics_run(opt);
	case MODE_SHOW_CONFIG:
		show_config(stdout, opt);
		die_unless_flushed();
		return 0;
	case MODE_RUN:
		break;
	}
	return EXIT_USAGE;
}

/*
 * Refuses to run with more rights than the caller has, who controls the
 * environment, the files and COMMAND.  AT_SECURE alone does not mean that:
 * SELinux sets it where systemd starts a service.
 */
static void
refuse_privileges(void)
{
	if (getauxval(AT_SECURE) == 0)
		return;
	if (getuid() == geteuid() && getgid() == getegid() &&
	    getxattr("/proc/self/exe", "security.capability", NULL, 0) < 0)
		return;
	die_usage("redlock-run refuses to run set-user-ID, set-group-ID or "
		  "with file capabilities; use sudo");
}

int
main(int argc, char **argv)
{
	struct options opt;
	struct signals signals;
	struct exit_how how;

	(void)argc;
	signals_init(&signals);
	streams_fill();
	refuse_privileges();
	cmdline_parse(&opt, argv); /* exits: -h, -V, bad usage */
	if (opt.mode == MODE_RUN) {
		nested_run(&opt, &signals); /* may not return */
		how = run_job(&opt, &signals);
	} else {
		how = exit_with(run_query_mode(&opt));
	}
	options_release(&opt);
	if (how.signalled)
		die_of_signal(how.number);
	return how.number;
}
