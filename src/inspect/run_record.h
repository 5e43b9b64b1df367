/*
 * What the histories of a lock tell, one history a server.  An entry is a word
 * and what it says:
 *
 *	start	VALUE waited=MS
 *	end	VALUE waited=MS ran=MS ended=HOW status=N (or signal=N)
 *	lost	the same, on a server where the lock was not that run's any more
 *
 * VALUE is that of the lock, see owner.h; what belongs to one run has the same
 * token.  An end says all by itself, so the start may be forgotten by then.
 */
#ifndef RUNS_H
#define RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/owner.h"
#include "protocol/quorum.h"

enum ending {
	ENDED_UNKNOWN, /* too few servers answered to tell */
	ENDED_EXITED,
	ENDED_KILLED,
	ENDED_AT_MOST,
	ENDED_LOST,
	ENDED_NOT_RUN, /* COMMAND could not be started */
	ENDED_DIED,    /* without a word */
	ENDED_RUNNING
};

/* How the history and --json call an ending; NULL for ENDED_UNKNOWN. */
extern const char *const ending_names[];

/* What one server tells of a run in the end. */
enum event { EVENT_NONE, EVENT_START, EVENT_LOST, EVENT_END };

struct past_run {
	struct owner owner;
	int64_t since_ms;  /* by a server's clock */
	int64_t waited_ms; /* -1: unknown, as all of these */
	int64_t ran_ms;
	int64_t status;
	int64_t signal;
	enum ending ending;
	unsigned char event[LOCK_SERVERS]; /* enum event */
	bool holds[LOCK_SERVERS];          /* it has the lock there */
};

struct runs {
	struct past_run *run;
	size_t n;
};

/*
 * Adds what a server tells: an entry's time, word and text, of len bytes, the
 * newest first.  What is no entry of ours is passed over.
 */
void runs_add(struct runs *, int server, int64_t at_ms, const char *word,
    const char *text, size_t len);

/* Once all is added: on this server the run with that token has the lock. */
void runs_holds(struct runs *, int server, const char *token);

/*
 * Says of each run how it ended, if quorum of nservers is a majority and
 * nsilent of them did not answer; the newest comes first then.
 */
void runs_judge(struct runs *, int nservers, int quorum, int nsilent);

void runs_release(struct runs *);

#endif
