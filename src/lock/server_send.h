/* Sends requests to a server. */
#ifndef SERVER_SEND_H
#define SERVER_SEND_H

#include "lock/server_next.h"

/*
 * Sends the request.  Returns 0, or -1 if the connection is not ready or has no
 * memory for it.
 */
int server_send(struct server *, const struct next_request *);

/*
 * Sends a release whose reply does not count: it ends the attempt and, if leave
 * is true, leaves the queue.
 */
int server_send_release(struct server *, bool leave);

#endif
