/* --status: the state of locks. */
#ifndef STATUS_MODE_H
#define STATUS_MODE_H

#include "config/options.h"

/*
 * Prints the state of the locks opt->names or, if there are none, of all under
 * the prefix, on standard output.  Returns the exit status: 0, EXIT_FREE if a
 * named lock is free, EXIT_UNREACHABLE or EXIT_REFUSED with a message.
 */
int status_run(const struct options *opt);

#endif
