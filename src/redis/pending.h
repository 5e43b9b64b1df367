/*
 * The requests of a connection without a reply, in the order in which they were
 * sent.  Replies arrive in the same order.
 */
#ifndef PENDING_H
#define PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Enough for a query of many locks to keep Redis busy while we read replies; 128
 * gain nothing more.
 */
#define PENDING_MAX 64

struct pending_request {
	int tag; /* negative: a request of the connection itself */
	int64_t sent_ms;
	char *bytes;   /* in a cluster: the request, to be sent again */
	size_t len;    /* of bytes */
	int redirects; /* so many redirections did it follow */
	bool asking;   /* send ASKING first: its slot is moving */
};

/* All zeros is an empty ring. */
struct pending {
	struct pending_request ring[PENDING_MAX];
	unsigned int head,
	    tail; /* requests removed and added since it was empty */
};

bool pending_full(const struct pending *);
bool pending_empty(const struct pending *);

/* Adds a request behind the others; the ring must not be full. */
void pending_add(struct pending *, struct pending_request);

/*
 * Removes and returns the first, to which the next reply belongs; the ring must
 * not be empty.
 */
struct pending_request pending_take(struct pending *);

/* Returns the tag of the first; the ring must not be empty. */
int pending_first_tag(const struct pending *);

/* Returns when the first was sent, or CLOCK_NEVER if there is none. */
int64_t pending_since_ms(const struct pending *);

#endif
