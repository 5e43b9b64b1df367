/*
 * One Redis server at a URL: opens connections to it, whichever of its
 * addresses and of the servers behind it that takes, and sends requests.  It
 * decides nothing: its owner gets each reply from inside loop_turn(), and acts
 * afterwards.
 */
#ifndef CONN_H
#define CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "redis/handshake.h"
#include "redis/link.h"
#include "redis/redirect.h"
#include "redis/reply.h"
#include "redis/topology.h"
#include "redis/url.h"

#define CONN_ARGS 24 /* keys and arguments of a script, at most */
#define CONN_WHY  256

enum conn_state {
	CONN_DOWN,      /* no connection; conn->why has the reason */
	CONN_HANDSHAKE, /* on the way there */
	CONN_READY      /* requests may be sent */
};

typedef void conn_reply_cb(void *arg, const struct reply *);

/* A script, and its SHA-1 in hexadecimal, by which EVALSHA names it. */
struct script {
	const char *text;
	const char *sha1;
};

struct conn {
	struct address address;
	conn_reply_cb *reply_cb;
	void *arg;
	bool ask_info; /* each connection asks for INFO server */

	enum conn_state state;
	enum reply_kind failure; /* while CONN_DOWN: its kind, */
	char why[CONN_WHY];      /* and its reason in words */
	bool again;              /* it failed, but is worth another try */

	struct topology topology;
	int nips;                 /* addresses of the URL's hosts */
	int untried;              /* those not tried since the last success */
	struct endpoint at;       /* the one that we are connected to */
	struct redirect redirect; /* where that has sent us */

	struct link link;
	bool established; /* the server accepted the last connection */
	bool good;        /* and has replied to a request */
	struct handshake handshake;
	struct server_info info;
	bool no_script;  /* the server does not have the script yet */
	bool no_evalsha; /* or does not permit EVALSHA; also the owner's wish */
};

/* reply_cb(arg, ...) is called once for each request. */
void conn_init(struct conn *, struct loop *, const struct address *,
    conn_reply_cb *, void *arg);

/*
 * Looks up the hosts' addresses.  It may block for as long as a resolver does,
 * so call it before anything that depends on time.  Returns 0, or -1 with
 * conn->why.  When a connection is opened later, a thread looks a name up
 * again.
 */
int conn_resolve(struct conn *);

/*
 * Begins a connection to the next of the addresses, and from there to where
 * that sends us.  Afterwards the state is CONN_HANDSHAKE or CONN_READY
 * (requests wait for the connection), or CONN_DOWN if it failed at once.  Not
 * for use in callbacks.
 */
void conn_open(struct conn *);

/*
 * Whether a ready connection leads to that node of its cluster; if not, it goes
 * there, and is not ready until it does.
 */
bool conn_redirect(struct conn *, const struct endpoint *to);

/* Whether the server has accepted the connection. */
bool conn_connected(const struct conn *);

/*
 * Copies to buf why a request or a connection failed, for a reader who knows
 * the URL alone: names the server behind it, or the kind of URL that was
 * needed. Words that have been explained already stay as they are.
 */
char *conn_explain(const struct conn *, const char *why, char buf[CONN_WHY]);

/* When the oldest request without a reply was sent, or CLOCK_NEVER. */
int64_t conn_unanswered_ms(const struct conn *);

/*
 * Closes the connection.  Requests without a reply get REPLY_LOST; why, which
 * may be NULL, becomes conn->why.  Not for use in callbacks.
 */
void conn_close(struct conn *, const char *why);

/*
 * For the end: tells the server that nothing more comes.  What was sent is
 * delivered by the kernel even after this process is gone.
 */
void conn_finish(struct conn *);

/* Closes the connection and frees what conn_resolve() took. */
void conn_release(struct conn *);

/*
 * Sends EVALSHA with script and argc arguments, the first nkeys of them keys.
 * A reply for which error_wants_eval() holds means that nothing was executed;
 * the next call sends EVAL, so that the owner just sends the request again.  An
 * owner for whom that would be too late sets no_evalsha after conn_init().
 * The arguments are copied.  Returns 0, or -1 if the connection is not ready or
 * PENDING_MAX requests have no reply.  The reply carries tag, which is not
 * negative.
 *
 * EVALSHA is not only cheaper.  Redis reads 16 kB at a time, and drops the
 * requests behind them if it cannot write the replies to the first because we
 * are gone: a release that is sent before its acquire has a reply would be lost
 * behind the text of the script.
 */
int conn_eval(struct conn *, int tag, const struct script *script, int nkeys,
    int argc, const char *const argv[]);

/* The next conn_eval() sends EVAL: nobody is left to send it again. */
void conn_send_text(struct conn *);

/* The same for a command, all of whose words are in argv. */
int conn_command(struct conn *, int tag, int argc, const char *const argv[]);

/*
 * Before each turn of the loop: closes a connection that a callback gave up,
 * and follows a redirection.  Not for use in callbacks.
 */
void conn_sweep(struct conn *);

#endif
