/*
 * Redirections of a connection: from a Sentinel to the master, or from a
 * cluster node to the node that has the slot.  Requests that a node refused are
 * sent to the other in the same order.
 */
#ifndef REDIRECT_H
#define REDIRECT_H

#include <stdbool.h>

#include "redis/handshake.h"
#include "redis/link.h"
#include "redis/pending.h"
#include "redis/address.h"

/* All zeros: no redirection. */
struct redirect {
	struct endpoint to;   /* kept once known; port 0: none yet */
	bool due;             /* as soon as all requests have their replies */
	struct pending moved; /* the requests to be sent there */
};

/* Makes a redirection due. */
void redirect_to(struct redirect *, const struct endpoint *to);

/*
 * Returns whether the error redirects the request to another node; if so, takes
 * the request over. host is the node that replied.  A request that was
 * redirected too often is not taken.
 */
bool redirect_take(struct redirect *, struct pending_request *,
    const char *error, const char *host);

/*
 * Sends the requests on the link, like new ones.  If one cannot be sent, it and
 * those behind it stay, and the link is aborted.
 */
void redirect_resend(struct redirect *, struct link *);

/* The tag of ASKING, which precedes some of them; no handshake step has it. */
#define REDIRECT_ASKING (HANDSHAKE_AUTH - 1)

#endif
