/*
 * Finds the target of each connection: the addresses of the URL's hosts, in
 * turn, and the servers to which those redirect, such as a Sentinel's master or
 * a node of a cluster.  Names are looked up again while the program runs,
 * without blocking.
 */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "redis/resolve.h"
#include "redis/url.h"

/* The target of a connection. */
struct target {
	char name[ADDRESS_HOST]; /* for the certificate check */
	char ip[RESOLVE_IP];
	int port;
	bool more; /* the name of a redirection has further addresses */
};

/* One host of the URL and its addresses. */
struct host {
	struct resolved found;
	int64_t looked_ms; /* when it was last looked up */
};

struct topology {
	const struct address *address;
	struct host *hosts; /* as many as the URL has */
	int host, ip;       /* the last one tried */
	int nips;           /* addresses of all hosts */
	struct resolver resolver;
	struct endpoint redirected; /* the last redirection; port 0: none */
	char looking[ADDRESS_HOST]; /* the name being looked up */
	bool awaited;               /* a redirection waits for it */
	int turn;                   /* the next of the target's addresses */
	void (*found_cb)(void *arg, const struct target *, const char *why);
	void *arg;
};

/*
 * Prepares the topology of address, which stays in place. loop_turn() calls
 * found_cb with the target that topology_redirect() had to look up, or with
 * NULL and the reason. topology_release() frees everything.
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
 * known yet.
 */
int topology_next(struct topology *, struct target *, char why[RESOLVE_WHY]);

/*
 * Finds the target of a redirection.  Returns 1 with the target, 0 if its name
 * is being looked up (found_cb follows), or -1 with errno.
 */
int
topology_redirect(struct topology *, const struct endpoint *, struct target *);

/* Drops the redirection that waits for a lookup; no found_cb follows. */
void topology_cancel(struct topology *);

/*
 * Reads "MOVED 3999 host:port" or "ASK 3999 host:port"; an empty host or "?"
 * stands for the sender.  Returns 0, or -1 if text is neither.
 */
int topology_moved(
    const char *text, const char *sender, struct endpoint *to, bool *asking);

#endif
