/* The command line. */
#ifndef CMDLINE_H
#define CMDLINE_H

#include "config/options.h"

/*
 * Fills *opt from argv, the environment and files.  Exits for -h, -V and any
 * usage error, before any request to a server.
 */
void cmdline_parse(struct options *opt, char **argv);

#endif
