/* A run: acquires the locks, runs COMMAND, releases the locks. */
#ifndef RUN_H
#define RUN_H

#include "config/options.h"
#include "process/signals.h"

/*
 * Runs opt->command while it holds opt->names; s is as signals_init() left it.
 * Returns our exit status; -N: die of signal N. Exits if it cannot even request
 * the lock.
 */
int run_job(const struct options *, const struct signals *s);

#endif
