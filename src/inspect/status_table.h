/* --status as a table for people. */
#ifndef STATUS_TABLE_H
#define STATUS_TABLE_H

#include <stdio.h>

#include "inspect/status.h"

/* Prints a row for each lock and holder.  ferror() reports a failed write. */
void status_table(FILE *, const struct status *);

#endif
