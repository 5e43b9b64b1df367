/* --history as JSON for programs. */
#ifndef HISTORY_JSON_H
#define HISTORY_JSON_H

#include <stdio.h>

#include "inspect/runlog.h"

/*
 * Prints an object of "servers" and "runs"; runs is null if too few
 * servers replied.  ferror() reports a failed write.
 */
void history_json(FILE *, const struct history *);

#endif
