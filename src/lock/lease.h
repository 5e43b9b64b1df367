/*
 * What is wanted of every server.  lock.c and acquire.c write it; server.c and
 * server_reply.c read it, and nothing else of the lock.
 */
#ifndef LEASE_H
#define LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/key.h"
#include "protocol/mode.h"
#include "protocol/owner.h"

#define LOCK_END 64

struct lease {
	/* Fixed by lock_init(). */
	const char *name;
	char key[LOCK_KEY];
	char aux[LOCK_KEY]; /* what the other keys begin with */
	enum lock_mode mode;
	int capacity; /* slots; 1 in the other modes */
	int nservers;
	int quorum;
	int replicas; /* of each server, that must have the lock at first */
	int64_t ttl_ms;
	int64_t node_timeout_ms;
	int64_t grace_ms; /* restart grace; 0: none */

	/* Since lock_begin(). */
	bool begun;
	const struct owner *owner;
	char details[OWNER_DETAILS];
	int64_t begun_ms;
	int64_t wait_end_ms; /* until when we stay in the queue */
	bool last;           /* of the locks that the run needs to start */
	/*
	 * The fence that we propose, the same to all servers: our wall clock.
	 * A server renews it before an acquire when it has grown old.
	 */
	int64_t *proposal_us;

	/* What is wanted now. */
	enum { PHASE_ACQUIRE, PHASE_HOLD, PHASE_RELEASE } phase;
	int slot;            /* 0: any */
	int64_t ticket;      /* our place in the queue; 0 before a refusal */
	int64_t fence;       /* of this tenure; 0 before */
	bool contest;        /* several candidates share the votes */
	bool no_quorum;      /* too few servers can be reached to win */
	bool replicating;    /* only the replicas' word is missing */
	bool held;           /* LOCK_HELD was the outcome */
	int64_t waited_ms;   /* until then */
	bool started;        /* the run has all its locks */
	bool again;          /* the release is of this attempt alone */
	int64_t cooldown_ms; /* release: the lock stays held that long */
	char end_record[LOCK_END]; /* how the run ended; empty before */

	/*
	 * Order statistics of the servers' replies: D, the q-th largest v_i;
	 * and the q-th latest time at which a request was sent that a server
	 * granted, of those servers that never lost the key since.
	 */
	int64_t deadline_ms;
	int64_t confirmed_ms;
};

#endif
