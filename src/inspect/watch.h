/* --status --watch: the state of the locks, drawn anew every second. */
#ifndef WATCH_H
#define WATCH_H

#include "config/options.h"

/*
 * Redraws until the user presses q or the terminal hangs up.  Returns the exit
 * status.  A terminating signal kills this process after the terminal is
 * restored.
 */
int watch_run(const struct options *opt);

#endif
