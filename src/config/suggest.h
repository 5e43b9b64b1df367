/* Suggests words for typos. */
#ifndef SUGGEST_H
#define SUGGEST_H

#include <stddef.h>

/*
 * Returns the word nearest to the first len bytes of typed, or NULL if none is
 * near enough for a typo.
 */
const char *suggest_nearest(const char *typed, size_t len,
    const char *const words[], size_t n);

/* Writes "--a, --b or --c", where "--" is the prefix.  Returns text. */
char *suggest_join(char *text, size_t size, const char *prefix,
    const char *const words[], size_t n);

#endif
