/*
 * From a URL to the target of a connection: the addresses of its hosts, in
 * turn, and the servers that those redirect to, the master of a Sentinel or the
 * node of a cluster.  Names are looked up again while the program runs, without
 * blocking.
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
	bool more; /* a name that we were redirected to has others yet */
};

/* One host of the URL and its addresses. */
struct host {
	struct resolved found;
	int64_t looked_ms; /* when it was looked up last */
};

struct topology {
	const struct address *address;
	struct host *hosts; /* as many as the URL has */
	int host, ip;       /* the last that was tried */
	int nips;           /* addresses of them all */
	struct resolver resolver;
	struct endpoint redirected; /* to there; port 0: nowhere */
	char looking[ADDRESS_HOST]; /* the name that is being looked up */
	bool awaited;               /* for the target */
	int turn;                   /* of the target's addresses */
	void (*found_cb)(void *arg, const struct target *, const char *why);
	void *arg;
};

/*
 * address stays in place.  found_cb is called from loop_turn() with the target
 * that topology_redirect() had to look up, or NULL and why there is none.
 * topology_release() undoes it.
 */
void topology_init(struct topology *, struct loop *, const struct address *,
    void (*found_cb)(void *arg, const struct target *, const char *why),
    void *arg);
void topology_release(struct topology *);

/*
 * Looks up all hosts, which may block.  Returns 0, or -1 with why if no address
 * is known.
 */
int topology_resolve(struct topology *, char why[RESOLVE_WHY]);

/*
 * Finds the next of the hosts' addresses, and begins to look its name up again
 * if the last lookup was long ago.  Returns 0, or -1 with why if no address is
 * known; the lookup may find one.
 */
int topology_next(struct topology *, struct target *, char why[RESOLVE_WHY]);

/*
 * Finds the target of a redirection.  Returns 1 with the target, 0 if its name
 * is being looked up (found_cb follows), or -1 with errno.
 */
int
topology_redirect(struct topology *, const struct endpoint *, struct target *);

/* Gives up the redirection that waits for a lookup; no found_cb follows. */
void topology_cancel(struct topology *);

/*
 * Reads "MOVED 3999 host:port" or "ASK 3999 host:port"; an empty host, or "?",
 * is the sender's.  Returns 0, or -1 if text is neither.
 */
int topology_moved(
    const char *text, const char *sender, struct endpoint *to, bool *asking);

#endif
