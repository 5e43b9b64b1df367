/* Replies, for node.c; what all may know of them is in node.h. */
#ifndef REPLY_H
#define REPLY_H

#include "redis/conn.h"

#define REPLY_MAX (1024 * 1024) /* bytes, at most */

struct redisReader;

/* From now on what the reader parses for n may cost n->budget. */
void reply_limit(struct node *n, struct redisReader *);

/*
 * Which errors mean that we are refused, rather than that the server cannot.
 */
enum answer_kind reply_error_kind(const char *text);

/*
 * The error with which a server answers AUTH, in our words: its own may quote
 * the password.
 */
const char *reply_auth_error(const char *text);

#endif
