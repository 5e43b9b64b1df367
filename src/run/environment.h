/* The REDLOCK_ variables in COMMAND's environment. */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

#include <stdbool.h>

#include "lock/locks.h"
#include "protocol/owner.h"

/*
 * Sets the REDLOCK_ variables in our own environment, which COMMAND inherits,
 * and replaces those of an outer run; REDLOCK_SLOT only if numbered.  Returns 0,
 * or -1 with errno.
 */
int environment_export(const struct locks *, const struct owner *,
    const char *site, bool numbered);

/*
 * Returns the room for COMMAND's pid in the environment, CHILD_PID_TEXT bytes.
 * Call it after environment_export().
 */
char *environment_command_pid(void);

#endif
