/* --break: takes a lock away from a holder that is known to be dead. */
#ifndef BREAK_H
#define BREAK_H

#include "options.h"

/* Returns the exit status. */
int break_run(const struct options *opt);

#endif
