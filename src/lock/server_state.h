/*
 * What is known of one server and of its part in the lock.  For src/lock alone.
 */
#ifndef SERVER_STATE_H
#define SERVER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "lock/lease.h"
#include "protocol/state.h"
#include "redis/conn.h"

#define POLL_MS          20    /* while a vote is split, and up to twice that */
#define CONTEST_TIMEOUTS 3     /* node timeouts that a split vote may take, */
#define BEAT_TIMEOUTS    2     /* and after which a candidate counts as dead */
#define HEARTBEAT_MS     15000 /* without a word a waiter counts as dead */

enum request_kind {
	REQUEST_NONE,
	REQUEST_ACQUIRE,
	REQUEST_WAIT,     /* to be woken */
	REQUEST_REPLICAS, /* how many have our vote */
	REQUEST_RENEW,
	REQUEST_LEAVE, /* the queue, and what we may have of a vote */
	REQUEST_RELEASE
};

enum vote {
	VOTE_PENDING,
	VOTE_GRANTED,
	VOTE_REFUSED,
	VOTE_UNAVAILABLE,
	VOTE_FORBIDDEN
};

enum key_state {
	KEY_NONE,  /* our value is not there */
	KEY_MAYBE, /* it may be: nothing rules that out */
	KEY_OURS   /* the last reply granted it */
};

/* A server and its part in the lock. */
struct server {
	const struct lease *lease;
	/* Brings *lease and ->duplicate up to date. */
	void (*refresh_cb)(void *arg, struct server *);
	void *arg;
	struct conn conn;
	struct {
		bool opened; /* and its end not yet seen */
		bool heard;  /* it has carried a reply */
		bool reopen; /* one has worked: reopen at once */
		int64_t opened_ms;
	} link; /* the connection */
	struct {
		enum request_kind kind;
		int sequence;          /* the number of the last request */
		int64_t give_up_ms;    /* when it counts as unanswered */
		int64_t excused_ms;    /* until when it has more time, since we
				       had not run; 0: it has not */
		int64_t first_sent_ms; /* when what goes again, with its
					  script's text, went first; 0: it goes
					  for the first time */
		bool extended;         /* which had time of its own, once */
		bool starts;           /* it has the start of the run */
		bool heals;            /* the acquire went first while held */
		bool leaves;           /* the renewal leaves the queue */
	} in_flight;
	struct {
		int64_t next_ms;  /* when the next request is due */
		int64_t paced_ms; /* when all so far had their PACE_MS */
		int64_t block_ms; /* in the queue: until when it may keep us
				     blocked */
		int64_t poll_ms;  /* under a holder that wakes nobody */
	} pace;
	unsigned int try; /* the attempt that our value here is of */
	struct {
		enum key_state state;
		int64_t granted_ms;         /* when it became ours */
		int64_t confirmed_ms;       /* when the last request that was
					 granted was sent */
		int64_t untrusted_since_ms; /* since when our key is there but
					       does not count; 0: it does */
	} key;
	int64_t valid_ms; /* v_i */
	int64_t fence;    /* its counter, while the key is ours */
	int slot;         /* that it granted; 0: none */
	int replicas;     /* that have the key, at least */
	bool recorded;    /* it was sent the start of the run */
	struct {
		bool maybe;        /* nothing rules out that we are in it */
		bool sent_ticket;  /* the last acquire had our ticket */
		bool waiter_ahead; /* a living waiter has an earlier one */
	} queue;
	struct {
		int64_t ahead_us; /* its wall clock, as acquire reported it,
				     less ours */
		const char *odd;  /* why its numbers cannot be right, or NULL */
	} numbers;
	struct {
		int64_t sent_nonce; /* with the last acquire; they only grow */
		int64_t nonce;      /* that is in our beat; 0: spent */
		int64_t sent_ms;   /* when the acquire that wrote it was sent */
		int64_t length_ms; /* of a grant that we have not confirmed yet;
				       0: there is none */
	} grant;                   /* see server_grant.h */
	const struct server *duplicate; /* the same server at another address */
	int64_t sent_ms; /* when the last request that it answered was sent */
	int64_t slowest_ms; /* reply so far; -1: none */
	enum vote vote;     /* on acquire or renewal */
	struct {
		enum vote vote;
		int sent;          /* times */
		int64_t behind_ms; /* when what is before it was sent */
	} release;
	char why[CONN_WHY];     /* of the last failure */
	struct lock_state view; /* of the last refusal */
};

/* Whether our value or our place in the queue may be there. */
static inline bool
server_may_have_ours(const struct server *s)
{
	return s->key.state != KEY_NONE || s->queue.maybe;
}

/* Whether its last reply was a vote. */
static inline bool
server_has_voted(const struct server *s)
{
	return s->vote == VOTE_GRANTED || s->vote == VOTE_REFUSED;
}

/* Its vote, where it has a vote. */
static inline enum vote
server_vote(const struct server *s)
{
	return s->numbers.odd != NULL &&
		(s->vote == VOTE_GRANTED || s->vote == VOTE_REFUSED) ?
	    VOTE_UNAVAILABLE :
	    s->vote;
}

/* Whether it has been up for as long as any lease lasts. */
static inline bool
server_past_restart_grace(const struct server *s)
{
	int64_t grace_ms = s->lease->grace_ms;

	/* Its own account is in whole seconds. */
	return grace_ms == 0 ||
	    (s->conn.info.born_ms != 0 &&
		clock_now_ms() - s->conn.info.born_ms >= grace_ms + 1000);
}

/*
 * Whoever waits is in the queue.  Among several servers a vote may be split,
 * so whoever asks for one is a candidate, and in the queue as well, until it
 * has won or lost.
 */
static inline bool
server_queues(const struct server *s)
{
	return !s->in_flight.heals &&
	    (s->lease->quorum > 1 || s->lease->wait_end_ms != 0);
}

#endif
