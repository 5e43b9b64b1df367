/*
 * Detects a run inside COMMAND of another run.  The inherited variables count
 * only if the servers confirm them and the outer run waits for us, because a
 * daemon keeps them in its environment for years.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/die.h"
#include "base/exit.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/number.h"
#include "inspect/status.h"
#include "process/exec.h"
#include "process/proc.h"
#include "protocol/key.h"
#include "protocol/owner.h"
#include "run/exec_error.h"
#include "run/nested.h"

/* Whether name is among names, which are separated by newlines. */
static bool
listed(const char *names, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = names; p != NULL; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (strncmp(p, name, len) == 0 &&
		    (p[len] == '\n' || p[len] == '\0'))
			return true;
	}
	return false;
}

/* Returns the pid of the outer run's COMMAND, from the environment; 0: none. */
static pid_t
inherited_command(void)
{
	const char *text = getenv("REDLOCK_COMMAND_PID");
	int64_t pid = 0;

	if (text != NULL)
		number_parse(text, strlen(text), INT32_MAX, &pid);
	return (pid_t)pid;
}

/* Whether pid was started as COMMAND, according to its environment. */
static bool
is_command(pid_t pid)
{
	char variable[40];

	snprintf(variable, sizeof(variable), "REDLOCK_COMMAND_PID=%d",
	    (int)pid);
	return proc_has_env(pid, variable);
}

/*
 * Returns whether the line of our parents leads to the run.  Applies the rule of
 * is_command_process() in tree.c from below: the line must pass COMMAND, COMMAND's
 * session or the run's.  Otherwise we belong to a daemon.
 *
 * *busy: a process of the line does not sleep, and its child has a session of its
 * own.  A process that waits for its child sleeps; the parent of a daemon ends soon.
 */
static bool
leads_to(const struct owner *run, bool *busy)
{
	pid_t pid = getpid(), parent = getppid(), session = getsid(run->pid);
	pid_t command = inherited_command(), sid;
	bool foreign = true;
	struct proc up;

	*busy = false;
	if (status_owner_process(run) != PROCESS_SAME || session == -1)
		return false;
	for (;;) {
		sid = getsid(pid);
		if (sid == session ||
		    (command != 0 && (pid == command || sid == command)))
			foreign = false;
		if (parent == run->pid)
			return !foreign || is_command(pid);
		if (parent <= 1 || !procs_visible() ||
		    proc_read(parent, &up) == -1)
			return false;
		*busy = *busy || (up.busy && up.sid != sid);
		pid = parent;
		parent = up.ppid;
	}
}

bool
nested_below(const struct owner *owner, bool *busy)
{
	/* Without a start another process may have the owner's pid. */
	return owner->start_ticks != 0 && leads_to(owner, busy);
}

/* Returns whether the run waits for this process. */
static bool
waits_for_us(const struct owner *run)
{
	int64_t until_ms = clock_now_ms() + NESTED_BUSY_MS;
	bool busy;

	while (leads_to(run, &busy)) {
		if (!busy || clock_now_ms() >= until_ms)
			return true;
		kernel_pause_ms(NESTED_CHECK_MS);
	}
	return false;
}

/* Exits if the outer run rules out the mode of this one. */
static void
check_mode(const struct options *opt, enum lock_mode mode, int capacity)
{
	/* Inside an exclusive lock any other mode is allowed. */
	if (mode == LOCK_SHARED && opt->lock_mode != LOCK_SHARED)
		die(EXIT_USAGE,
		    "%s: held shared by the enclosing run; inside it, use "
		    "--shared",
		    opt->names.joined);
	if (mode == LOCK_SLOTTED &&
	    (opt->lock_mode != mode || opt->capacity != capacity))
		die(EXIT_USAGE,
		    "%s: one of %d slots is held by the enclosing run; "
		    "inside it, use --slots %d",
		    opt->names.joined, capacity, capacity);
}

/*
 * Splits names: those that the outer run holds go to inherited, one of the
 * others to *other.
 */
static void
inherit_names(const struct names *names, const char *outer,
    struct names *inherited, const char **other)
{
	inherited->n = 0;
	*other = NULL;
	for (int i = 0; i < names->n; i++)
		if (listed(outer, names->name[i]))
			inherited->name[inherited->n++] = names->name[i];
		else
			*other = names->name[i];
}

/* Makes this process COMMAND, as a process of the outer run. */
static _Noreturn void
become_command(const struct options *opt, const struct signals *s)
{
	char parent[16];

	snprintf(parent, sizeof(parent), "%d", (int)getppid());
	if (setenv("REDLOCK_PID", parent, 1) == -1)
		die(EXIT_OS,
		    "%s: '%s' was not run: cannot set its "
		    "environment: %s",
		    opt->names.joined, opt->command[0], strerror(errno));
	signals_discard_pipe();
	signals_restore(s);
	exec_command(opt->command);
	exit(exec_report(opt, errno));
}

void
nested_report(const char *name)
{
	notice("%s: held by the run that started us, as far as we can see; if "
	       "so, this wait ends only with it: see \"Runs inside runs\" in "
	       "redlock-run(7)",
	    name);
}

/*
 * Reports that the lock is held by the outer run, which does not seem to wait
 * for us.  In a pid namespace of our own we cannot tell, and may be about to
 * wait for each other.
 */
static void
report_outer(const struct options *opt, const struct owner *run)
{
	if (opt->wait_ms == 0)
		notice("%s: process %d holds the lock but does not wait "
		       "for this daemon; acquiring the lock normally",
		    opt->names.joined, (int)run->pid);
	else
		nested_report(opt->names.joined);
}

void
nested_run(const struct options *opt, const struct signals *s)
{
	const char *names = getenv("REDLOCK_KEY");
	const char *token = getenv("REDLOCK_TOKEN");
	const char *site = getenv("REDLOCK_SITE");
	const char *held[LOCKS_MAX], *other;
	enum lock_mode mode;
	int capacity;
	struct options inherited = *opt;
	struct owner run;

	if (names == NULL || token == NULL || !owner_is_token(token) ||
	    site == NULL || strcmp(site, opt->site) != 0)
		return;
	inherited.names.name = held;
	inherit_names(&opt->names, names, &inherited.names, &other);
	if (inherited.names.n == 0)
		return;
	if (!status_holds(&inherited, token, &run, &mode, &capacity)) {
		notice("%s: inherited REDLOCK_TOKEN is stale; acquiring the "
		       "lock normally",
		    opt->names.joined);
		return;
	}
	if (!waits_for_us(&run)) {
		report_outer(opt, &run);
		return;
	}
	if (other != NULL)
		die(EXIT_USAGE,
		    "%s: held by the enclosing run, but %s is not; take "
		    "both locks in one run",
		    held[0], other);
	check_mode(opt, mode, capacity);
	info("%s: held by the enclosing run, pid %s; taking no lock",
	    opt->names.joined,
	    getenv("REDLOCK_PID") != NULL ? getenv("REDLOCK_PID") : "?");
	if (opt->max_run_ms != CLOCK_NEVER || opt->min_hold_ms != 0 ||
	    opt->once_per_ms != 0)
		notice("%s: held by the enclosing run; --min-hold, --max-run "
		       "and --once-per have no effect inside it",
		    opt->names.joined);
	become_command(opt, s);
}
