/*
 * One connection to one address: the socket, TLS, and its requests without a
 * reply.  Only this unit and reply.c use hiredis, to format and to parse.
 */
#ifndef LINK_H
#define LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "redis/bytes.h"
#include "redis/pending.h"
#include "redis/reply.h"
#include "redis/second.h"

#define LINK_WHY 256

struct redisReader;
struct ssl_st;
struct target;

struct link {
	struct loop *loop;
	struct loop_watch watch;
	void (*reply_cb)(void *arg, struct pending_request *,
	    const struct reply *);
	void (*closed_cb)(void *arg);
	void (*push_cb)(void *arg, const char *key, size_t len);
	void *arg;

	int fd;                     /* -1: closed */
	struct second second;       /* a socket beside one without an answer */
	struct redisReader *reader; /* of the replies */
	struct ssl_st *ssl;         /* NULL: no TLS */
	struct bytes requests;      /* that TLS has not encrypted yet */
	struct bytes out;           /* for the socket */
	struct pending pending;
	struct reply_budget budget;
	int64_t active_ms; /* when the socket was last served */
	bool connected;    /* the socket is */
	bool blocked;      /* it takes no more until POLLOUT */
	int error;         /* why sending has failed; 0: it has not */
	int pieces;        /* pushes and small reads since the last reply */
	bool replied;      /* a server has ever sent a reply */
	bool doomed;       /* link_sweep() closes it */

	/* About the last connection that was closed. */
	bool established;        /* the server had accepted it */
	bool broken;             /* the socket failed first */
	bool flooded;            /* it had too many pushes */
	enum reply_kind failure; /* the kind of its failure */
	char why[LINK_WHY];      /* and the reason in words */
};

/* Returns the version of hiredis that this was built with, such as "1.2.0". */
const char *link_hiredis_version(void);

/*
 * Whether the pushes of RESP3 can be read, which hiredis parses since 1.0.
 */
bool link_reads_pushes(void);

/*
 * Fills memory that the caller owns.  From inside loop_turn(), reply_cb(arg,
 * ...) is called once for each request, and may take over the request's bytes
 * by setting them to NULL; closed_cb(arg) is called after a failure.
 */
void link_init(struct link *, struct loop *,
    void (*reply_cb)(void *arg, struct pending_request *, const struct reply *),
    void (*closed_cb)(void *arg), void *arg);

/*
 * Begins a connection to a unix socket, or to the target if path is empty.
 * Requests may be sent at once; they wait until the server accepts.  Returns 0,
 * or -1 with ->failure and ->why; errno is EAGAIN if the backlog of a unix
 * socket is full.
 */
int link_open(struct link *, const char *path, const struct target *, bool tls);

/*
 * Begins a second connection to the same address, unless the first one is there.
 * The link uses whichever connects first, and closes the other one.
 */
void link_open_second(struct link *, const char *path, const struct target *);

/* Whether there is a connection, or one is being made. */
bool link_is_open(const struct link *);

/* Whether the server has accepted the connection, and TLS is established. */
bool link_connected(const struct link *);

/* Whether the TCP connection is there, and whether it waits for TLS. */
bool link_reached(const struct link *);
bool link_tls_awaited(const struct link *);

/*
 * Sends a command, whose words are copied; it leaves at the beginning of the
 * next loop_turn(), together with others.  With keep, its bytes are kept for
 * link_resend().  Returns 0, or -1 if it cannot be sent.
 */
int link_send(struct link *, int tag, int argc, const char *const argv[],
    bool keep);

/*
 * Sends a request whose bytes were kept.  Returns 0, or -1 and changes nothing.
 */
int link_resend(struct link *, const struct pending_request *);

/*
 * Lets the server push messages on this connection.  For each key that one names
 * as changed, push_cb(arg, key, len) is called, and with NULL if any key may have
 * changed.  Other pushes are ignored; without this call, a push is malformed.  A
 * thousand without a reply are too many, and end the connection.
 */
void link_take_pushes(struct link *,
    void (*push_cb)(void *arg, const char *key, size_t len));

/* Gives up the connection; link_sweep() closes it.  Callbacks may call it. */
void link_abort(struct link *, enum reply_kind, const char *why);

/* Closes an aborted connection and calls closed_cb.  Not for callbacks. */
void link_sweep(struct link *);

/*
 * Closes the connection without calling closed_cb.  Requests without a reply
 * get REPLY_LOST. why, which may be NULL, becomes the reason, unless there is
 * one already.  Must not be called in callbacks.
 */
void link_close(struct link *, const char *why);

/*
 * Shuts down our direction of the connection.  The kernel still delivers what
 * was sent, even after this process has exited.
 */
void link_finish(struct link *);

#endif
