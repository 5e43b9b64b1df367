/* JSON members that several commands share. */
#ifndef MEMBERS_H
#define MEMBERS_H

#include "base/json.h"
#include "inspect/query.h"
#include "protocol/owner.h"

/* Returns the word for a server's failure, or "ok". */
const char *members_server_state(enum reply_kind failure);

/*
 * Begins a document with its format, which is 1 as long as members are only
 * added.
 */
void members_begin(struct json *);

/* Writes "servers": each with its state and, after a failure, the error. */
void members_servers(struct json *, const struct query *);

/*
 * Writes host, pid, user, command and version of a run; null for what cannot be
 * read, and for a foreign value, where owner is NULL.
 */
void members_owner(struct json *, const struct owner *);

#endif
