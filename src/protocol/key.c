/* The names of the keys in Redis, and the lock to which a key belongs. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "protocol/key.h"

/*
 * The keys of a lock must share a Redis Cluster slot.  So the lock key is the
 * hash tag of the auxiliary keys, unless it contains a tag of its own.
 */
void
key_names(char key[LOCK_KEY], char aux[LOCK_KEY], const char *prefix,
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

void
key_of_slot(char slot_key[LOCK_KEY], const char *key, const char *aux, int slot)
{
	if (slot == 1)
		snprintf(slot_key, LOCK_KEY, "%s", key);
	else
		snprintf(slot_key, LOCK_KEY, "%s%d", aux, slot);
}

/*
 * The lock's own key is the prefix and NAME.  An auxiliary key is the lock key,
 * in braces unless it has a tag, then ":~" and the kind.  NAME never contains
 * ":~", but it may begin with "~" after a prefix that ends with ":".
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
