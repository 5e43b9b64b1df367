/* The effect of a server's error; for server_reply.c. */
#ifndef SERVER_ERROR_H
#define SERVER_ERROR_H

#include <stdint.h>

#include "lock/server_state.h"

/* Takes a reply that cannot be right: the server has no vote for now. */
void server_malformed(struct server *, const struct reply *);

/*
 * Takes a reply other than REPLY_OK to a request of that kind: sends the
 * request again at once if it was not executed; otherwise the server has no
 * vote for now.
 */
void
server_take_error(struct server *, enum request_kind, const struct reply *);

#endif
