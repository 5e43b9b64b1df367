/*
 * What redlock-run exits with when it does not exit with COMMAND's status.
 * The man page's EXIT STATUS lists the same; tests/cli/docs.bats compares them.
 */
#ifndef EXITCODE_H
#define EXITCODE_H

enum exitcode {
	EXIT_FREE = 1,       /* --status: one of the locks asked for is free */
	EXIT_NOT_BROKEN = 1, /* --break: nothing was changed */
	EXIT_NO_RUNS = 1,    /* --history: a named lock has no runs */
	EXIT_TOO_OLD = 1,    /* --max-age: the last success is too old */
	EXIT_USAGE = 64,     /* usage error; nothing was sent to Redis */
	EXIT_UNREACHABLE = 69,  /* not enough servers could be used */
	EXIT_OS = 71,           /* the operating system refused */
	EXIT_BUSY = 75,         /* somebody else holds the lock; see -E */
	EXIT_REFUSED = 77,      /* a server refused us: password, ACL */
	EXIT_LOST = 79,         /* the lock was lost while COMMAND ran */
	EXIT_MAX_RUN = 124,     /* --max-run passed */
	EXIT_CANNOT_EXEC = 126, /* COMMAND could not be executed */
	EXIT_NOT_FOUND = 127    /* COMMAND was not found */
};

#endif
