/* --history: the last runs of locks, and how each ended. */
#ifndef HISTORY_H
#define HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/options.h"
#include "protocol/owner.h"
#include "inspect/run_record.h"
#include "inspect/query.h"

/* What one server says of one lock beside its runs. */
struct account {
	bool known;
	char (*holders)[OWNER_TOKEN]; /* who has the lock there */
	size_t nholders;
};

/* A lock and its runs. */
struct chapter {
	const char *name; /* the subject's */
	int slots;
	struct account *accounts; /* one a server */
	struct runs runs;
	int64_t now_ms; /* the latest time that a server said */
};

struct history {
	struct survey survey;
	struct chapter *chapters; /* one a subject */
	size_t nchapters;
};

/*
 * Prints the last runs of the locks opt->names, or, if it names none, of all
 * under the prefix, on standard output.  Returns the exit status: 0, or
 * EXIT_UNREACHABLE or EXIT_REFUSED with a message.
 */
int history_run(const struct options *opt);

#endif
