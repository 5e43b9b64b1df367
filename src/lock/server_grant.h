/*
 * A grant that comes with the wake: the script that releases the lock has
 * passed it on to us, and COMMAND starts under that grant before we confirm it.
 *
 * The wake's element is "NONCE FENCE MS".  Each acquire that may join the queue
 * writes a new nonce into our beat, so the one that comes back proves that the
 * grant was made after that acquire was sent.  The lease then counts from
 * there, as from any request, and no clock of a server enters:
 *
 *	v = the sending of that acquire + L - drift,	L = min(MS, TTL)
 *
 * The confirmation is a renewal.  Until it is answered the lease is L long.
 */
#ifndef SERVER_GRANT_H
#define SERVER_GRANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/server_state.h"

/*
 * Whether s can take one: the only server, of an exclusive lock, the last that
 * the run waits for, without --replicas.
 */
bool server_takes_grants(const struct server *);

/*
 * The nonce for the acquire that is to be sent now; 0 if it has none.  No two of
 * this server are the same.
 */
int64_t grant_new_nonce(struct server *);

/* The acquire that was sent at that time has been refused: its nonce counts. */
void grant_expect(struct server *, int64_t sent_ms);

/*
 * Takes what the wake has brought, len bytes.  Returns whether it is a grant,
 * so that v_i, the fence and the vote are set; if not, we have to ask.  Either
 * way the nonce is spent.
 */
bool grant_take(struct server *, const char *element, size_t len);

/* Gives up a grant under which nothing was started. */
void grant_drop(struct server *);

/*
 * Until when the confirmation that is sent now is waited for: a quarter of what
 * is left until SIGTERM, at most the node timeout.
 */
int64_t grant_give_up_ms(const struct server *, int64_t now_ms);

#endif
