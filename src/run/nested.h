/* Re-entrance: the enclosing run may hold the lock already. */
#ifndef NESTED_H
#define NESTED_H

#include "config/options.h"
#include "process/signals.h"

/*
 * If an enclosing run that waits for this process holds all of opt->names at
 * the same servers, this process becomes COMMAND, or exits with the status for
 * a command that cannot be executed.  If that run holds only some of them,
 * exits with a usage error.  Otherwise returns.  May block as long as the
 * resolver and the servers take.
 */
void nested_run(const struct options *opt, const struct signals *);

#endif
