/* --status --watch: the state of the locks, drawn anew every second. */
#ifndef WATCH_H
#define WATCH_H

#include "options.h"

/* Returns the exit status. */
int watch_run(const struct options *opt);

#endif
