/* --status as a table for people. */
#ifndef STATUS_TABLE_H
#define STATUS_TABLE_H

#include <stdio.h>

#include "base/table.h"
#include "inspect/status.h"

/* A row for each lock and holder; with -v, lines below those of each lock. */
struct status_table {
	struct table table;
	struct {
		size_t end; /* the row behind the lock's last one */
		char *text;
	} * below; /* NULL without -v */
	size_t nbelow;
};

/*
 * status_table_begin() prepares a table, to which status_table_add() adds the
 * locks that were read last; it exits with EXIT_OS if memory is short.
 * status_table_print() prints all of them, as they fit the terminal; no more are
 * added then.  ferror() reports a failed write.
 * status_table_release() frees everything.
 */
void status_table_begin(struct status_table *, const struct options *);
void status_table_add(struct status_table *, const struct status *);
void status_table_print(FILE *, struct status_table *);
void status_table_release(struct status_table *);

#endif
