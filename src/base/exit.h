/*
 * The exit statuses of redlock-run, if it does not exit with COMMAND's.  EXIT
 * STATUS in the man page lists the same; tests/cli/docs.bats compares them.
 */
#ifndef EXIT_H
#define EXIT_H

#include <stdbool.h>

enum exitcode {
	EXIT_FREE = 1,         /* --status: one of the named locks is free */
	EXIT_NOT_BROKEN = 1,   /* --break: nothing was changed */
	EXIT_NO_RUNS = 1,      /* --history: a named lock has no runs */
	EXIT_TOO_OLD = 1,      /* --max-age: the last success is too old */
	EXIT_USAGE = 64,       /* usage error; nothing was sent to Redis */
	EXIT_UNREACHABLE = 69, /* too few servers could be used */
	EXIT_OS = 71,          /* the operating system refused */
	EXIT_BUSY = 75,        /* another run holds the lock; see -E */
	EXIT_REFUSED = 77,  /* a server refused the password or a permission */
	EXIT_LOST = 79,     /* the lock was lost while COMMAND ran */
	EXIT_MAX_RUN = 124, /* --max-run passed */
	EXIT_CANNOT_EXEC = 126, /* COMMAND could not be executed */
	EXIT_NOT_FOUND = 127    /* COMMAND was not found */
};

/* How a process ends: with an exit status, or by a signal. */
struct exit_how {
	bool signalled;
	int number; /* the status, or the signal */
};

static inline struct exit_how
exit_with(int status)
{
	return (struct exit_how){ .number = status };
}

static inline bool
exit_is_success(struct exit_how how)
{
	return !how.signalled && how.number == 0;
}

static inline struct exit_how
exit_of_signal(int sig)
{
	return (struct exit_how){ .signalled = true, .number = sig };
}

#endif
