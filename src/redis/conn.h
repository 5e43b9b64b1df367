/*
 * One Redis server: connect, ask, answer or no answer.  All that the rest of
 * the program knows of hiredis and its lifetime rules ends here.
 *
 * A node decides nothing: it tells its owner what came, from inside
 * loop_turn(), and the owner acts afterwards.
 */
#ifndef CONN_H
#define CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "redis/handshake.h"
#include "redis/pending.h"
#include "redis/reply.h"
#include "redis/tls.h"
#include "redis/topology.h"
#include "redis/url.h"

#define CONN_ARGS   16 /* keys and arguments of a script, at most */
#define CONN_WHY    256

enum conn_state {
	CONN_DOWN,      /* no connection; conn->why says why */
	CONN_HANDSHAKE, /* on the way: connecting, AUTH and SELECT, asking */
	CONN_READY      /* requests may be sent */
};

typedef void conn_reply_cb(void *arg, const struct reply *);

struct redisAsyncContext;

/* A script, and its SHA-1 in hexadecimal, by which EVALSHA names it. */
struct script {
	const char *text;
	const char *sha1;
};

struct conn {
	struct address address;
	struct loop *loop;
	struct loop_watch watch;
	conn_reply_cb *reply_cb;
	void *arg;

	enum conn_state state;
	enum reply_kind failure; /* while CONN_DOWN: of what kind */
	char why[CONN_WHY];      /* and in words */

	struct topology topology;
	int nips;                /* addresses of the URL's hosts */
	int untried;             /* those not tried since the last success */
	struct endpoint sent_on; /* where another node has sent us */
	struct endpoint at;      /* the one that we are connected to */
	bool good;               /* the server has answered a request */
	bool heard;              /* it has answered anything, ever */
	bool hop;                /* go on to sent_on once all is answered */
	bool hopping;

	struct redisAsyncContext *ac; /* NULL when down */
	bool doomed;                  /* to be freed before the next turn */
	bool again;                   /* failed, but is worth another try */
	bool ask_info;                /* each connection asks for INFO server */
	int64_t active_ms;            /* when its socket was served last */
	bool established;             /* the last connection was accepted */
	struct handshake handshake;
	struct server_info info;
	struct ssl_st *ssl; /* NULL: no TLS */
	struct pending pending;
	struct pending_request moved[PENDING_MAX]; /* to be sent elsewhere */
	int nmoved;
	struct reply_budget budget;
	const struct script *script; /* the last one sent on this connection */
	bool no_evalsha;             /* the server does not permit it */
};

/* reply_cb(arg, ...) is called once for each request. */
void conn_init(struct conn *, struct loop *, const struct address *,
    conn_reply_cb *, void *arg);

/*
 * Looks up the hosts' addresses.  May block for as long as a resolver does,
 * so it comes before anything that depends on time.  Returns 0, or -1 with
 * conn->why.  A name is looked up again, in a thread, when a connection is
 * opened later.
 */
int conn_resolve(struct conn *);

/*
 * Begins a connection to the next of the addresses, and from there to where
 * that sends us.  Afterwards the state is CONN_HANDSHAKE or CONN_READY (requests
 * wait for the connection), or CONN_DOWN if it failed at once.  Not for use in
 * callbacks.
 */
void conn_open(struct conn *);

/*
 * Whether a ready node of a cluster is connected to that one of its servers; if
 * not, it goes there, and is not ready until it is.
 */
bool conn_redirect(struct conn *, const struct endpoint *to);

/* Whether the server has accepted the connection. */
bool conn_connected(const struct conn *);

/*
 * Copies to buf why something has failed, in words for somebody who knows but
 * the URL: which of the servers behind it that was, and what another kind of
 * URL would be for.  Words that say so already stay as they are.
 */
char *conn_explain(const struct conn *, const char *why, char buf[CONN_WHY]);

/* When the first of what it has not answered was sent, or CLOCK_NEVER. */
int64_t conn_unanswered_ms(const struct conn *);

/*
 * Drops the connection; requests on their way get REPLY_LOST, and why, which
 * may be NULL, is kept.  Not for use in callbacks.
 */
void conn_close(struct conn *, const char *why);

/*
 * For the end: tells the server that nothing more comes.  What was sent is
 * delivered by the kernel even after this process is gone.
 */
void conn_finish(struct conn *);

/* Drops the connection and frees what conn_resolve() took. */
void conn_release(struct conn *);

/*
 * Sends EVAL with script and argc arguments, the first nkeys of them keys; or
 * EVALSHA, if this connection was last sent the same script.  The arguments
 * are copied, the script stays.  Returns 0, or -1 if the node is not ready or
 * too much is on its way.  The answer carries tag, which is not negative.
 *
 * A release that follows its acquire unanswered must be short: Redis reads 16
 * kB at a time, and drops the rest of the requests if it cannot write the
 * answers to the first of them because we are gone.
 */
int conn_eval(struct conn *, int tag, const struct script *script, int nkeys,
    int argc, const char *const argv[]);

/* The same for a command, all of whose words are in argv. */
int conn_command(struct conn *, int tag, int argc, const char *const argv[]);

/*
 * Before each turn of the loop: frees a connection that broke a limit, and goes
 * on to where another sent us.  Not for use in callbacks.
 */
void conn_sweep(struct conn *);

#endif
