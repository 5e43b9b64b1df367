/*
 * The record of a run: its text in the history, behind the owner value.
 *
 *	start	 waited=MS [slot=N]
 *	end	 waited=MS [ran=MS] ended=HOW status=N (or signal=N) [slot=N]
 *	skip	 waited=MS skipped=WHY
 *
 * Each function writes one part; the scripts join them, add the slot, and compare
 * no word.
 * Later versions may append fields and words.  A reader finds fields by their
 * names, takes the first of a name, and ignores those that it does not know.
 */
#ifndef RECORD_H
#define RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_TEXT 96 /* of one part */

/* How a run ended: the record names the first ones, inspection the others. */
enum ending {
	ENDED_UNKNOWN, /* not recorded, and too few servers replied */
	ENDED_EXITED,
	ENDED_KILLED,
	ENDED_MAX_RUN,
	ENDED_LOST,
	ENDED_NOT_RUN, /* COMMAND could not be started */
	ENDED_OTHER,   /* with a word of a later version */
	ENDED_DIED,    /* without recording its end */
	ENDED_RUNNING,
	ENDED_SKIPPED /* it did not get the lock */
};

/* Why a run did not get the lock. */
enum skip_reason {
	SKIP_NONE,
	SKIP_BUSY,
	SKIP_WAITED,
	SKIP_MODE,
	SKIP_SUPERSEDED,
	SKIP_QUEUE_FULL
};

struct record {
	int64_t waited_ms; /* -1: absent or unreadable, as in all of these */
	int64_t ran_ms;
	int64_t status;
	int64_t signal;
	enum ending ending;    /* ENDED_UNKNOWN: no end */
	enum skip_reason skip; /* SKIP_NONE: no skip, or an unknown reason */
};

/* Writes the text of a start, with which the others begin. */
void record_waited(char text[RECORD_TEXT], int64_t waited_ms);

/* Writes what follows it at the end of a run that has ended as *r says. */
void record_end(char text[RECORD_TEXT], const struct record *r);

/* Writes what follows it for a skip; "" for SKIP_NONE. */
void record_skip(char text[RECORD_TEXT], enum skip_reason);

/*
 * Whether COMMAND succeeded: it exited with status 0, held the lock, and stayed
 * within --max-run.
 */
bool record_is_success(const struct record *r);

/*
 * Reads the fields in text of len bytes, which other programs may have written.
 * An end with an unknown word is ENDED_OTHER.
 */
void record_read(struct record *r, const char *text, size_t len);

/* Returns the number of the slot in such a text; 0 if there is none. */
int record_slot(const char *text, size_t len);

/*
 * Return the word in Redis and in JSON; NULL for ENDED_UNKNOWN, ENDED_OTHER and
 * SKIP_NONE.
 */
const char *record_ending_word(enum ending);
const char *record_skip_word(enum skip_reason);

#endif
