/* Why COMMAND could not be executed. */
#ifndef EXEC_ERROR_H
#define EXEC_ERROR_H

#include "config/options.h"

/*
 * Reports why exec_command() of COMMAND has failed with that errno.  Returns the
 * exit status for that.
 */
int exec_report(const struct options *, int error);

#endif
