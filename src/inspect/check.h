/* --check: tests whether the servers are fit for locks. */
#ifndef CHECK_H
#define CHECK_H

#include "config/options.h"

/*
 * Probes all servers of opt and prints the findings on standard output.
 * Returns the exit status: 0 if all servers are fit, EXIT_REFUSED if one denies
 * us access, else EXIT_UNREACHABLE.
 */
int check_run(const struct options *opt);

#endif
