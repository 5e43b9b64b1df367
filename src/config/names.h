/* Names of locks, and the prefix of their keys. */
#ifndef NAMES_H
#define NAMES_H

#include <stdbool.h>

struct names {
	const char **name; /* in bytewise order */
	int n;             /* 0: all locks that exist */
	char *joined;      /* "a, b", for messages */
};

/*
 * Returns NULL if a name or a prefix is valid, or what is wrong as the end of a
 * sentence ("has a control character in it").  Does not check the length.
 */
const char *names_wrong(const char *text);

/*
 * Whether the auxiliary keys of name are also those of another lock under the
 * prefix: without a prefix, "x" and "{x}" would both use "{x}:~...".
 */
bool names_shadow(const char *prefix, const char *name);

/*
 * Adds a lock in bytewise order; name stays in place.  Exits if the name is not
 * valid or is there already.
 */
void names_add(struct names *, const char *name);

/* Writes names->joined; call it when all names are added. */
void names_join(struct names *);

void names_release(struct names *);

#endif
