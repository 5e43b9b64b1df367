/* Sends requests to a server. */
#ifndef SERVER_SEND_H
#define SERVER_SEND_H

#include "lock/server_state.h"

/*
 * Sends a request of that kind, as the lease requires now.  Returns 0, or -1 if
 * the connection is not ready or has no memory for it.
 */
int server_send(struct server *, enum request_kind kind);

/*
 * Sends a release whose reply does not count: it ends the attempt and, if leave
 * is true, leaves the queue.
 */
int server_send_release(struct server *, bool leave);

#endif
