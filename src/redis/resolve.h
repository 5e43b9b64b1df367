/*
 * Resolves names to addresses: at once, which may block, or in a thread while
 * the loop turns.
 */
#ifndef RESOLVE_H
#define RESOLVE_H

#include <stdbool.h>

#include "base/loop.h"

#define RESOLVE_IPS 16 /* of a name, at most */
#define RESOLVE_IP  64
#define RESOLVE_WHY 128

struct resolved {
	char ips[RESOLVE_IPS][RESOLVE_IP]; /* in the resolver's order */
	int n;                             /* 0: none, see why */
	char why[RESOLVE_WHY];             /* why n is 0 */
};

struct lookup; /* shared with the thread */

struct resolver {
	struct loop *loop;
	struct loop_watch watch;
	struct lookup *lookup; /* NULL: none under way */
	void (*done_cb)(void *arg, const char *host, const struct resolved *);
	void *arg;
};

/* Whether host is an IP address, which needs no resolver. */
bool resolve_is_address(const char *host);

/* Resolves host, which may block.  An IP address resolves to itself. */
void resolve_now(const char *host, struct resolved *);

/* Fills memory that the caller owns, with no lookup under way. */
void resolver_init(struct resolver *, struct loop *,
    void (*done_cb)(void *arg, const char *host, const struct resolved *),
    void *arg);

/*
 * Begins a lookup of host; loop_turn() calls done_cb.  Returns 0, or -1 with
 * errno.  Must not be called while another lookup is under way.
 */
int resolver_start(struct resolver *, const char *host);

/* Drops the lookup under way, if any; its done_cb will not be called. */
void resolver_cancel(struct resolver *);

#endif
