/*
 * One Redis server at a URL: opens connections to it, by trying its addresses
 * and by following Sentinels and cluster nodes, and sends requests.  It decides
 * nothing: its owner gets each reply from inside loop_turn(), and acts
 * afterwards.
 */
#ifndef CONN_H
#define CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/handshake.h"
#include "redis/link.h"
#include "redis/redirect.h"
#include "redis/reply.h"
#include "redis/script.h"
#include "redis/topology.h"
#include "redis/tracking.h"
#include "redis/address.h"

#define CONN_ARGS 28 /* keys and arguments of a script, at most */
#define CONN_WHY  256

enum conn_state {
	CONN_DOWN,      /* no connection; conn->why has the reason */
	CONN_HANDSHAKE, /* being made */
	CONN_READY      /* requests may be sent */
};

typedef void conn_reply_cb(void *arg, const struct reply *);
typedef void conn_changed_cb(void *arg, const char *key, size_t len);

struct conn {
	struct address address;
	conn_reply_cb *reply_cb;
	conn_changed_cb *changed_cb; /* set by the owner before conn_track() */
	void *arg;
	bool ask_info;           /* send INFO server on each connection */
	int64_t node_timeout_ms; /* how long a server may take */

	enum conn_state state;
	enum reply_kind failure; /* while CONN_DOWN: its kind */
	char why[CONN_WHY];      /* and its reason in words */
	bool again;              /* it failed, but another try may succeed */

	struct topology topology;
	struct endpoint at;       /* the server that we are connected to */
	struct redirect redirect; /* the last redirection */

	struct target to;     /* of the last connection */
	int64_t second_ms;    /* when to begin a second socket */
	struct link *link;    /* the present one */
	struct link links[2]; /* the first may be set aside */
	bool established;     /* the server accepted the last connection */
	bool good;            /* and has replied to a request */
	bool replied;         /* a connection has had a reply */
	bool *answered;       /* &replied, or shared by several of one server */
	struct handshake handshake;
	struct server_info info;
	struct tracking tracking;
	struct script_form form; /* of the scripts */
};

/*
 * Fills memory that the caller owns, and begins to look up the hosts' names.
 * The resolver's loop_turn() calls reply_cb(arg, ...) once for each request.
 */
void conn_init(struct conn *, struct resolver *, const struct address *,
    conn_reply_cb *, void *arg);

/*
 * Begins a connection to the next of the addresses, and follows its
 * redirections.  Afterwards the state is CONN_HANDSHAKE; CONN_READY, where
 * requests wait until the server accepts; or CONN_DOWN if it failed at once.
 * Must not be called in callbacks.
 */
void conn_open(struct conn *);

/*
 * Returns whether a ready connection leads to the given node of its cluster.
 * If not, connects to that node; the state is CONN_HANDSHAKE until it is
 * reached.
 */
bool conn_redirect(struct conn *, const struct endpoint *to);

/* Whether it waits for the address of one of the URL's hosts. */
bool conn_looks_up(const struct conn *);

/* Whether the server has accepted the connection. */
bool conn_connected(const struct conn *);

/*
 * Returns when conn_sweep() begins a second socket beside one that has not
 * connected: once, after a quarter of the node timeout, at least 250 ms; or
 * CLOCK_NEVER.
 */
int64_t conn_second_ms(const struct conn *);

/* Returns when the oldest request without a reply was sent, or CLOCK_NEVER. */
int64_t conn_unanswered_ms(const struct conn *);

/*
 * Closes the connection.  Requests without a reply get REPLY_LOST. why, which
 * may be NULL, becomes conn->why.  Must not be called in callbacks.
 */
void conn_close(struct conn *, const char *why);

/*
 * Shuts down our direction of the connection.  The kernel still delivers what
 * was sent, even after this process has exited.
 */
void conn_finish(struct conn *);

/*
 * Leaves a ready connection open for the replies to come, which reply_cb still
 * gets, and makes the state CONN_DOWN: conn_open() then opens another one
 * beside it.  Once in the life of a struct conn.
 */
void conn_set_aside(struct conn *);

/* Closes the connections and frees what conn_init() allocated. */
void conn_release(struct conn *);

/*
 * Sends EVALSHA with the script and argc arguments, which are copied; the first
 * nkeys of them are keys.  The reply carries tag, which must not be negative.
 * Returns 0, or -1 if the connection is not ready or PENDING_MAX requests have
 * no reply.
 *
 * If error_wants_eval() holds for the reply, nothing was executed and the next
 * call sends EVAL, so the owner sends the request again.
 *
 * EVALSHA not only saves bytes.  Redis reads 16 kB at a time.  If it cannot
 * write the replies to the first requests, because we have exited, it drops the
 * requests behind them.  Behind the text of a script, a release that follows
 * its unanswered acquire would be lost.
 */
int conn_eval(struct conn *, int tag, const struct script *script, int nkeys,
    int argc, const char *const argv[]);

/*
 * Makes the next conn_eval() send EVAL, for a request that cannot be sent
 * again.
 */
void conn_send_text(struct conn *);

/* Sends a command; argv has all of its words.  Otherwise like conn_eval(). */
int conn_command(struct conn *, int tag, int argc, const char *const argv[]);

/*
 * Call before each turn of the loop: closes a connection that a callback gave
 * up, and follows a redirection.  Must not be called in callbacks.
 */
void conn_sweep(struct conn *);

#endif
