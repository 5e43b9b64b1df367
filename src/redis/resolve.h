/*
 * Resolves the names of a run to addresses, in threads while the loop turns.
 * All connections of the run share the lookups: of each name at most one is
 * under way.
 */
#ifndef RESOLVE_H
#define RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

#define RESOLVE_IPS 16 /* of a name, at most */
#define RESOLVE_IP  64
#define RESOLVE_WHY 128

struct resolved {
	char ips[RESOLVE_IPS][RESOLVE_IP]; /* in the resolver's order */
	int n;                             /* 0: none, see why */
	char why[RESOLVE_WHY];             /* why n is 0 */
	int64_t began_ms;                  /* when the lookup began */
};

/* One that wants to know the results of lookups. */
struct resolver_user {
	struct resolver_user *next;
	void (*done_cb)(void *arg, const char *host, const struct resolved *);
	void *arg;
};

struct lookup; /* shared with its threads */

struct resolver {
	struct loop *loop;
	int64_t patience_ms;    /* then IPv4 alone is looked up as well */
	struct lookup *lookups; /* under way, or threads of theirs still run */
	int nlookups;
	struct resolver_user *users;
};

/* Whether host is an IP address, which needs no resolver. */
bool resolve_is_address(const char *host);

/*
 * resolver_init() fills memory that the caller owns; a lookup that has taken a
 * quarter of the node timeout continues for IPv4 alone as well.
 * resolver_release() drops the lookups; their threads end by themselves.
 */
void resolver_init(struct resolver *, struct loop *, int64_t node_timeout_ms);
void resolver_release(struct resolver *);

/*
 * From resolver_add() to resolver_remove(), loop_turn() calls the user's
 * done_cb for each name that was looked up, whoever began that; for one whose
 * addresses of IPv4 came first, again with those of both families.  The user
 * stays in place; removing twice does nothing.
 */
void resolver_add(struct resolver *, struct resolver_user *);
void resolver_remove(struct resolver *, struct resolver_user *);

/*
 * Begins a lookup of host, unless one is under way.  Returns 0, or -1 with
 * errno.  May be called in callbacks.
 */
int resolver_start(struct resolver *, const char *host);

/* Whether a lookup of host is under way. */
bool resolver_busy(const struct resolver *, const char *host);

#endif
