/* Names of locks, and the keys in Redis that belong to one. */
#ifndef KEY_H
#define KEY_H

#include <stddef.h>

#define LOCK_NAME  512 /* bytes of a name, and of a prefix, at most */
#define LOCK_KEY   (2 * LOCK_NAME + 32)
#define LOCK_SLOTS 1000 /* of one lock, at most */
#define LOCKS_MAX  32   /* of one run */

/*
 * Writes the key of the lock name, and what the keys beside it begin with,
 * which lie in the same slot of a Redis Cluster.
 */
void lock_keys(char key[LOCK_KEY], char aux[LOCK_KEY], const char *prefix,
    const char *name);

/*
 * The inverse: the name of the lock that key belongs to under prefix, not
 * ended by a NUL.  *len is its length, 0 if the key is none of ours; *kind is
 * what comes behind ":~" in the keys beside the lock, or "".
 */
const char *
key_name(const char *key, const char *prefix, size_t *len, const char **kind);

/* The number of a slot, 1 for the lock itself; 0: another kind of key. */
int key_slot(const char *kind);

#endif
