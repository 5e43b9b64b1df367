/*
 * What the keys in Redis are called, and which lock a key belongs to.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "protocol/key.h"

/*
 * All keys of a lock live in the Redis Cluster slot of the lock key: it is
 * their hash tag, unless it has one of its own.
 */
void
lock_keys(char key[LOCK_KEY], char aux[LOCK_KEY], const char *prefix,
    const char *name)
{
	const char *open, *close;
	bool tagged;

	snprintf(key, LOCK_KEY, "%s%s", prefix, name);
	open = strchr(key, '{');
	close = open == NULL ? NULL : strchr(open, '}');
	tagged = close != NULL && close > open + 1;
	snprintf(aux, LOCK_KEY, "%s%s%s%s:~", tagged ? "" : "{", prefix, name,
	    tagged ? "" : "}");
}

/*
 * Returns the name of the lock that a key belongs to, its length in *len (0:
 * none of ours), and what kind of key it is in *kind.  The lock's own key is
 * prefix and NAME; those beside it are that, in braces unless it has a tag, and
 * ":~" and their kind.  NAME has no ":~" in it, but may begin with "~" behind a
 * prefix that ends with ":".
 */
const char *
key_name(const char *key, const char *prefix, size_t *len, const char **kind)
{
	const char *name, *aux, *close = strchr(key, '}');
	size_t n = strlen(prefix);

	*len = 0;
	if (key[0] == '{' && close != NULL && strncmp(close, "}:~", 3) == 0 &&
	    strncmp(key + 1, prefix, n) == 0) {
		name = key + 1 + n;
		*kind = close + 3;
		*len = close > name ? (size_t)(close - name) : 0;
		return name;
	}
	if (strncmp(key, prefix, n) != 0)
		return key;
	name = key + n;
	aux = strstr(name, ":~");
	*kind = aux == NULL ? "" : aux + 2;
	*len = aux == NULL ? strlen(name) : (size_t)(aux - name);
	return name;
}

int
key_slot(const char *kind)
{
	int64_t n;

	if (*kind == '\0')
		return 1;
	if (number_parse(kind, strlen(kind), LOCK_SLOTS, &n) == -1 || n < 2)
		return 0;
	return (int)n;
}
