/* Members that the JSON of several commands has. */
#ifndef MEMBERS_H
#define MEMBERS_H

#include "base/json.h"
#include "inspect/query.h"
#include "protocol/owner.h"

/* Returns the word for a server that has failed in this way, or "ok". */
const char *members_server_state(enum reply_kind failure);

/* Writes "servers": each with its state and, if it failed, the error. */
void members_servers(struct json *, const struct query *);

/*
 * Writes who a run is: host, pid, user and command; null for a foreign value,
 * for which owner is NULL.
 */
void members_owner(struct json *, const struct owner *);

#endif
