/* --history as JSON for programs. */
#ifndef HISTORY_JSON_H
#define HISTORY_JSON_H

#include <stdio.h>

#include "inspect/runlog.h"

/* Prints an array with an object for each run.  ferror() reports a failed write. */
void history_json(FILE *, const struct history *);

#endif
