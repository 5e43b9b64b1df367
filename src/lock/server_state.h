/* The state of one server and of its part in the lock.  Only for src/lock. */
#ifndef SERVER_STATE_H
#define SERVER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "lock/intent.h"
#include "protocol/lock_state.h"
#include "redis/conn.h"

#define POLL_MS 20 /* between requests during a split vote, at least */
/*
 * In node timeouts: the look-up, the connection with its handshake, and the
 * request; until a candidate counts as dead; for a split vote, at most.
 */
#define PHASE_TIMEOUTS   3
#define BEAT_TIMEOUTS    (PHASE_TIMEOUTS + 1)
#define CONTEST_TIMEOUTS (BEAT_TIMEOUTS + 1)

/* For an acquire with its script's text, which takes several round trips. */
#define TEXT_TIMEOUTS 2

enum request_kind {
	REQUEST_NONE,
	REQUEST_ACQUIRE,
	REQUEST_WAIT,     /* BLPOP, until we are woken */
	REQUEST_REPLICAS, /* WAIT, how many replicas have our vote */
	REQUEST_RENEW,
	REQUEST_RAN,   /* whether a run has succeeded lately */
	REQUEST_LEAVE, /* leave the queue and release any vote */
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
	KEY_MAYBE, /* our value may be there */
	KEY_OURS   /* the last reply granted it */
};

struct server;

/* What a server asks of its lock, with arg. */
struct server_asks {
	/*
	 * Updates the intent and ->first, before a reply is judged and before a
	 * request is chosen.
	 */
	void (*refresh_cb)(void *arg, struct server *);
	/* Returns the fence that an acquire proposes. */
	int64_t (*propose_cb)(void *arg);
	void *arg;
};

/* The connection. */
struct server_link {
	bool opened;   /* and not yet found closed */
	bool looks_up; /* it waits for a lookup */
	bool accepted; /* by the server, which was noticed */
	bool replied;  /* it has carried a reply */
	bool reopen;   /* one has worked: reopen at once */
	bool at_start; /* it was opened before any server had voted */
	int64_t opened_ms;
};

/* The request in flight. */
struct server_in_flight {
	enum request_kind kind;
	int sequence;       /* the number of the last request */
	int acquire;        /* of an acquire without a reply; 0: none */
	int64_t give_up_ms; /* when it counts as unanswered */
	/*
	 * Its later limit, after a pause of this process; 0: no such
	 * pause.
	 */
	int64_t excused_ms;
	/*
	 * When a request was first sent that is now repeated with its
	 * script's text; 0: it is not repeated.
	 */
	int64_t first_sent_ms;
	enum request_kind first_kind; /* which that was */
	bool extended;      /* its repetition has had more time, once */
	bool starts;        /* it carries the start of the run */
	int64_t length_ms;  /* of the lease that it asks for */
	int64_t longest_ms; /* the longest that any request asked for */
	bool heals;         /* an acquire first sent while held */
	bool leaves;        /* a renewal that leaves the queue */
};

/* When requests are due. */
struct server_pace {
	int64_t next_ms;  /* when the next request is due */
	int64_t open_ms;  /* no connection is begun before */
	int64_t pause_ms; /* before the next one, if this one ends soon */
	int64_t later_ms; /* the last pause before the same request */
	int64_t paced_ms; /* end of their budget, PACE_MS each */
	int64_t block_ms; /* when BLPOP must end, in the queue */
	int64_t poll_ms;  /* interval under a holder that wakes nobody */
};

/* Our key on the server. */
struct server_key {
	enum key_state state;
	int64_t granted_ms;         /* when the key became ours */
	int64_t confirmed_ms;       /* sending of its last request */
	int64_t untrusted_since_ms; /* but our key is there; 0: trusted */
	int64_t barred_ms;          /* not counted before, see duplicate.c */
	int64_t voted_ms; /* sending of the request that v_i counts from */
	/* The length of a grant with the wake; 0: it is confirmed. */
	int64_t unconfirmed_ms;
	char run_id[INFO_RUN_ID]; /* of the server that granted v_i */
	int64_t born_ms;          /* when that had started */
};

/* Which server is there. */
struct server_identity {
	char run_id[INFO_RUN_ID]; /* of the server there; empty: none */
	int64_t since_ms;         /* the first connection that found it */
	bool at_start;            /* the only one, and found at the start */
	bool warned;
};

/* Our place in its queue. */
struct server_queue {
	bool maybe;        /* we may be in the queue */
	bool sent_ticket;  /* the last acquire carried our ticket */
	bool waiter_ahead; /* a living waiter has an earlier ticket */
};

/* Its clock beside ours. */
struct server_numbers {
	int64_t ahead_us; /* its clock at an acquire, less ours */
	const char *odd;  /* why they are implausible, or NULL */
};

/* A grant that comes with the wake, see grant.h. */
struct server_grant {
	int64_t sent_nonce; /* in the last acquire; nonces only grow */
	int64_t nonce;      /* in our beat; 0: used up */
	int64_t sent_ms;    /* when the acquire with the nonce was sent */
};

/* What the server watches for us, see notice.h. */
struct server_notice {
	int slot;            /* whose key the last request has read; 0: none */
	bool held;           /* it was a renewal */
	int connection;      /* on which */
	bool changed;        /* a push has named the key since */
	int64_t renewed_ms;  /* when a renewal last read it */
	int64_t hastened_ms; /* when a push last made us send a request */
};

/* The release. */
struct server_release {
	enum vote vote;
	int sent;          /* how many times */
	int first;         /* its number on the connection set aside; or 0 */
	int64_t second_ms; /* when that was set aside; 0: not yet */
	int64_t behind_ms; /* when the request before it was sent */
	bool behind_text;  /* which has the text of its script */
	bool failed;       /* with an error, and is sent again */
};

/* A server and its part in the lock. */
struct server {
	const struct intent *intent;
	const struct server_asks *asks;
	struct conn conn;
	struct server_link link;
	struct server_in_flight in_flight;
	struct server_pace pace;
	unsigned int try; /* the attempt of our value here */
	bool try_over; /* its release is sent: the next acquire has the next */
	struct server_key key;
	struct server_identity identity;
	int64_t valid_ms; /* v_i */
	int64_t fence;    /* the server's counter, while the key is ours */
	int slot;         /* the slot granted; 0: none */
	int replicas;     /* how many have the key, at least */
	bool recorded;    /* it was sent the start of the run */
	struct server_queue queue;
	struct server_numbers numbers;
	struct server_grant grant;
	struct server_notice notice;
	/* The address of the same server that has its vote; NULL: this one. */
	const struct server *first;
	int64_t sent_ms;    /* when the last answered request was sent */
	int64_t slowest_ms; /* slowest reply so far; -1: none */
	enum vote vote;     /* on acquire or renewal */
	struct server_release release;
	char why[CONN_WHY];     /* of the last failure */
	struct lock_state view; /* from the last refusal */
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

/*
 * Whether the server refuses because of a recent success.  It has then removed
 * us from its queue.
 */
static inline bool
server_names_success(const struct server *s)
{
	return s->vote == VOTE_REFUSED && s->view.reason == REASON_RAN;
}

/* Returns its vote; VOTE_UNAVAILABLE if its vote must not count. */
static inline enum vote
server_vote(const struct server *s)
{
	return s->first != NULL || s->key.barred_ms > clock_now_ms() ||
		(s->numbers.odd != NULL && server_has_voted(s)) ?
	    VOTE_UNAVAILABLE :
	    s->vote;
}

/* Whether the server has been up for longer than any lease. */
static inline bool
server_past_restart_grace(const struct server *s)
{
	int64_t grace_ms = s->intent->grace_ms;

	/* The server reports whole seconds. */
	return grace_ms == 0 ||
	    (s->conn.info.born_ms != 0 &&
		clock_now_ms() - s->conn.info.born_ms >= grace_ms + 1000);
}

/*
 * Whether we are in the server's queue: as a waiter always.  Among several
 * servers a vote may be split, so each run without a decision is a candidate
 * and queues as well.
 */
static inline bool
server_queues(const struct server *s)
{
	return !s->in_flight.heals &&
	    (s->intent->quorum > 1 || s->intent->wait_end_ms != 0);
}

/*
 * Whether another address releases the lock on this server.  The second release
 * would not find the key.  Of a lock that was not held an acquire may be on its
 * way at each of them.
 */
static inline bool
server_first_releases(const struct server *s)
{
	return s->first != NULL && s->intent->held;
}

#endif
