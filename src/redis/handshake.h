/*
 * What a new connection begins with, before anything that writes is sent: AUTH,
 * SELECT, who a Sentinel's master is and whether it still is one.  For conn.c.
 */
#ifndef GREET_H
#define GREET_H

#include <stdbool.h>

#include "redis/conn.h"

/* Tags of what a node asks for itself. */
enum {
	TAG_AUTH = -1,
	TAG_SELECT = -2,
	TAG_INFO = -3,
	TAG_ROLE = -4,
	TAG_MASTER = -5,
	TAG_ASKING = -6
};

/*
 * Says the next thing, or makes the node CONN_READY if there is none: then it
 * returns true.
 */
bool greet_next(struct conn *);

/*
 * An answer to one of these, but for TAG_ASKING.  Returns whether the greeting
 * goes on.
 */
bool greet_answered(struct conn *, const struct reply *);

/* conn.c.  Sends a command with one of these tags; 0, or -1 if it cannot. */
int conn_send(struct conn *, int tag, int argc, const char *const argv[]);

/* conn.c.  The connection is of no use, and is dropped before the next turn. */
void conn_abort(struct conn *, enum reply_kind, const char *why);

#endif
