/*
 * Where a server sends a connection on to: a Sentinel to the master, a node of
 * a cluster to the one that has the slot.  What a cluster did not execute is
 * sent again there, in its order.
 */
#ifndef REDIRECT_H
#define REDIRECT_H

#include <stdbool.h>

#include "redis/handshake.h"
#include "redis/link.h"
#include "redis/pending.h"
#include "redis/url.h"

/* All zeros: to nowhere. */
struct redirect {
	struct endpoint to;   /* stays known; port 0: never */
	bool due;             /* as soon as all requests have their replies */
	struct pending moved; /* requests to be sent there */
};

/* Makes a redirection due. */
void redirect_to(struct redirect *, const struct endpoint *to);

/*
 * Whether the error of the node at host redirects a request, which is taken if
 * so.  One that was redirected too often stays.
 */
bool redirect_take(struct redirect *, struct pending_request *,
    const char *error, const char *host);

/*
 * Sends the requests on the link, as if they were new.  If one cannot be sent,
 * it and those behind it stay, and the link is aborted.
 */
void redirect_resend(struct redirect *, struct link *);

/* The tag of ASKING, which goes ahead of some of them; no step has it. */
#define REDIRECT_ASKING (HANDSHAKE_AUTH - 1)

#endif
