/* --check: whether the servers are fit for locks. */
#ifndef CHECK_H
#define CHECK_H

#include "config/options.h"

/*
 * Asks all servers of opt, and prints what is found on standard output.
 * Returns the exit status: 0 if every one is fit, EXIT_REFUSED if one refuses
 * us, else EXIT_UNREACHABLE.
 */
int check_run(const struct options *opt);

#endif
