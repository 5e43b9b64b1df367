/*
 * The runs of a lock, merged from the history that each server keeps.  An entry
 * is a word and a text:
 *
 *	start	VALUE waited=MS
 *	end	VALUE waited=MS ran=MS ended=HOW status=N (or signal=N)
 *	lost	the same, from a server where that run no longer had the lock
 *
 * VALUE is the owner value, see owner.h; entries with the same token belong to
 * one run.  An end repeats what its start says, which may have been trimmed.
 */
#ifndef RUNS_H
#define RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/owner.h"
#include "protocol/quorum.h"

enum ending {
	ENDED_UNKNOWN, /* too few servers replied */
	ENDED_EXITED,
	ENDED_KILLED,
	ENDED_MAX_RUN,
	ENDED_LOST,
	ENDED_NOT_RUN, /* COMMAND could not be started */
	ENDED_DIED,    /* without recording its end */
	ENDED_RUNNING
};

/* The word for an ending, in Redis and in JSON; NULL for ENDED_UNKNOWN. */
extern const char *const ending_names[];

/* The last event of a run that a server has recorded. */
enum event { EVENT_NONE, EVENT_START, EVENT_LOST, EVENT_END };

struct past_run {
	struct owner owner;
	int64_t since_ms;  /* by the clock of a server; -1: unknown, */
	int64_t waited_ms; /* as in all of these */
	int64_t ran_ms;
	int64_t status;
	int64_t signal;
	enum ending ending;
	char broken_by[OWNER_BY]; /* who took its lock with --break, or "" */
	unsigned char event[LOCK_SERVERS]; /* enum event */
	bool holds[LOCK_SERVERS];          /* it holds the lock there */
};

struct runs {
	struct past_run *run;
	size_t n;
};

/*
 * Adds an entry of a server's history, newest first: its time, its word and its
 * text of len bytes.  Skips what is not one of our entries.
 */
void runs_add(struct runs *, int server, int64_t at_ms, const char *word,
    const char *text, size_t len);

/* After all entries: the run with that token holds the lock on the server. */
void runs_holds(struct runs *, int server, const char *token);

/*
 * Decides how each run ended, where quorum of nservers is a majority and
 * nsilent of them did not reply, and sorts the runs, newest first.
 */
void runs_judge(struct runs *, int nservers, int quorum, int nsilent);

/* Returns whether the run has ended, and not with status 0. */
bool run_failed(const struct past_run *);

/* The newest run that ended with status 0, or at all, after runs_judge(). */
const struct past_run *runs_last_success(const struct runs *);
const struct past_run *runs_last_ended(const struct runs *);

void runs_release(struct runs *);

#endif
