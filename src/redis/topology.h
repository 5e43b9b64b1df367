/*
 * Finds the target of each connection: the addresses of the URL's hosts, in
 * turn, and the servers to which those redirect, such as a Sentinel's master or
 * a node of a cluster.  Names are looked up at the start, and again while the
 * program runs, without blocking.
 */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/resolve.h"
#include "redis/address.h"

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
	int64_t looked_ms; /* when its last lookup began that has ended */
	bool counted;      /* as one untried address, while it has none */
};

struct topology {
	const struct address *address;
	struct host *hosts; /* as many as the URL has */
	int host, ip;       /* the last one tried */
	int nips;           /* known addresses of all hosts */
	int untried;        /* addresses not tried since the last success */
	struct resolver *resolver;
	struct resolver_user user;
	struct endpoint redirected; /* the last redirection; port 0: none */
	int turn;                   /* the next of the target's addresses */
	enum {
		AWAITS_NOTHING,
		AWAITS_HOST,       /* the first address of one of the hosts */
		AWAITS_REDIRECTION /* an address of the redirection's name */
	} awaits;                  /* of a lookup */
	void (*found_cb)(void *arg, const struct target *, const char *why);
	void *arg;
};

/*
 * Prepares the topology of address, which stays in place, and begins to look up
 * its hosts; if that fails, topology_next() says why. loop_turn() calls
 * found_cb with a target that had to be looked up, or with NULL and the reason.
 * topology_release() frees everything.
 */
void topology_init(struct topology *, struct resolver *, const struct address *,
    void (*found_cb)(void *arg, const struct target *, const char *why),
    void *arg);
void topology_release(struct topology *);

/*
 * Counts all addresses as untried.  A name that has none and is being looked up
 * counts as one address.
 */
void topology_begin_round(struct topology *);

/*
 * Finds the next of the hosts' addresses, and begins to look the names up again
 * if the last lookup was long ago.  A name that is being looked up delays no
 * known address.  Returns 1 with the target; 0 if no address is left before
 * that lookup ends (found_cb follows); or -1 with why if no address is known.
 */
int topology_next(struct topology *, struct target *, char why[RESOLVE_WHY]);

/*
 * Finds the target of a redirection.  Returns 1 with the target, 0 if its name
 * is being looked up (found_cb follows), or -1 with errno.
 */
int
topology_redirect(struct topology *, const struct endpoint *, struct target *);

/*
 * topology_awaited() returns the name whose lookup a found_cb follows, or NULL.
 * topology_cancel() gives that up; no found_cb follows.
 */
const char *topology_awaited(const struct topology *);
void topology_cancel(struct topology *);

/*
 * Reads "MOVED 3999 host:port" or "ASK 3999 host:port"; an empty host or "?"
 * stands for the sender.  Returns 0, or -1 if text is neither.
 */
int topology_moved(const char *text, const char *sender, struct endpoint *to,
    bool *asking);

#endif
