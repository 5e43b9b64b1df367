/* Names of locks, and the prefix that stands before them. */
#ifndef NAMES_H
#define NAMES_H

#include <stdbool.h>

struct names {
	const char **name; /* in bytewise order */
	int n;             /* 0: all locks there are */
	char *joined;      /* "a, b", for messages */
};

/*
 * What is wrong with a name or a prefix, as the end of a sentence ("has a
 * control character in it"), or NULL.  Does not check the length.
 */
const char *names_wrong(const char *text);

/*
 * Whether the auxiliary keys of name are those of another lock under the
 * prefix: those of "x" are in braces, so without a prefix they would be those
 * of "{x}" as well.
 */
bool names_shadow(const char *prefix, const char *name);

/*
 * Adds a lock, which stays in place, in bytewise order.  Exits if the name is
 * not valid or is there already.
 */
void names_add(struct names *, const char *name);

/* Writes names->joined, once all are added. */
void names_join(struct names *);

void names_release(struct names *);

#endif
