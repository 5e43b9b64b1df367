/* --status: which locks there are, and what a majority says of each. */
#ifndef STATUS_H
#define STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock.h"
#include "loop.h"
#include "node.h"
#include "options.h"
#include "owner.h"

enum state { STATE_UNKNOWN, STATE_FREE, STATE_HELD, STATE_REST };

/* What one server says of one lock. */
struct opinion {
	bool known;
	struct lock_view view;
	struct owner owner;
	bool ours; /* the value is one of redlock-run's */
	int64_t fence;
	struct owner *waiters; /* the first of those that wait, since then */
	size_t nwaiters;
};

/* A lock, and the opinion that a majority shares. */
struct entry {
	char *name;
	struct opinion *opinions;     /* one a server */
	const struct opinion *agreed; /* NULL: no majority */
	enum state state;
	int64_t ttl_ms; /* of the agreed; -1: for ever */
	int64_t fence;
};

/* A server, and how far it has come. */
struct source {
	struct status *status;
	struct node node;
	bool listing; /* SCAN is on its way */
	bool listed;
	char cursor[24];
	size_t asked; /* entries */
	size_t answered;
	int64_t end_ms;           /* without an answer until then: failed */
	enum answer_kind failure; /* ANSWER_REPLY: none so far */
	char why[NODE_WHY];
};

struct status {
	const struct options *opt;
	struct loop loop;
	struct source *sources;
	int nsources;
	int quorum;
	bool reading; /* the list of entries is complete */
	struct entry *entries;
	size_t nentries;
};

/*
 * Prints the state of the locks opt->names, or, if it names none, of all under
 * the prefix, on standard output.  Returns the exit status: 0, EXIT_FREE if one
 * asked for is free, EXIT_UNREACHABLE or EXIT_REFUSED with a message.
 */
int status_run(const struct options *opt);

/* Whether all of opt->names are held by the run that has this token. */
bool status_holds(const struct options *opt, const char *token);

#endif
