/*
 * Changes of a key that the server pushes.  A holder then renews its lease at
 * once, and a waiter behind another program's lock asks at once; the reply decides
 * as always.  A push is only a hint, which may be false, late or missing.
 */
#ifndef NOTICE_H
#define NOTICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/server_state.h"

/*
 * Returns when a request of that kind is due because of a push, or because the
 * server does not watch our key yet; or CLOCK_NEVER.
 */
int64_t notice_due_ms(const struct server *, enum request_kind);

/* Whether the server pushes changes of the key that it has just refused us. */
bool notice_awaited(const struct server *);

/*
 * Call before a request is sent on a ready connection; `leaves` is whether it is
 * a renewal that leaves the queue.  Returns the slot whose key the request has to
 * read for the server to watch, or 0, and asks for pushes where they are not
 * switched on yet.  Readers watch nothing: the renewal of each would be pushed to
 * all others.
 */
int notice_begin(struct server *, enum request_kind, bool leaves);

/* For conn_init(): a key, or NULL for any, may have changed. */
conn_changed_cb notice_changed_cb;

#endif
