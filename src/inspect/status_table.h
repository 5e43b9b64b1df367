/* --status as a table for people. */
#ifndef STATUS_TABLE_H
#define STATUS_TABLE_H

#include <stdio.h>

#include "base/table.h"
#include "inspect/status.h"

/* Prints a row for each lock and holder.  ferror() reports a failed write. */
void status_table(FILE *, const struct status *);

/*
 * The same without -v, for locks that are read a part at a time: prepares the
 * table, and adds rows for the locks that were read last.
 */
void status_table_begin(struct table *, const struct options *);
void status_table_add(struct table *, const struct status *);

#endif
