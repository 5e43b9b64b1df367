/*
 * One server and its part in the lock.  For lock.c and acquire.c. Must not be
 * called in callbacks, except the one that a server sets itself.
 */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/server_state.h"

/*
 * Fills zeroed memory; the server, the intent and what it asks must stay in
 * place. *answered, unless NULL, becomes true with the first reply, for all
 * locks of the run. conn_release() frees everything.
 */
void
server_init(struct server *, const struct intent *, const struct server_asks *,
    struct resolver *, const struct address *, bool *answered);

/* Begins a connection. */
void server_open(struct server *, int64_t now_ms);

/*
 * Sends or closes what is due.  Returns the time of the next call at the
 * latest.
 */
int64_t server_step(struct server *, int64_t now_ms);

/* Makes an acquire due, and suspends the server's vote until its reply. */
void server_ask_anew(struct server *);

/*
 * Releases our vote on this server, behind the requests already sent, and stays
 * in the queue.  The next request, a little later, is a new attempt.
 */
void server_yield(struct server *);

/*
 * Like server_yield(), but with no pause and even without a connection, because
 * a different slot is wanted now.
 */
void server_restart(struct server *);

/*
 * Prepares the server for the release.  An acquire that never left this host
 * needs no release, unless an earlier request may have left something; a
 * release follows an acquire that was sent, on the same connection.  Returns
 * whether there is anything to release.  A server that has only the start of
 * the run, in its history, is sent the end without waiting for the reply.
 */
bool server_begin_release(struct server *);

/*
 * Call after a release: begins another attempt.  If the release has no reply
 * yet, its connection is left to the kernel.
 */
void server_again(struct server *);

/* Ends a BLPOP, so that the next request is sent at once. */
void server_end_wait(struct server *, int64_t now_ms);

/* A request that waits without a limit gets one. */
void server_limit(struct server *, int64_t end_ms);

#endif
