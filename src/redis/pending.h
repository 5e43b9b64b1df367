/*
 * The requests of a connection that have no reply yet, in the order in which
 * they were sent, which is that of their replies.
 */
#ifndef PENDING_H
#define PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PENDING_MAX 32

struct pending_request {
	int tag; /* negative: one that the connection sends for itself */
	int64_t sent_ms;
	char *bytes;   /* of a cluster: as it was sent, to be sent again */
	size_t len;    /* of bytes */
	int redirects; /* that it has followed */
	bool asking;   /* ASKING goes ahead of it: its slot is moving there */
};

/* All zeros is an empty one. */
struct pending {
	struct pending_request ring[PENDING_MAX];
	unsigned int head, tail; /* of all that were ever taken and added */
};

bool pending_full(const struct pending *);
bool pending_empty(const struct pending *);

/* Adds a request behind the others; the ring must not be full. */
void pending_add(struct pending *, struct pending_request);

/* Takes the first, which the next reply is for; the ring must not be empty. */
struct pending_request pending_take(struct pending *);

/* The tag of the first; the ring must not be empty. */
int pending_first_tag(const struct pending *);

/* When the first was sent, or CLOCK_NEVER if there is none. */
int64_t pending_since_ms(const struct pending *);

#endif
