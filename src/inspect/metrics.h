/* --metrics: the locks in the text format of Prometheus. */
#ifndef METRICS_H
#define METRICS_H

#include "config/options.h"

/*
 * Prints gauges about the servers and about the locks opt->names or, if there
 * are none, about all under the prefix, on standard output.  Returns 0 even in
 * an outage, which redlock_server_up reports.
 */
int metrics_run(const struct options *opt);

#endif
