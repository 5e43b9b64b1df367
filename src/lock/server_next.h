/*
 * The next request to a server, and when it is due.  Only this file writes the
 * pace: it has the reason for each request that is sent.
 */
#ifndef SERVER_NEXT_H
#define SERVER_NEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/server_state.h"

#define RETRY_MS  10  /* from an interrupted acquire to its retry */
#define REOPEN_MS 200 /* between tries to connect to a server that is down */

struct next_request {
	enum request_kind kind; /* REQUEST_NONE is never due */
	int64_t due_ms;
	int64_t ticket; /* of an acquire */
	int64_t fence;  /* of a renewal or a release; an acquire proposes one */
	int64_t length_ms; /* of the lease that it asks for */
	bool heals;        /* an acquire first sent while the lock is held */
	bool leaves;       /* a renewal that leaves the queue */
	bool starts;       /* it carries the start of the run */
	int watches;       /* see notice_begin(); set when it is sent */
};

/* Returns the request that the intent requires, as far as it is known now. */
struct next_request server_next_request(const struct server *, int64_t now_ms);

/* It is due at once; after about ms; as soon as to connect again is worth it. */
void server_next_now(struct server *);
void server_next_pause(struct server *, int ms);
void server_next_reopen(struct server *);

/* The next acquire or BLPOP waits until ms, a time of clock_now_ms(). */
void server_next_not_before(struct server *, int64_t ms);

/*
 * A request sent at sent_ms was granted or refused; was answered with an error;
 * was no vote, but asked for a success.
 */
void server_next_granted(struct server *, int64_t sent_ms);
void server_next_refused(struct server *, int64_t sent_ms);
void server_next_failed(struct server *, int64_t sent_ms);
void server_next_ran(struct server *, int64_t sent_ms);

/* The lock came with the wake, for length_ms. */
void server_next_passed_on(struct server *, int64_t length_ms);

/* A request was sent; there was no memory for it. */
void server_next_sent(struct server *, enum request_kind, int64_t now_ms);
void server_next_unsent(struct server *);

/*
 * A connection has ended by itself.  The next one may begin at once, unless this
 * one lasted less than the interval of retries, or 3 s: then the pause doubles up to
 * that, whatever is due.
 */
void server_next_ended(struct server *);

/*
 * The server executes nothing of it for now, because the lock's slot is moving
 * between two nodes of a cluster, or it refuses a release: the request is due again
 * after a pause that doubles until a reply comes, and when the wait ends.
 */
void server_next_later(struct server *);
void server_next_replied(struct server *);

/* The release begins, without a pause; another attempt does. */
void server_next_release(struct server *);
void server_next_again(struct server *);

#endif
