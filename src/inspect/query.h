/*
 * Questions to all servers, for those who look and do not hold: --status,
 * --history, --break, --check.  Every server is asked the same, many questions
 * at a time, and each has the node timeout to say something.
 */
#ifndef QUERY_H
#define QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/loop.h"
#include "config/options.h"
#include "redis/conn.h"

#define QUERY_WHY (ADDRESS_TEXT + CONN_WHY + OPTIONS_HINT)

struct query;

/* A server, and how far it has come. */
struct query_server {
	struct query *query;
	struct conn conn;
	size_t sent; /* requests, of the query's */
	size_t replied;
	int64_t end_ms;           /* without an answer until then: failed */
	enum reply_kind failure;  /* REPLY_OK: none so far */
	char why[CONN_WHY];       /* it has failed */
	size_t bytes;             /* of all its answers in this round */
	size_t names;             /* that its SCAN has brought */
	char cursor[24];          /* of SCAN */
	struct endpoint *masters; /* of a cluster: who has keys */
	int nmasters;
	int master; /* the one that SCAN is at */
};

/* A lock that is asked about. */
struct query_lock {
	char *name;
	int slots; /* those that there may be: 1 to LOCK_SLOTS */
	const struct query_server
	    *from; /* whose SCAN named it, while it goes on */
};

/* Sends question i; returns what conn_eval() or conn_command() does. */
typedef int query_send_cb(struct query_server *, size_t i);

/*
 * The answer to question i, which may be an error; never REPLY_LOST.  Returns
 * whether the same question is to be asked again (as SCAN's next part is), for
 * which it must have been the only one.
 */
typedef bool
query_reply_cb(struct query_server *, size_t i, const struct reply *);

struct query {
	const struct options *opt;
	struct loop loop;
	struct query_server *servers;
	int nservers;
	int quorum;
	struct query_lock *locks; /* in bytewise order */
	size_t nlocks;
	void *arg; /* the asker's */
	bool stop; /* query_send() returns at its next turn; for callbacks */

	int64_t scan_end_ms; /* no SCAN may take longer */
	size_t requests;     /* of the round under way */
	query_send_cb *send_cb;
	query_reply_cb *reply_cb;
	const char *const *wanted; /* ends of keys; see scan_locks() */
};

/*
 * Resolves (which may block) and prepares the servers of opt, which stays in
 * place; exits where the operating system refuses.  query_release() undoes
 * it.
 */
void query_init(struct query *, const struct options *opt);
void query_release(struct query *);

/*
 * Asks questions 0 to n-1 of every server that has not failed, and turns the
 * loop until each has answered all or failed.
 */
void query_send(struct query *, size_t n, query_send_cb *, query_reply_cb *);

/*
 * Gives those that have failed another try, on a connection of its own, in the
 * next query_send().  Not for use in callbacks.
 */
void query_retry(struct query *);

/*
 * Adds a lock to the list; name is copied.  from is the server whose SCAN named
 * it, NULL if the user did.
 */
void query_add_lock(struct query *, const struct query_server *from,
    const char *name, size_t len, int slots);
void query_forget_locks(struct query *);

/* From now on this server has failed. */
void query_server_fail(struct query_server *, enum reply_kind, const char *why);

/* Whether the answer is an error; then the server has failed. */
bool query_server_error(struct query_server *, const struct reply *);

/* What a server has answered that nobody understands. */
void query_server_malformed(struct query_server *);

/*
 * Which server has failed, and why, in words that may need escaping.  Returns
 * buf.
 */
char *query_server_why(const struct query_server *, char buf[QUERY_WHY]);

/* How many have not failed. */
int query_working(const struct query *);

/*
 * Says which servers have failed, and how many in *failures.  Returns 0 if a
 * quorum has not, else EXIT_REFUSED or EXIT_UNREACHABLE.
 */
int query_report(const struct query *, int *failures);

#endif
