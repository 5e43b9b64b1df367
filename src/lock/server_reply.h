/*
 * What a reply means: one transition of server_key.h, and the time of the next
 * request.  Called from callbacks; sends nothing.
 */
#ifndef SERVER_REPLY_H
#define SERVER_REPLY_H

#include "lock/server_state.h"

/* Takes the answer to a request of that kind, or the error instead of it. */
void
server_reply_answer(struct server *, enum request_kind, const struct reply *);
void
server_reply_error(struct server *, enum request_kind, const struct reply *);

/* Takes the answer to a release. */
void server_reply_release(struct server *, const struct reply *);

#endif
