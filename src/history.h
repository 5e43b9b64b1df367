/* --history: the last runs of locks. */
#ifndef HISTORY_H
#define HISTORY_H

#include "options.h"

/* Returns the exit status. */
int history_run(const struct options *opt);

#endif
