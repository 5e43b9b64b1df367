/* --history as a table for people. */
#ifndef HISTORY_TABLE_H
#define HISTORY_TABLE_H

#include <stdio.h>

#include "inspect/run_list.h"

/* Prints a row for each run.  ferror() reports a failed write. */
void history_table(FILE *, const struct history *, const struct run_list *);

#endif
