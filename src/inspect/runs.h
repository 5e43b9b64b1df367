/*
 * The runs of a lock, merged from the history that each server keeps.  An entry
 * is a word and a text:
 *
 *	start	VALUE waited=MS
 *	end	VALUE waited=MS ran=MS ended=HOW status=N (or signal=N)
 *	lost	the same, from a server where that run no longer had the lock
 *
 * VALUE is the owner value, see owner.h; entries with the same token belong to
 * one run.  An end repeats the fields of its start, which may have been
 * trimmed.  A stream of its own has the runs that did not get the lock.  Its
 * entries have two fields, and the holder's value may be empty:
 *
 *	skip	VALUE waited=MS skipped=WHY
 *	holder	VALUE
 */
#ifndef RUNS_H
#define RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/owner.h"
#include "protocol/quorum.h"

#define SKIP_VALUE 64

enum ending {
	ENDED_UNKNOWN, /* too few servers replied */
	ENDED_EXITED,
	ENDED_KILLED,
	ENDED_MAX_RUN,
	ENDED_LOST,
	ENDED_NOT_RUN, /* COMMAND could not be started */
	ENDED_DIED,    /* without recording its end */
	ENDED_RUNNING,
	ENDED_SKIPPED /* it did not get the lock */
};

/* The word for an ending, in Redis and in JSON; NULL for ENDED_UNKNOWN. */
extern const char *const ending_names[];

/* Why a run did not get the lock. */
enum skip_reason { SKIP_BUSY, SKIP_WAITED, SKIP_MODE };

/* The word for a reason, in Redis and in JSON. */
extern const char *const skip_names[];

struct skip {
	enum skip_reason reason;
	bool recorded[LOCK_SERVERS];
	struct owner holder;    /* zeroed: another program */
	char value[SKIP_VALUE]; /* the beginning of the holder's value */
	size_t len;             /* 0: there was no holder */
};

/* The last event of a run in a server's history. */
enum event { EVENT_NONE, EVENT_START, EVENT_LOST, EVENT_END };

struct past_run {
	struct owner owner;
	int64_t since_ms;  /* by a server's clock; -1: unknown, */
	int64_t waited_ms; /* as in all of these */
	int64_t ran_ms;
	int64_t status;
	int64_t signal;
	enum ending ending;
	char broken_by[OWNER_BY];          /* USER@HOST of a --break, or "" */
	unsigned char event[LOCK_SERVERS]; /* enum event */
	bool holds[LOCK_SERVERS];          /* holds the lock on that server */
	struct skip *skip;                 /* NULL: it got the lock */
};

struct runs {
	struct past_run *run;
	size_t n;
};

/*
 * Adds an entry of a server's history, newest first: its time, its word and its
 * text of len bytes.  Skips entries that are not ours.
 */
void runs_add(struct runs *, int server, int64_t at_ms, const char *word,
    const char *text, size_t len);

/*
 * Like runs_add(), for an entry of the skips: its text of len bytes, and the
 * holder's value of value_len bytes.
 */
void runs_add_skip(struct runs *, int server, int64_t at_ms, const char *text,
    size_t len, const char *value, size_t value_len);

/*
 * Call after all entries: the run with that token holds the lock on the server.
 */
void runs_holds(struct runs *, int server, const char *token);

/*
 * Decides how each run ended, and sorts the runs, newest first. quorum of
 * nservers is a majority; nsilent servers did not reply.  Drops a skip that so
 * few servers recorded that the others are a majority.
 */
void runs_judge(struct runs *, int nservers, int quorum, int nsilent);

/* Whether the run got the lock and has ended with another status than 0. */
bool runs_has_failed(const struct past_run *);

/*
 * Return the newest run that ended with status 0, or that ended at all; NULL:
 * none.  Call after runs_judge().
 */
const struct past_run *runs_last_success(const struct runs *);
const struct past_run *runs_last_ended(const struct runs *);

void runs_release(struct runs *);

#endif
