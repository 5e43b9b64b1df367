/* The last runs of locks, and how each ended. */
#ifndef RUNLOG_H
#define RUNLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/options.h"
#include "inspect/query.h"
#include "inspect/run_record.h"
#include "protocol/owner.h"

/* What one server says of one lock beside its runs. */
struct server_log {
	bool known;
	char (*holders)[OWNER_TOKEN]; /* who has the lock there */
	size_t nholders;
};

/* A lock and its runs. */
struct lock_runs {
	const char *name; /* the lock's */
	int slots;
	struct server_log *logs; /* one a server */
	struct runs runs;
	int64_t now_ms; /* the latest time that a server said */
};

struct history {
	struct query query;
	struct lock_runs *locks; /* one a lock */
	size_t nlocks;
};

/*
 * Finds out the last runs of the locks that the options of h->query name, or,
 * if they name none, of all under the prefix.  history_release() undoes it.
 */
void history_read(struct history *);
void history_release(struct history *);

#endif
