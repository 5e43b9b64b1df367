/* --metrics: the locks in the text format of Prometheus. */
#ifndef METRICS_H
#define METRICS_H

#include "config/options.h"

/*
 * Prints gauges about the servers and about the locks opt->names, or, if it
 * names none, about all under the prefix, on standard output.  Returns 0: an
 * outage is a value of redlock_server_up.
 */
int metrics_run(const struct options *opt);

#endif
