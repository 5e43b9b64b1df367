/* --status as JSON for programs. */
#ifndef STATUS_JSON_H
#define STATUS_JSON_H

#include <stdio.h>

#include "inspect/status.h"

/*
 * Prints an object with "servers" and "locks"; locks is null if no majority can
 * list them. ferror() reports a failed write.
 */
void status_json(FILE *, const struct status *);

#endif
