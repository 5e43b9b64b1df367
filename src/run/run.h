/* A run: the lock is taken, COMMAND runs under it, the lock is given back. */
#ifndef RUN_H
#define RUN_H

#include "config/options.h"
#include "process/signals.h"

/*
 * Runs opt->command while it holds opt->names; s is as signals_init() left it.
 * Returns our exit status; -N: die of signal N.  Exits if the lock cannot even
 * be asked for.
 */
int run_job(const struct options *, const struct signals *s);

#endif
