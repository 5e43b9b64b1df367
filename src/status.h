/* --status: ask, then a table for people or JSON for programs. */
#ifndef STATUS_H
#define STATUS_H

#include "options.h"

/*
 * Prints the state of the lock opt->name, or of all locks under the prefix,
 * on standard output.  Returns the exit status: 0, EXIT_FREE if the one asked
 * for is free, EXIT_UNREACHABLE or EXIT_REFUSED with a message.
 */
int status_run(const struct options *opt);

#endif
