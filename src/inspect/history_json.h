/* --history as JSON for programs. */
#ifndef HISTORY_JSON_H
#define HISTORY_JSON_H

#include <stdio.h>

#include "inspect/run_list.h"

/*
 * Prints an object with "servers" and "runs", and how many runs --rows left out and
 * since when all are recorded; these are null if too few servers replied.  ferror()
 * reports a failed write.
 */
void history_json(FILE *, const struct history *, const struct run_list *);

#endif
