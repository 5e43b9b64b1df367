/* --status: which locks there are, and what a majority says of each. */
#ifndef LOCKINFO_H
#define LOCKINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/options.h"
#include "inspect/query.h"
#include "protocol/owner.h"

enum state { STATE_UNKNOWN, STATE_FREE, STATE_HELD, STATE_SHARED, STATE_REST };

/* Who has a lock, or one slot of it, or shares it. */
struct holder {
	char *value;
	size_t len;
	struct owner owner;
	bool ours;      /* the value is one of redlock-run's */
	int64_t ttl_ms; /* -1: for ever */
};

/* What one server says of one lock. */
struct server_view {
	bool known;
	enum state state;
	bool shared;
	struct holder *holders;
	size_t nholders;
	struct owner *waiters; /* the first of those that wait, since then */
	size_t nwaiters;
	int waiting;    /* how many do */
	int64_t now_us; /* its wall clock */
	int64_t fence;
};

/* A lock, and what a majority agrees on. */
struct lock_info {
	const char *name;          /* the lock's */
	int slots;                 /* there may be */
	struct server_view *views; /* one a server */
	const struct server_view
	    *sample;            /* one of the majority; NULL: there is none */
	struct holder *holders; /* values and owners are the views' */
	size_t nholders;
	enum state state;
	int64_t ttl_ms; /* of the last of them; -1: for ever */
	int64_t fence;
};

struct status {
	struct query query;
	struct lock_info *locks; /* one a lock */
	size_t nlocks;
};

/*
 * Finds out all that there is to know of opt's locks; may be called again for
 * the same *st, which status_init() has prepared, and finds it out anew.
 */
void status_init(struct status *, const struct options *opt);
void status_read(struct status *);

/*
 * Puts what matters first: what most wait for, then what is held, by whoever
 * has had it longest, what is shared, rests, is unknown and is free; then by
 * name.
 */
void status_sort(struct status *);
void status_release(struct status *);

/*
 * Whether all of opt->names are held by the run that has this token.  If so,
 * *run is that run, and *mode and *capacity are how it uses the last of the
 * names.
 */
bool status_holds(const struct options *opt, const char *token,
    struct owner *run, enum lock_mode *mode, int *capacity);

#endif
