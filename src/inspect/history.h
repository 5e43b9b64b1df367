/* The recorded runs of locks, merged from all servers. */
#ifndef HISTORY_H
#define HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inspect/query.h"
#include "inspect/runs.h"
#include "inspect/success.h"
#include "protocol/owner.h"

#define HISTORY_MS (INT64_C(30) * 24 * 3600 * 1000) /* a server keeps it */

/* One server's reply about one lock, apart from the runs. */
struct server_log {
	bool known;
	char (*holders)[OWNER_TOKEN]; /* of the holders there */
	size_t nholders;
};

/* A lock and its recorded runs. */
struct lock_runs {
	const char *name; /* owned by the query */
	size_t number;    /* among the locks of the query */
	int slots;
	struct server_log *logs; /* one for each server */
	struct runs runs;
	int64_t now_ms; /* the latest time by a server's clock */
	/* The runs and the skips that began then or later are all there. */
	int64_t runs_from_ms;
	int64_t skips_from_ms;
	struct success *successes; /* one for each server, with_skips */
};

struct history {
	struct query query;
	bool with_skips;         /* and with the last success */
	struct lock_runs *locks; /* those that were read last */
	size_t nlocks;
};

/*
 * history_list() lists the locks named in the options of h->query or, if there
 * are none, all under the prefix. history_next() reads the recorded runs of the
 * next of them, at most so many locks, in place of the last ones; with
 * h->with_skips also the runs that did not get the lock, and the last success.  Returns false at the
 * end, where the last ones stay. history_release() frees them.
 */
void history_list(struct history *);
bool history_next(struct history *, size_t most);
void history_release(struct history *);

/*
 * Add the runs or the skips of a server's reply, see runs.lua; a malformed one is
 * left out.
 */
void history_add_runs(struct runs *, int server, const struct reply);
void history_add_skips(struct runs *, int server, const struct reply);

#endif
