/* --status --watch: the state of the locks, drawn anew every second. */
#ifndef WATCH_H
#define WATCH_H

#include "config/options.h"

/*
 * Draws on the terminal until q is pressed, the terminal is gone or a signal
 * ends us, of which we die.  Returns the exit status.
 */
int watch_run(const struct options *opt);

#endif
