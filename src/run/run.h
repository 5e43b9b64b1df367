/* A run: acquires the locks, runs COMMAND, releases the locks. */
#ifndef RUN_H
#define RUN_H

#include "base/exit.h"
#include "config/options.h"
#include "process/signals.h"

/*
 * Runs opt->command while it holds opt->names; s is as signals_init() left it.
 * Returns how to end.  Exits if it cannot even request the lock.
 */
struct exit_how run_job(const struct options *, const struct signals *s);

#endif
