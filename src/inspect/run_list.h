/* The runs that --history shows. */
#ifndef RUN_LIST_H
#define RUN_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inspect/history.h"

/* A run and what its row needs of its lock, which is not kept. */
struct run_row {
	const char *name; /* of the lock; owned by the query */
	size_t number;    /* of the lock, among those of the query */
	int64_t ran_ms;   /* how long COMMAND ran, or has run; -1: unknown */
	bool known[LOCK_SERVERS]; /* the server replied about the lock */
	struct past_run run;
};

struct run_list {
	struct run_row *row;
	size_t n;
	size_t room;
	size_t found; /* how many --since, --until and --failed chose */
	/* The runs, with --all the skips too, from then on are all recorded. */
	int64_t from_ms;
	int64_t now_ms; /* the latest time by a server's clock */
};

/*
 * Adds the runs of the locks that the history has just read: --since, --until
 * and --failed choose, then --rows limits.  Takes their skips from the history.
 */
void run_list_add(struct run_list *, struct history *);

/* Call after all runs: sorts them, newest first. */
void run_list_sort(struct run_list *, const struct options *);

void run_list_release(struct run_list *);

#endif
