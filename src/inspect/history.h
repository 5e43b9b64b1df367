/* --history: recorded runs as a table for people or as JSON for programs. */
#ifndef HISTORY_H
#define HISTORY_H

#include <stdio.h>

#include "inspect/runlog.h"

/* Each prints at most 100 runs of a lock; ferror() reports a failed write. */
void history_table(FILE *, const struct history *);
void history_json(FILE *, const struct history *);

/*
 * Prints the last runs of the locks opt->names, or, if it names none, of all
 * under the prefix, on standard output.  Returns the exit status: 0, or
 * EXIT_UNREACHABLE or EXIT_REFUSED with a message.
 */
int history_run(const struct options *opt);

#endif
