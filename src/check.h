/* --check: whether the servers are fit for locks. */
#ifndef CHECK_H
#define CHECK_H

#include "options.h"

/* Returns the exit status. */
int check_run(const struct options *opt);

#endif
