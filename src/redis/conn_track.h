/* Pushes on a connection, where the server and hiredis can. */
#ifndef CONN_TRACK_H
#define CONN_TRACK_H

#include "redis/conn.h"

/*
 * Whether conn_track() has been called on this ready connection and was not
 * refused, so that requests may read keys for it; and whether it may be called.
 */
bool conn_track_works(const struct conn *);
bool conn_track_possible(const struct conn *);

/*
 * Asks the server for pushes: from then on loop_turn() calls changed_cb with a key
 * that may have changed and that a request on this connection has read, or with
 * NULL when any key may have.  Send a request that reads behind it.  A server that
 * refuses, or that closes the connection, costs no more than that connection.  The
 * next one begins without pushes, and asks for them once it has carried a reply.
 */
void conn_track(struct conn *);

#endif
