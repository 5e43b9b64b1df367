/*
 * CLIENT TRACKING: the server pushes the name of a key that this connection has
 * read, once another client changes or deletes it, or it expires.  A pure
 * machine; conn.c has the socket.
 */
#ifndef TRACKING_H
#define TRACKING_H

#include <stdbool.h>

#include "redis/reply.h"

enum tracking_state {
	TRACKING_UNASKED,
	TRACKING_ASKED,
	TRACKING_WORKS,
	TRACKING_REFUSED
};

/* All zeros before the first connection. */
struct tracking {
	enum tracking_state state; /* on the present connection */
	int connection;            /* its number */
	int lost; /* connections in a row that ended before the replies */
};

#define TRACKING_REQUESTS 2

/* Another connection begins, which speaks RESP2. */
void tracking_begin(struct tracking *);

/*
 * Returns the tag of the i-th of the requests, which are sent together, and sets
 * its words.  The tag is negative, and no handshake step has it.
 */
int tracking_request(int i, const char *const **argv, int *argc);

/* Whether the tag is that of one of them. */
bool tracking_has_tag(int tag);

/*
 * Whether the requests may be sent on this connection; good: it has carried a
 * reply.  Some proxies close the connection at a command that they do not know, or
 * never reply.  So after such a loss the next connection has to be good first,
 * which keeps the lease, and after two in a row none asks again.
 */
bool tracking_may_ask(const struct tracking *, bool good);

/* The requests were sent; one of them could not be sent. */
void tracking_asked(struct tracking *);
void tracking_failed(struct tracking *);

/*
 * Takes the reply to one of them.  An error only means that there are no pushes:
 * the server is older than Redis 6, a proxy, or the user may not use the command.
 * A lost reply counts only if the connection was established, because otherwise
 * no request has left.
 */
void tracking_reply(struct tracking *, const struct reply *, bool established);

/* There were too many pushes: no connection asks for them again. */
void tracking_flooded(struct tracking *);

#endif
