/* Re-entrance: the lock may be held already, by the run that we are inside. */
#ifndef REENTER_H
#define REENTER_H

#include "config/options.h"
#include "process/signals.h"

/*
 * If a run of the same site that we descend from holds all of opt->names,
 * COMMAND is its business: this process becomes COMMAND, or exits with the
 * status for one that cannot be executed.  If it holds some of them, that is a
 * usage error.  If it holds none, if the servers
 * do not confirm it, or if that run does not wait for us, returns.
 * May block as long as resolver and servers do.
 */
void nested_run(const struct options *opt, const struct signals *);

#endif
