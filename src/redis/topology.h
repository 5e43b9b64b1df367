/*
 * From a URL to the server that is meant: the addresses of its hosts, tried in
 * turn, and where those send us on to, a master that a Sentinel names, the node
 * of a cluster that has a slot.  Names are looked up again while the program
 * runs, and never by blocking.  For conn.c, which makes the connections.
 */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "redis/resolve.h"
#include "redis/url.h"

/* Where a connection leads. */
struct target {
	char name[ADDRESS_HOST]; /* as a certificate would have it */
	char ip[RESOLVE_IP];
	int port;
	bool more; /* a name that we were sent on to has others yet */
};

/* One host of the URL and its addresses. */
struct host {
	struct resolved found;
	int64_t looked_ms; /* when they were asked for */
};

struct topology {
	const struct address *address;
	struct host *hosts; /* as many as the URL has */
	int host, ip;       /* the last that was tried */
	int nips;           /* addresses of them all */
	struct resolver resolver;
	struct endpoint
	    redirected; /* where we are sent on to; port 0: nowhere */
	char looking[ADDRESS_HOST]; /* the name that is being looked up */
	bool awaited;               /* for the target */
	int turn;                   /* of the target's addresses */
	void (*found_cb)(void *arg, const struct target *, const char *why);
	void *arg;
};

/*
 * address stays in place.  found_cb is called from loop_turn() with the
 * target that topology_redirect() had to look up, or NULL and why there is none.
 * topology_release() undoes it.
 */
void topology_init(struct topology *, struct loop *, const struct address *,
    void (*found_cb)(void *arg, const struct target *, const char *why),
    void *arg);
void topology_release(struct topology *);

/*
 * Looks up all hosts; may block as a resolver does.  Returns 0, or -1 if no
 * address is known, and why, or the errno of calloc(3), in why.
 */
int topology_resolve(struct topology *, char why[RESOLVE_WHY]);

/*
 * The next of the hosts' addresses, and begins to look its name up again if
 * that was long ago.  Returns -1 if none is known, with why; the lookup may
 * change that.
 */
int topology_next(struct topology *, struct target *, char why[RESOLVE_WHY]);

/*
 * Where those have sent us.  Returns 1 with the target, 0 if it has to be looked
 * up (found_cb follows), or -1 with errno.
 */
int
topology_redirect(struct topology *, const struct endpoint *, struct target *);

/* No lookup is waited for any more. */
void topology_cancel(struct topology *);

/*
 * Reads "MOVED 3999 host:port" or "ASK 3999 host:port"; an empty host, or
 * "?", is the one that says so.  Returns 0, or -1 if text is neither.
 */
int topology_moved(
    const char *text, const char *sayer, struct endpoint *to, bool *asking);

#endif
