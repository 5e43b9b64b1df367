/* --history: the recorded runs. */
#ifndef HISTORY_H
#define HISTORY_H

#include "config/options.h"

/*
 * Prints the last runs of the locks opt->names, or, if it names none, of all
 * under the prefix, on standard output.  Returns the exit status: 0, or
 * EXIT_UNREACHABLE or EXIT_REFUSED with a message.
 */
int history_run(const struct options *opt);

#endif
