/*
 * The runs of a lock, merged from the history that each server keeps.  An entry
 * is a word, "start", "end" or "lost", and a text: the owner value, see owner.h,
 * and the record, see record.h.  "lost" is the end on a server where that run no
 * longer had the lock.  Entries with the same token belong to one run.  An end
 * repeats the fields of its start, which may have been trimmed.  A stream of its
 * own has the runs that did not get the lock.  Its entries have two pairs, "skip"
 * with such a text, and "holder" with the holder's value, which may be empty.
 */
#ifndef RUNS_H
#define RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/owner.h"
#include "protocol/quorum.h"
#include "protocol/record.h"

#define SKIP_VALUE 64

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
	int slot; /* 0: none */
	enum ending ending;
	char broken_by[OWNER_BY];          /* USER@HOST of a --break, or "" */
	unsigned char event[LOCK_SERVERS]; /* enum event */
	bool broken[LOCK_SERVERS];         /* broken there, after its end */
	bool released;                     /* so on a majority of servers */
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
 * Return the newest run that ended, or that was skipped; NULL: none.  Call after runs_judge().
 */
const struct past_run *runs_last_ended(const struct runs *);
const struct past_run *runs_last_skip(const struct runs *);

void runs_release(struct runs *);

#endif
