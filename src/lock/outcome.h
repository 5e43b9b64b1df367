/* How an acquisition and a release can end. */
#ifndef OUTCOME_H
#define OUTCOME_H

enum lock_outcome {
	LOCK_UNDECIDED,
	LOCK_HELD,
	LOCK_BUSY,        /* refusals made a majority impossible */
	LOCK_OTHER_MODE,  /* it is used in another mode */
	LOCK_SUPERSEDED,  /* a later run with --latest waits for it */
	LOCK_QUEUE_FULL,  /* as many runs wait as --max-waiting allows */
	LOCK_OUTLASTS,    /* its holder may hold it beyond our grace */
	LOCK_UNREACHABLE, /* too few servers could be used */
	LOCK_DENIED,      /* a server denied us access */
	LOCK_SAME_SERVER, /* two addresses lead to one server */
	LOCK_CANCELLED    /* lock_cancel() was called */
};

enum lock_release_result {
	RELEASE_DONE,       /* released, or there was nothing to release */
	RELEASE_UNANSWERED, /* or with errors; the lock ends with its lease */
	RELEASE_NOT_OURS    /* the lock was free or another's before */
};

#endif
