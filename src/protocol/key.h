/* Names of locks, and their keys in Redis. */
#ifndef KEY_H
#define KEY_H

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

#define LOCK_NAME 512 /* bytes of a name, and of a prefix, at most */
#define LOCK_KEY  (2 * LOCK_NAME + 32)
#define LOCKS_MAX 32 /* of one run */

/* --once-per looks back so far, at most. */
#define SUCCESS_MS (INT64_C(30) * 24 * 3600 * 1000)
/* A server keeps the last success that long, for alerts about monthly jobs. */
#define SUCCESS_KEPT_MS (INT64_C(400) * 24 * 3600 * 1000)

/*
 * Writes the key of the lock name, and the beginning of its auxiliary keys,
 * which lie in the same slot of a Redis Cluster.
 */
void key_names(char key[LOCK_KEY], char aux[LOCK_KEY], const char *prefix,
    const char *name);

/* Writes the key of a slot, from 1; slot 1 is the lock itself. */
void key_of_slot(char slot_key[LOCK_KEY], const char *key, const char *aux,
    int slot);

/*
 * The inverse of key_names(): returns the name of the lock to which key belongs
 * under prefix, without a NUL at its end. *len is its length, 0 if the key is not
 * one of ours. *kind is the text after ":~" in an auxiliary key, or "".
 */
const char *
key_name(const char *key, const char *prefix, size_t *len, const char **kind);

/*
 * Returns the number of a slot, 1 for the lock itself, 0 for another kind of
 * key.
 */
int key_slot(const char *kind);

#endif
