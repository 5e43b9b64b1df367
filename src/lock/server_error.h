/* What an error of a server changes; for server_reply.c. */
#ifndef SERVER_ERROR_H
#define SERVER_ERROR_H

#include <stdint.h>

#include "lock/server_state.h"

/*
 * How long after an error the request is sent again.  A waiter has a wait to
 * lose, not a lease.
 */
int64_t server_retry_after_ms(const struct server *);

/* A reply that cannot be right: the server has no vote for now. */
void server_malformed(struct server *, const struct reply *);

/*
 * A reply that is not REPLY_OK, to a request of that kind: sends it again at
 * once if it was not executed, else the server has no vote for now.
 */
void
server_take_error(struct server *, enum request_kind, const struct reply *);

#endif
