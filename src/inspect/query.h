/*
 * Sends the same requests to all servers, for commands that hold no lock.  Many
 * requests are in flight at a time.  A server that is silent for the node
 * timeout has failed.
 */
#ifndef QUERY_H
#define QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "config/options.h"
#include "redis/conn.h"

/* How many locks to read at a time, where not all are needed at once. */
#define QUERY_WINDOW 1000
#define QUERY_ALL    SIZE_MAX

#define QUERY_WHY (ADDRESS_TEXT + CONN_WHY + SERVERS_HINT)

struct query;

/* The progress of a server's SCAN; used by scan.c. */
struct scan {
	char cursor[24];
	size_t names;             /* found so far; some may be repeated */
	struct endpoint *masters; /* of a cluster */
	int nmasters;
	int master; /* the one being scanned */
};

/* A server and its progress. */
struct query_server {
	struct query *query;
	struct conn conn;
	size_t sent; /* requests of this round */
	size_t replied;
	size_t stale;   /* replies to come to requests that were sent again */
	bool repeats;   /* the next reply is to such a request */
	bool looks_up;  /* its connection waits for a lookup */
	bool accepted;  /* the server has accepted the connection */
	int64_t end_ms; /* it fails if it is silent until then */
	enum reply_kind failure; /* REPLY_OK: no failure yet */
	char why[CONN_WHY];      /* why it has failed */
	size_t bytes;            /* of its replies in this round */
	size_t kept; /* of these, for locks that were read earlier */
	struct scan scan;
};

/* A lock to query. */
struct query_lock {
	char *name;
	int slots; /* 1 to LOCK_SLOTS: the highest in use, at most */
	const struct query_server *from; /* its SCAN found it; or NULL */
};

/* Sends request i. Returns the result of conn_eval() or conn_command(). */
typedef int query_send_cb(struct query_server *, size_t i);

/*
 * Takes the reply to request i: possibly an error, but never REPLY_LOST.
 * Returns whether the same request must be sent again, for the next part of a
 * SCAN; the round must then have no other request.
 */
typedef bool
query_reply_cb(struct query_server *, size_t i, const struct reply *);

struct query {
	const struct options *opt;
	struct loop loop;
	struct resolver resolver;
	struct query_server *servers;
	struct query_server *end; /* behind the last server */
	int nservers;
	int quorum;
	struct query_lock *locks; /* in bytewise order */
	size_t nlocks;
	size_t next; /* the first that query_next() has not begun */
	void *arg;   /* the caller's, for its callbacks */
	bool stop; /* query_send() returns at its next turn; set by callbacks */
	bool sends_text; /* its request may have the text of a script */

	int64_t scan_end_ms; /* the end of each SCAN, at the latest */
	size_t requests;     /* of this round */
	query_send_cb *send_cb;
	query_reply_cb *reply_cb;
	const char *const *wanted; /* see scan_locks() */
};

/*
 * Prepares the servers of opt, which must outlive the query.  Exits with EXIT_OS
 * if the operating system refuses. query_release() frees everything.
 */
void query_init(struct query *, const struct options *opt);
void query_release(struct query *);

/*
 * Runs a round: sends requests 0 to n-1 to every server that has not failed,
 * and turns the loop until each server has replied to all of them or failed.  A
 * lost connection is reopened, and its requests without a reply are sent again.
 */
void query_send(struct query *, size_t n, query_send_cb *, query_reply_cb *);

/*
 * For a query_send_cb: sends request i, a script that reads the lock of that name
 * with so many slots; own is the script's argument of its own, NULL if it has none.
 */
int query_read(struct query_server *, size_t i, const struct script *,
    const char *name, int slots, const char *own);

/*
 * Lets the failed servers take part in the next round, each on a new
 * connection.  Must not be called in callbacks.
 */
void query_retry(struct query *);
void query_server_retry(struct query_server *);

/*
 * Adds a lock to the list; name is copied. from is the server whose SCAN found
 * it, or NULL if the user named it.
 */
void query_add_lock(struct query *, const struct query_server *from,
    const char *name, size_t len, int slots);
void query_forget_locks(struct query *);

/*
 * Begins to read the next locks of the list, at most so many; of the replies
 * about earlier ones only an eighth counts for the limit.  Returns how many, 0
 * at the end, and stores their first.
 */
size_t query_next(struct query *, size_t most, const struct query_lock **first);

/* Marks the server as failed until query_retry(). */
void query_server_fail(struct query_server *, enum reply_kind, const char *why);

/*
 * Returns whether the reply is an error.  It fails the server, except if only a
 * key of that lock has another type; the server then reports nothing about that
 * lock.
 */
bool query_server_error(struct query_server *, const struct reply *);

/*
 * Fails a server that sent a reply that cannot be right.  Returns false, for a
 * query_reply_cb to return.
 */
bool query_server_malformed(struct query_server *);

/* Writes the server and why it has failed, not yet escaped.  Returns buf. */
char *query_server_why(const struct query_server *, char buf[QUERY_WHY]);

/* Returns how many servers have not failed. */
int query_working(const struct query *);

/*
 * Returns 0 if a quorum works, else EXIT_REFUSED if a server denied us access,
 * or EXIT_UNREACHABLE.
 */
int query_status(const struct query *);

#endif
