/* The recorded runs of locks, merged from all servers. */
#ifndef RUNLOG_H
#define RUNLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/options.h"
#include "inspect/query.h"
#include "inspect/run_record.h"
#include "protocol/owner.h"

/* What one server replied about one lock, apart from its runs. */
struct server_log {
	bool known;
	char (*holders)
	    [OWNER_TOKEN]; /* the tokens of those that hold the lock there */
	size_t nholders;
};

/* A lock and its recorded runs. */
struct lock_runs {
	const char *name; /* the lock's */
	int slots;
	struct server_log *logs; /* one for each server */
	struct runs runs;
	int64_t now_ms; /* the latest time of a server's clock */
};

struct history {
	struct query query;
	bool with_skips;
	struct lock_runs *locks; /* one for each lock of the query */
	size_t nlocks;
};

/*
 * Reads the recorded runs of the locks that the options of h->query name, or,
 * if they name none, of all under the prefix; with h->with_skips also the runs
 * that did not get the lock.  history_release() frees them.
 */
void history_read(struct history *);
void history_release(struct history *);

/* Returns for how long COMMAND ran, or has run by now; -1: unknown. */
int64_t lock_runs_ran_ms(const struct lock_runs *, const struct past_run *);

/*
 * The same for one lock on one connection: requests its history, and adds to
 * runs what the reply tells; from a reply that is none, nothing.  slots is how
 * many of them may be in use.  Returns what conn_eval() does.
 */
int runlog_request(struct conn *, int tag, const char *prefix, const char *name,
    int slots, bool with_skips);
void runlog_read(struct runs *, int server, const struct reply *);

#endif
