/*
 * Questions to all servers, for those who look and do not hold: --status,
 * --history, --break, --check.  Every server is asked the same, many questions
 * at a time, and each has the node timeout to say something.
 */
#ifndef SURVEY_H
#define SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/loop.h"
#include "config/options.h"
#include "redis/conn.h"

#define SOURCE_WHY (ADDRESS_TEXT + CONN_WHY + OPTIONS_HINT)

struct survey;

/* A server, and how far it has come. */
struct source {
	struct survey *survey;
	struct conn conn;
	size_t asked; /* questions */
	size_t answered;
	int64_t end_ms;           /* without an answer until then: failed */
	enum reply_kind failure;  /* REPLY_OK: none so far */
	char why[CONN_WHY];       /* it has failed */
	size_t bytes;             /* of all its answers in this round */
	size_t names;             /* that its SCAN has brought */
	char cursor[24];          /* of SCAN */
	struct endpoint *masters; /* of a cluster: who has keys */
	int nmasters;
	int master; /* the one that SCAN is at */
};

/* A lock that is asked about. */
struct subject {
	char *name;
	int slots; /* those that there may be: 1 to LOCK_SLOTS */
	const struct source *from; /* whose SCAN named it, while it goes on */
};

/* Sends question i; returns what conn_eval() or conn_command() does. */
typedef int survey_ask_cb(struct source *, size_t i);

/*
 * The answer to question i, which may be an error; never REPLY_LOST.  Returns
 * whether the same question is to be asked again (as SCAN's next part is), for
 * which it must have been the only one.
 */
typedef bool survey_reply_cb(struct source *, size_t i, const struct reply *);

struct survey {
	const struct options *opt;
	struct loop loop;
	struct source *sources;
	int nsources;
	int quorum;
	struct subject *subjects; /* in bytewise order */
	size_t nsubjects;
	void *arg; /* the asker's */
	bool stop; /* survey_ask() returns at its next turn; for callbacks */

	int64_t scan_end_ms; /* no SCAN may take longer */
	size_t questions;    /* of the round under way */
	survey_ask_cb *ask_cb;
	survey_reply_cb *reply_cb;
	const char *const *wanted; /* ends of keys; see survey_subjects() */
};

/*
 * Resolves (which may block) and prepares the servers of opt, which stays in
 * place; exits where the operating system refuses.  survey_release() undoes
 * it.
 */
void survey_init(struct survey *, const struct options *opt);
void survey_release(struct survey *);

/*
 * Asks questions 0 to n-1 of every server that has not failed, and turns the
 * loop until each has answered all or failed.
 */
void survey_ask(struct survey *, size_t n, survey_ask_cb *, survey_reply_cb *);

/*
 * Gives those that have failed another try, on a connection of its own, in the
 * next survey_ask().  Not for use in callbacks.
 */
void survey_retry(struct survey *);

/*
 * Makes the list of subjects anew: opt->names, or, if it names none, each lock
 * under the prefix that has a key of one of the kinds wanted, by SCAN: "" the
 * lock itself and its further slots, or a word behind ":~", as "runs".  wanted
 * ends with NULL.
 */
void survey_subjects(struct survey *, const char *const wanted[]);

/* From now on this server has failed. */
void source_fail(struct source *, enum reply_kind, const char *why);

/* Whether the answer is an error; then the server has failed. */
bool source_refused(struct source *, const struct reply *);

/* What a server has answered that nobody understands. */
void source_nonsense(struct source *);

/*
 * Which server has failed, and why, in words that may need escaping.  Returns
 * buf.
 */
char *source_why(const struct source *, char buf[SOURCE_WHY]);

/* How many have not failed. */
int survey_working(const struct survey *);

/*
 * Says which servers have failed, and how many in *failures.  Returns 0 if a
 * quorum has not, else EXIT_REFUSED or EXIT_UNREACHABLE.
 */
int survey_report(const struct survey *, int *failures);

#endif
