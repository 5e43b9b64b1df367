/* Replies, for conn.c; what all may know of them is in conn.h. */
#ifndef REPLY_H
#define REPLY_H

#include "redis/conn.h"

#define REPLY_MAX (1024 * 1024) /* bytes, at most */

struct redisReader;

/* From now on what the reader parses for c may cost c->budget. */
void reply_limit(struct conn *c, struct redisReader *);

#endif
