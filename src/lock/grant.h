/*
 * A grant that comes with the wake: the script that released the lock has
 * passed it on to us, and COMMAND starts under that grant before we confirm it.
 *
 * The element of the wake list is "NONCE FENCE MS".  Each acquire that may join
 * the queue writes a new nonce into our beat.  So when a nonce comes back, the
 * grant was made after that acquire was sent.  The lease counts from there, as
 * from any request, and uses no clock of a server:
 *
 *	v = the sending of that acquire + L - drift,  L = min(MS, TTL)
 *
 * The confirmation is a renewal.  Until its reply the lease has the length L.
 */
#ifndef GRANT_H
#define GRANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/server_state.h"

struct grant {
	int64_t nonce;
	int64_t fence;
	int64_t length_ms; /* L */
	int64_t sent_ms;   /* when the acquire with the nonce was sent */
	int64_t valid_ms;  /* v */
};

/*
 * Whether s can take such a grant: it is the only server, of an exclusive lock,
 * the last that the run waits for, without --replicas or --once-per.
 */
bool grant_is_possible(const struct server *);

/*
 * Returns the nonce for the acquire that is about to be sent, different from
 * all before on this server; 0 if it cannot take a grant.
 */
int64_t grant_new_nonce(struct server *);

/*
 * The acquire that was sent at sent_ms has been refused, so its nonce is in our
 * beat.
 */
void grant_expect(struct server *, int64_t sent_ms);

/* No grant is expected any more: the value or the connection is another one. */
void grant_forget(struct server *);

/*
 * Reads the element of the wake list, len bytes.  Returns whether it is a grant
 * that counts, and then fills it; otherwise we have to send an acquire.  Either
 * way the nonce is used up.
 */
bool
grant_take(struct server *, const char *element, size_t len, struct grant *);

/*
 * Returns when to give up a confirmation that is sent now: after a quarter of
 * the time left until SIGTERM, at most the node timeout.
 */
int64_t grant_give_up_ms(const struct server *, int64_t now_ms);

#endif
