/* The runs that --history shows. */
#ifndef RUN_LIST_H
#define RUN_LIST_H

#include <stddef.h>

#include "inspect/history.h"

struct run_row {
	const struct lock_runs *lock;
	const struct past_run *run;
};

struct run_list {
	struct run_row *row; /* newest first */
	size_t n;
};

/*
 * Selects the runs of all locks of the history: --since and --failed choose,
 * then --rows limits.  Rows point into the history. run_list_release() frees
 * the list.
 */
void run_list_select(struct run_list *, const struct history *);
void run_list_release(struct run_list *);

#endif
