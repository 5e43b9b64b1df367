/*
 * What a new connection begins with, before anything that writes is sent: AUTH,
 * SELECT, the name of a Sentinel's master and whether it still is one, INFO.
 * Requests come out and replies go in; the socket is conn.c's.
 */
#ifndef HANDSHAKE_H
#define HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/info.h"
#include "redis/reply.h"
#include "redis/url.h"

/*
 * The steps in their order, each of which is the tag of its request: negative,
 * as those of conn_eval() are not.
 */
enum handshake_step {
	HANDSHAKE_AUTH = -5,
	HANDSHAKE_SELECT,
	HANDSHAKE_ROLE,   /* of the server that a Sentinel named */
	HANDSHAKE_MASTER, /* the Sentinel names it */
	HANDSHAKE_INFO,
	HANDSHAKE_END
};

enum handshake_state {
	HANDSHAKE_RUNNING,
	HANDSHAKE_DONE,       /* other requests may be sent */
	HANDSHAKE_REDIRECTED, /* the Sentinel's master is at ->master */
	HANDSHAKE_FAILED      /* see ->failure and ->why */
};

struct handshake {
	const struct address *address;
	bool at_sentinel;         /* it is not the server itself */
	bool sentinel_denied;     /* it wants the password that servers want */
	enum handshake_step step; /* the next */
	enum handshake_state state;
	struct endpoint master;
	struct server_info *info; /* NULL: INFO is not sent */
	enum reply_kind failure;
	const char *why; /* valid for as long as the reply that it is from */
};

struct handshake_request {
	int tag;
	int argc;
	const char *argv[3]; /* valid for as long as address and this struct */
	char db[16];
};

/*
 * Begins the handshake of a connection to one of address's Sentinels, or to the
 * server itself.  Unless info is NULL, it is cleared, and the reply to INFO
 * fills it, which comes after HANDSHAKE_DONE.  Address and info stay in place.
 */
void handshake_init(struct handshake *, const struct address *,
    bool at_sentinel, struct server_info *info);

/*
 * The next request, to be sent once the one before it has its reply.  Returns
 * false, with the state HANDSHAKE_DONE, if there is none.  INFO makes it
 * HANDSHAKE_DONE, too: it is sent ahead of the first request of others, so that
 * its reply comes first.
 */
bool handshake_next(struct handshake *, struct handshake_request *);

/*
 * Takes the reply to the request with its tag, but no REPLY_LOST.  Returns the
 * new state; handshake_next() follows if that is HANDSHAKE_RUNNING.
 */
enum handshake_state
handshake_reply(struct handshake *, const struct reply *, int64_t now_ms);

#endif
