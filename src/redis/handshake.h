/*
 * The first requests on a new connection, before any that writes: AUTH, SELECT,
 * the name of a Sentinel's master, that server's role, INFO.  A pure machine
 * that produces requests and takes replies; conn.c has the socket.
 */
#ifndef HANDSHAKE_H
#define HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/info.h"
#include "redis/reply.h"
#include "redis/address.h"

/*
 * The steps in their order.  Each is the tag of its request: negative, unlike
 * the tags of conn_eval().
 */
enum handshake_step {
	HANDSHAKE_AUTH = -5,
	HANDSHAKE_SELECT,
	HANDSHAKE_ROLE,   /* of the server that a Sentinel named */
	HANDSHAKE_MASTER, /* the Sentinel's answer with that server */
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
	const char *password;     /* of this server; NULL: none */
	bool at_sentinel;         /* this connection leads to a Sentinel */
	bool sentinel_denied;     /* the Sentinel requires a password */
	enum handshake_step step; /* the next */
	enum handshake_state state;
	struct endpoint master;
	struct server_info *info; /* NULL: INFO is not sent */
	enum reply_kind failure;
	const char *why; /* valid as long as the reply it comes from */
};

struct handshake_request {
	int tag;
	int argc;
	const char *argv[3]; /* valid for as long as address and this struct */
	char db[16];
};

/*
 * Begins the handshake of a connection to the server, or to one of the
 * address's Sentinels, without a password.  Clears info, unless it is NULL; the
 * reply to INFO fills it after HANDSHAKE_DONE.  The address and info must stay in
 * place.
 */
void handshake_init(struct handshake *, const struct address *,
    bool at_sentinel, struct server_info *info);

/*
 * Chooses the password for that server before the first request: for a Sentinel
 * only one that is meant for it, and for a node of a cluster its own or that of
 * the URL.
 */
void handshake_aim(struct handshake *, const char *host, int port);

/*
 * Returns why such a server got no password, as the end of a sentence; NULL if
 * none was set.
 */
const char *handshake_why_withheld(const struct handshake *);

/*
 * Prepares the next request, to be sent once the one before it has its reply.
 * Returns false, with the state HANDSHAKE_DONE, if there is none.  The state
 * also becomes HANDSHAKE_DONE with INFO: the caller sends its own first request
 * right behind it, so that INFO's reply comes first.
 */
bool handshake_next(struct handshake *, struct handshake_request *);

/*
 * Takes the reply, other than REPLY_LOST, to the request with its tag.  Returns
 * the new state; if it is HANDSHAKE_RUNNING, call handshake_next().
 */
enum handshake_state
handshake_reply(struct handshake *, const struct reply *, int64_t now_ms);

#endif
