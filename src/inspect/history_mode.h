/* --history: the recorded runs. */
#ifndef HISTORY_MODE_H
#define HISTORY_MODE_H

#include "config/options.h"

/*
 * Prints the last runs of the locks opt->names or, if there are none, of all
 * under the prefix, on standard output.  Returns the exit status: 0, or with a
 * message EXIT_NO_RUNS if a named lock has none, EXIT_UNREACHABLE or
 * EXIT_REFUSED.  With --max-age it prints one line instead, see max_age.h.
 */
int history_run(const struct options *opt);

#endif
