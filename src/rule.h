/* What a user of the server has to be permitted. */
#ifndef RULE_H
#define RULE_H

#include <stdbool.h>
#include <stddef.h>

#define RULE_TEXT 2560

/*
 * The commands that we and our scripts send, as ACL SETUSER has them: the same
 * as in the man page and in README.md.
 */
#define RULE_COMMANDS                                                          \
	"+eval +info +scan +select +time +exists +del +pexpire +pttl +get "    \
	"+mget +set +hget +hgetall +hset +hdel +lpush +blpop +zadd +zcard "    \
	"+zrange +zrem +zscore +xadd +xrevrange"

/*
 * Writes key patterns and commands for locks with that prefix, of at most
 * LOCK_NAME bytes, as words for ACL SETUSER.  Returns dst.
 */
char *rule_text(char dst[RULE_TEXT], const char *prefix);

/* Whether a server's error says that a permission is missing. */
bool rule_denies(const char *error);

#endif
