/* Why COMMAND could not be executed. */
#ifndef EXEC_ERROR_H
#define EXEC_ERROR_H

#include "config/options.h"

/*
 * Reports why execvp(3) of COMMAND has failed with that errno.  Returns the exit
 * status for that.
 */
int exec_report(const struct options *, int error);

#endif
