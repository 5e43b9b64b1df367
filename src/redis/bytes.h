/* Bytes that wait to be sent, and are wiped once they are not needed. */
#ifndef BYTES_H
#define BYTES_H

#include <stdbool.h>
#include <stddef.h>

/* All zeros is empty. */
struct bytes {
	char *at;
	size_t from, to, room; /* at[from] to at[to - 1] wait */
};

bool bytes_empty(const struct bytes *);

/* Returns the first of the *len bytes that wait. */
const char *bytes_first(const struct bytes *, size_t *len);

/* Adds a copy behind the others.  Returns 0, or -1 with errno. */
int bytes_add(struct bytes *, const char *copy, size_t len);

/* Removes the first n. */
void bytes_drop(struct bytes *, size_t n);

/* Removes all and frees the memory. */
void bytes_release(struct bytes *);

#endif
