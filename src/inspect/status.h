/* The state of locks, as seen by a majority of the servers. */
#ifndef STATUS_H
#define STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/options.h"
#include "inspect/query.h"
#include "inspect/runs.h"
#include "inspect/success.h"
#include "protocol/owner.h"

enum state {
	STATE_UNKNOWN,
	STATE_FREE,
	STATE_HELD,
	STATE_SHARED,
	STATE_COOLDOWN
};

/* The word for each state, in tables and in JSON. */
extern const char *const state_names[];

/* The holder of a lock, of one of its slots, or of a share. */
struct holder {
	char *value;
	size_t len;
	struct owner owner;
	bool ours;      /* the value is redlock-run's, and owner is valid */
	int64_t ttl_ms; /* -1: no end */
	int slot;       /* 0: the lock has none, or no majority agrees */
};

/* One server's reply about one lock. */
struct server_view {
	bool known;
	enum state state;
	bool shared;
	struct holder *holders;
	size_t nholders;
	/* The first in the queue; since: when each joined. */
	struct owner *waiters;
	size_t nwaiters;
	int waiting;    /* the length of the queue */
	int64_t now_us; /* its wall clock */
	int64_t fence;
};

/* A lock in the view of a majority of the servers. */
struct lock_info {
	const char *name;          /* owned by the query */
	int slots;                 /* the highest number in use, at most */
	struct server_view *views; /* one for each server */
	/* The view of one server of the majority, or NULL. */
	const struct server_view *sample;
	struct holder *holders; /* point into the views */
	size_t nholders;
	enum state state;
	int64_t ttl_ms; /* of the holder that lasts longest; -1: no end */
	int64_t fence;
	struct runs runs;          /* with st->with_runs */
	struct success *successes; /* one for each server, with st->with_runs */
};

struct status {
	struct query query;
	/*
	 * Reads the runs, the skips and the last success of each lock, too: of one
	 * server as many runs as tell which one ended last, and the last skip; of
	 * several servers all that they have.  Lists locks that have nothing else,
	 * too.
	 */
	bool with_runs;
	struct lock_info *locks; /* one for each lock of the query */
	size_t nlocks;
};

/*
 * status_init() resolves names, which may block, and exits with EXIT_OS if the
 * operating system refuses. status_read() queries the servers for the locks
 * opt->names or, if there are none, for all under the prefix; it may be called
 * again for a new reading. status_release() frees everything.
 */
void status_init(struct status *, const struct options *opt);
void status_read(struct status *);

/*
 * status_list() lists the same locks, and status_next() reads the next of those
 * that the query has listed, at most so many, in place of the last ones.  Returns
 * false at the end, where the last ones stay.
 */
void status_list(struct status *);
bool status_next(struct status *, size_t most);

/*
 * Sorts the locks by importance: the longest queue first, then held, shared, in
 * cooldown, unknown and free ones; held ones by age, the others by name.
 */
void status_sort(struct status *);
void status_release(struct status *);

/*
 * Returns for how long the holder has held the lock, by the server's clock; -1
 * for a foreign value or a cooldown.
 */
int64_t status_holder_age_ms(const struct lock_info *, const struct holder *);

/*
 * Whether the renewal of the holder's lease is overdue: of the length that is due
 * at its age more than half of --ttl is missing.  False for a cooldown, an
 * unconfirmed grant and a foreign value, which are never renewed.
 */
bool status_holder_overdue(const struct lock_info *, const struct holder *);

/*
 * Whether more is left of the lease than its --ttl, so that a holder that is cut
 * off goes on that long.
 */
bool status_holder_patient(const struct holder *);

/* How the process on this host that has an owner's pid relates to the owner. */
enum owner_process {
	PROCESS_NONE,    /* there is none, or nothing is known about it */
	PROCESS_SAME,    /* it is the owner, or may be */
	PROCESS_EARLIER, /* the owner's process began before it */
	PROCESS_OTHER    /* the owner's began after it, or before a reboot */
};

/*
 * Compares pid and start, and never since, which is the server's clock.  Every
 * other host of the same name counts as this one.  Nobody waits for itself, so
 * this process is never the owner.  Without a start in the owner's value a
 * process with its pid may be the owner.
 */
enum owner_process status_owner_process(const struct owner *);

/*
 * Returns the capacity of a lock with slots, according to its holders; else 0.
 */
int status_slots(const struct lock_info *);

/*
 * Whether the run with this token holds all of opt->names.  If so, stores that
 * run in *run, and its mode and capacity for the last of the names.
 */
bool status_holds(const struct options *opt, const char *token,
    struct owner *run, enum lock_mode *mode, int *capacity);

#endif
