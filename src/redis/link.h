/*
 * One connection to one address: the socket, TLS, and the requests on it that
 * have no reply yet.  All that the rest of the program knows of hiredis and its
 * lifetime rules ends here and in reply.c.
 */
#ifndef LINK_H
#define LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "redis/pending.h"
#include "redis/reply.h"

#define LINK_WHY 256

struct redisAsyncContext;
struct ssl_st;
struct target;

struct link {
	struct loop *loop;
	struct loop_watch watch;
	void (*reply_cb)(
	    void *arg, struct pending_request *, const struct reply *);
	void (*closed_cb)(void *arg);
	void *arg;

	struct redisAsyncContext *ac; /* NULL: closed */
	struct ssl_st *ssl;           /* NULL: no TLS */
	struct pending pending;
	struct reply_budget budget;
	int64_t active_ms; /* when the socket was served last */
	bool heard;        /* a server has ever sent a reply */
	bool doomed;       /* link_sweep() closes it */
	bool closing;      /* by link_close() */

	/* Of the last one that is closed. */
	bool established;        /* the server had accepted it */
	bool broken;             /* the socket failed first */
	enum reply_kind failure; /* what ended it, */
	char why[LINK_WHY];      /* and in words */
};

/* The version of hiredis that this was built with, as "1.2.0". */
const char *link_hiredis_version(void);

/*
 * Fills memory that the caller owns.  From inside loop_turn(), reply_cb(arg,
 * ..) is called once for each request, and may take the request's bytes by
 * setting them to NULL; closed_cb(arg) is called after a failure.
 */
void link_init(struct link *, struct loop *,
    void (*reply_cb)(void *arg, struct pending_request *, const struct reply *),
    void (*closed_cb)(void *arg), void *arg);

/*
 * Begins a connection to a unix socket, or to the target if path is empty.
 * Requests may be sent at once; they wait for the server to accept.  Returns 0,
 * or -1 with ->failure and ->why; errno is EAGAIN if a unix socket's backlog is
 * full.
 */
int link_open(struct link *, const char *path, const struct target *, bool tls);

/* Whether the server has accepted the connection, and TLS is established. */
bool link_connected(const struct link *);

/*
 * Sends a command, whose words are copied; with keep its bytes are kept, too,
 * to be sent again.  Returns 0, or -1 if it cannot be sent.
 */
int link_send(
    struct link *, int tag, int argc, const char *const argv[], bool keep);

/* Sends a request whose bytes were kept.  Returns 0, or -1 without changes. */
int link_resend(struct link *, const struct pending_request *);

/* The connection is of no use: link_sweep() closes it.  For callbacks. */
void link_abort(struct link *, enum reply_kind, const char *why);

/* Closes an aborted connection and calls closed_cb.  Not for callbacks. */
void link_sweep(struct link *);

/*
 * Closes the connection, without closed_cb; requests without a reply get
 * REPLY_LOST.  The reason is why, which may be NULL, unless there is one
 * already.  Not for callbacks.
 */
void link_close(struct link *, const char *why);

/*
 * For the end: tells the server that nothing more comes.  What was sent is
 * delivered by the kernel even after this process is gone.
 */
void link_finish(struct link *);

#endif
