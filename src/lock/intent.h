/*
 * The intent: what the run wants from every server. lock.c alone writes it.  The
 * files of a server read it, and nothing else of the lock.
 */
#ifndef INTENT_H
#define INTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/key.h"
#include "protocol/lock_state.h"
#include "protocol/mode.h"
#include "protocol/owner.h"
#include "protocol/record.h"

/* What the votes allow, so far. */
struct intent_votes {
	bool contest;     /* several candidates split the votes */
	bool no_quorum;   /* too few servers can be reached */
	bool asks_ran;    /* and one of them names a success */
	bool replicating; /* only the replicas' votes are missing */
};

/* The release, and the end of the run for the history. */
struct intent_ending {
	bool again;               /* it ends only this attempt */
	bool insists;             /* if it is not answered, it goes twice */
	int64_t cooldown_end_ms;  /* keep the lock until then */
	const struct record *end; /* how the run ended; NULL: not yet */
	enum skip_reason skip;    /* why the run was refused */
	const struct lock_state *later; /* by a later run; or NULL */
};

struct intent {
	/* Fixed by lock_init(). */
	const char *name;
	char key[LOCK_KEY];
	char aux[LOCK_KEY]; /* the beginning of the auxiliary keys */
	enum lock_mode mode;
	int capacity; /* slots; 1 in the other modes */
	int nservers;
	int quorum;
	int replicas;    /* so many replicas must have the lock at first */
	int max_waiting; /* join the queue behind fewer runs only; 0: always */
	bool latest;     /* a later run with this supersedes us while we wait */
	int64_t ttl_ms;
	int64_t
	    max_ttl_ms; /* the longest lease of a renewal; at least ttl_ms */
	int64_t node_timeout_ms;
	int64_t grace_ms;    /* restart grace; 0: none */
	int64_t once_per_ms; /* not after a success in that time; 0: always */

	/* Since lock_begin(). */
	const struct owner *owner;
	char details[OWNER_DETAILS];
	int64_t begun_ms;
	int64_t wait_end_ms; /* when we leave the queue */

	bool begun;
	bool last;  /* the last lock that the run needs to start */
	bool voted; /* a server has voted in this run */

	/* The present wish. */
	enum { PHASE_ACQUIRE, PHASE_HOLD, PHASE_RELEASE } phase;
	int slot;       /* 0: any */
	int64_t ticket; /* our place in the queue; 0: none yet */
	int64_t fence;  /* of this tenure; 0: none yet */
	bool held;      /* the outcome was LOCK_HELD */
	struct intent_votes votes;
	struct intent_ending ending;
	bool started;      /* the run has all its locks */
	int64_t held_ms;   /* when that outcome came */
	bool grows;        /* COMMAND runs, so renewals may ask for more */
	int64_t waited_ms; /* until the outcome */

	/*
	 * Order statistics of the servers' replies. deadline_ms is D, the q-th
	 * largest v_i. confirmed_ms is the q-th latest time of sending a
	 * granted request, among the servers that have not lost the key since.
	 */
	int64_t deadline_ms;
	int64_t confirmed_ms;
};

#endif
