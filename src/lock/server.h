/*
 * One server and its part in the lock.  For lock.c and acquire.c; not for
 * callbacks, but for the one that a server sets itself.
 */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/server_state.h"

/*
 * Fills zeroed memory; a server stays in place, and so does the lease.
 * refresh_cb(arg, it) brings the lease and ->duplicate up to date; it is called
 * before a reply is judged and before a request is chosen.  conn_release()
 * undoes it.
 */
void server_init(struct server *, const struct lease *, struct loop *,
    const struct address *, void (*refresh_cb)(void *arg, struct server *),
    void *arg);

/* Begins a connection. */
void server_open(struct server *, int64_t now_ms);

/* Does what is due; returns when it wants to be called again at the latest. */
int64_t server_step(struct server *, int64_t now_ms);

/*
 * What is wanted of it has changed, so that its next request is due: whatever
 * that is, or an acquire, until whose reply it has no vote.
 */
void server_hasten(struct server *);
void server_ask_anew(struct server *);

/*
 * Gives our vote here back, behind whatever is on its way, and stays in the
 * queue.  What is asked next, a little later, is a new attempt.
 */
void server_yield(struct server *);

/* The same without a pause, or a connection: what is asked for has changed. */
void server_restart(struct server *);

/*
 * Readies it for the release.  An acquire that never left this host needs
 * none, unless there may be something else; one that did is followed on its
 * connection.  Returns whether there is anything to give back.  One that has
 * nothing any more but the start of the run, in its history, is told the end
 * in passing.
 */
bool server_begin_release(struct server *, int64_t now_ms);

/*
 * After a release: begins another attempt.  A connection on which the release
 * is not answered is left to the kernel.
 */
void server_again(struct server *);

/*
 * server_reply.c.  The callback of its connection judges a reply, unless the
 * request no longer matters.  The others note that it has failed, and why; and
 * that an acquire has reached it, or may have.
 */
void server_reply_cb(void *arg, const struct reply *a);
void server_failed(struct server *, enum vote, const char *why);
void server_may_hold(struct server *);

#endif
