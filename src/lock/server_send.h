/* Sends requests to a server. */
#ifndef SERVER_SEND_H
#define SERVER_SEND_H

#include "lock/server_state.h"

/*
 * Sends a request of that kind for what is wanted now.  Returns 0, or -1 if the
 * connection is not ready or has no memory for it.
 */
int server_send(struct server *, enum request_kind kind);

/*
 * Sends a release of its own, whose reply counts for nothing: it gives the
 * attempt back and, if leave is true, leaves the queue.
 */
int server_send_release(struct server *, bool leave);

#endif
