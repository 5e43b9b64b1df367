/* The state of locks, as a majority of the servers has it. */
#ifndef LOCKINFO_H
#define LOCKINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/options.h"
#include "inspect/query.h"
#include "protocol/owner.h"

enum state {
	STATE_UNKNOWN,
	STATE_FREE,
	STATE_HELD,
	STATE_SHARED,
	STATE_COOLDOWN
};

/* The word for a state, in tables and in JSON. */
extern const char *const state_names[];

/* Who holds a lock, a slot of it or a share in it. */
struct holder {
	char *value;
	size_t len;
	struct owner owner;
	bool ours;      /* the value is one of redlock-run's, and owner is it */
	int64_t ttl_ms; /* -1: for ever */
};

/* One server's reply about one lock. */
struct server_view {
	bool known;
	enum state state;
	bool shared;
	struct holder *holders;
	size_t nholders;
	struct owner
	    *waiters; /* the first in the queue; since: when they joined */
	size_t nwaiters;
	int waiting;    /* all in the queue */
	int64_t now_us; /* its wall clock */
	int64_t fence;
};

/* A lock, and what a majority of the servers agrees on. */
struct lock_info {
	const char *name;          /* the query's */
	int slots;                 /* the last that may be in use */
	struct server_view *views; /* one for each server */
	const struct server_view
	    *sample; /* the view of one server of the majority; NULL: none */
	struct holder *holders; /* values and owners are the views' */
	size_t nholders;
	enum state state;
	int64_t ttl_ms; /* of the last of them; -1: for ever */
	int64_t fence;
};

struct status {
	struct query query;
	struct lock_info *locks; /* one for each lock of the query */
	size_t nlocks;
};

/*
 * status_read() queries the servers for the locks opt->names, or, if there are
 * none, for all under the prefix; it may be called again, and reads them anew.
 * status_init() resolves names, which may block, and exits with EXIT_OS if the
 * operating system refuses.  status_release() frees all.
 */
void status_init(struct status *, const struct options *opt);
void status_read(struct status *);

/* The same for the locks on the list of the query, before any status_read(). */
void status_read_listed(struct status *);

/*
 * Sorts the locks by what matters: the longest queue first, then held, shared,
 * in cooldown, unknown and free ones; held ones by age, the rest by name.
 */
void status_sort(struct status *);
void status_release(struct status *);

/*
 * Returns for how long a holder of the lock has held it, by the server's clock;
 * -1 for a foreign value or a cooldown.
 */
int64_t holder_age_ms(const struct lock_info *, const struct holder *);

/*
 * Returns whether a renewal of the holder's lease is overdue: less than half of
 * it is left.  False for a cooldown, an unconfirmed grant and a foreign value,
 * which nobody renews.
 */
bool holder_overdue(const struct holder *);

/* Returns how many slots the holders of the lock share; 0: it has none. */
int lock_info_slots(const struct lock_info *);

/*
 * Returns whether the run with this token holds all of opt->names.  If so,
 * *run is that run, and *mode and *capacity are how it uses the last of the
 * names.
 */
bool status_holds(const struct options *opt, const char *token,
    struct owner *run, enum lock_mode *mode, int *capacity);

#endif
