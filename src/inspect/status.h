/* --status: the state of locks as a table for people or JSON for programs. */
#ifndef STATUS_H
#define STATUS_H

#include <stdio.h>

#include "inspect/lockinfo.h"

/* ferror() reports a failed write. */
void show_table(FILE *, const struct status *);
void show_json(FILE *, const struct status *);

/*
 * Prints the state of the locks opt->names, or, if it names none, of all under
 * the prefix, on standard output.  Returns the exit status: 0, EXIT_FREE if a
 * named lock is free, EXIT_UNREACHABLE or EXIT_REFUSED with a message.
 */
int status_run(const struct options *opt);

#endif
