/* Re-entrance: the run around this one may hold the lock already. */
#ifndef REENTER_H
#define REENTER_H

#include "config/options.h"
#include "process/signals.h"

/*
 * If a run that waits for this process holds all of opt->names at the same
 * servers, this process becomes COMMAND, or exits with the status for a
 * command that cannot be executed.  If that run holds only some of them, exits
 * with a usage error.  Otherwise returns.  May block as long as resolver and
 * servers do.
 */
void nested_run(const struct options *opt, const struct signals *);

#endif
