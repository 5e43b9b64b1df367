/* Re-entrance: the enclosing run may hold the lock already. */
#ifndef NESTED_H
#define NESTED_H

#include <stdbool.h>

#include "config/options.h"
#include "process/signals.h"
#include "protocol/owner.h"

#define NESTED_CHECK_MS 5    /* between looks at our ancestors */
#define NESTED_BUSY_MS  2000 /* how long we wait for one that may end soon */

/*
 * If an enclosing run that waits for this process holds all of opt->names at
 * the same servers, this process becomes COMMAND, or exits with the status for
 * a command that cannot be executed.  If that run holds only some of them,
 * exits with a usage error.  Otherwise returns.  May block as long as the
 * resolver and the servers take.
 */
void nested_run(const struct options *opt, const struct signals *);

/*
 * Returns whether the owner is a run among our ancestors that waits for this
 * process, as far as /proc shows, also if sudo(8) or env(1) removed the
 * variables.  *busy: an ancestor may end soon, so look again later.
 */
bool nested_below(const struct owner *, bool *busy);

/* Reports that the lock, for which we wait, seems to be held by such a run. */
void nested_report(const char *name);

#endif
