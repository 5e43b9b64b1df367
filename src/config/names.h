/* Names of locks, and the prefix that stands before them. */
#ifndef NAMES_H
#define NAMES_H

#include "config/options.h"

/*
 * What is wrong with a name or a prefix, as the end of a sentence ("has a
 * control character in it"), or NULL.  How long it may be is not looked at.
 */
const char *names_wrong(const char *text);

/*
 * Whether name has the keys of another lock under the prefix beside it: those of
 * "x" are in braces, so without a prefix they would be those of "{x}" as well.
 */
bool names_shadow(const char *prefix, const char *name);

/*
 * One lock more, in its place: bytewise order, whatever order they are given
 * in.  Exits if the name, which stays, is none or is there already.
 */
void names_add(struct options *, const char *name);

/* All of them, as in "a, b"; to be freed. */
char *names_joined(const struct options *);

#endif
