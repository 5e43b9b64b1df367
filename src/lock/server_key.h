/*
 * What the replies of one server make of our key there: its vote, v_i, fence
 * and slot.  Each function is one transition, and nothing else writes these
 * members.  None sends anything or decides when the next request is due.
 */
#ifndef SERVER_KEY_H
#define SERVER_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/grant.h"
#include "lock/server_state.h"

/*
 * The server granted a request sent at sent_ms.  Whether that counts is decided
 * by server_key_trust().
 */
void server_key_won(struct server *, int64_t sent_ms, int64_t fence, int slot);

/* The server granted the lock with the wake. */
void server_key_passed_on(struct server *, const struct grant *);

/*
 * Makes the vote on a request for length_ms, sent at sent_ms, count, unless D has
 * passed or the server is not trusted.  The lease runs from when the request was
 * sent, not from the reply.
 */
void server_key_trust(struct server *, int64_t sent_ms, int64_t length_ms);

/* Our key is there, but the server may have forgotten another holder's. */
void server_key_distrusted(struct server *);

/*
 * server_key_duplicate() takes the vote, because another address of the server
 * has it. server_key_barred() does not let it count before until_ms.
 */
void server_key_duplicate(struct server *);
void server_key_barred(struct server *, int64_t until_ms);

/*
 * Our key counts no more.  It is gone, or may still be there: a release of it is
 * under way, or the server was not reached.
 */
void server_key_lost(struct server *, enum key_state left);

/* The same; its vote is a refusal, or we have given it back. */
void server_key_refused(struct server *, enum key_state left);
void server_key_yielded(struct server *);

/* A release, or the leaving of the queue, was answered or has failed. */
void server_key_gone(struct server *);

/* An acquire has reached the server, or may have. */
void server_key_may_hold(struct server *);

/* We are no longer in the server's queue. */
void server_key_unqueued(struct server *);

/* Suspends the vote, or that on the release, until the next reply. */
void server_key_pending(struct server *);

/* There is no vote, or none on the release, because a request has failed. */
void server_key_failed(struct server *, enum vote, const char *why);
void server_key_explain(struct server *, const char *why);

/*
 * The reply to a release; why, unless NULL, explains it.  After a refusal v_i
 * is 0.
 */
void server_key_released(struct server *, enum vote, const char *why);

/* Stores what a refusal says about the lock. */
void server_key_viewed(struct server *, const struct lock_state *);

/* Whether a living waiter is ahead of us; how many replicas have the key. */
void server_key_ahead(struct server *, bool ahead);
void server_key_replicated(struct server *, int replicas);

/* Whether the server was sent the start of the run. */
void server_key_recorded(struct server *, bool recorded);

/* Forgets all of this for another attempt; our value may still be there. */
void server_key_again(struct server *);

#endif
