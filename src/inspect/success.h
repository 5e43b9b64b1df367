/*
 * The last success of a lock, as its servers keep it for --once-per.  With several
 * servers it is the one that refuses a run: the youngest that so many servers have
 * that the others are no majority.
 */
#ifndef SUCCESS_H
#define SUCCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/owner.h"
#include "protocol/quorum.h"

/* What one server keeps. */
struct success {
	bool known;         /* the server replied */
	int64_t age_ms;     /* since the run began, by its clock; -1: none */
	int64_t ran_ms;     /* -1: unknown */
	struct owner owner; /* up to command, and since_ms */
};

/* The verdict about a lock. */
struct last_success {
	/*
	 * The last success for certain, or NULL; a later one may be on the
	 * servers that did not reply.
	 */
	const struct success *it;
	bool certain;     /* no later one can be there */
	int64_t age_ms;   /* of *it; INT64_MAX: there is none */
	int64_t least_ms; /* the age of a later one would be that, at least */
};

/*
 * Stores a server's value of len bytes, NULL for none, at now_ms by its clock; one
 * that is not ours counts as none.
 */
void
success_read(struct success *, const char *value, size_t len, int64_t now_ms);

/* Judges the replies of n servers, of which quorum are a majority. */
struct last_success success_judge(const struct success *, int n, int quorum);

#endif
