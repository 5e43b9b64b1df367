#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/die.h"
#include "base/exit.h"
#include "base/sigmask.h"

void
die(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_last(status == EXIT_USAGE, fmt, ap);
	va_end(ap);
	exit(status);
}

void
die_usage(const char *fmt, ...)
{
	char text[1536];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	die(EXIT_USAGE, "%s", text);
}

void
die_unless_flushed(void)
{
	struct sigaction sa;

	if (fflush(stdout) != EOF && !ferror(stdout))
		return;
	if (errno == EPIPE && sigaction(SIGPIPE, NULL, &sa) == 0 &&
	    sa.sa_handler == SIG_DFL)
		die_of_signal(SIGPIPE);
	die(EXIT_OS, "standard output: %s", strerror(errno));
}

void
die_of_signal(int signo)
{
	const sigset_t set = sigmask_only(signo);

	/* A core_pattern with a pipe ignores a core limit of 0. */
	prctl(PR_SET_DUMPABLE, 0);
	signal(signo, SIG_DFL);
	kill(getpid(), signo);
	sigmask_set(SIG_UNBLOCK, &set, NULL);
	_exit(128 + signo);
}
