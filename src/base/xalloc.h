/*
 * Allocations that end the program when memory is short.  For use only before
 * COMMAND exists.
 */
#ifndef XALLOC_H
#define XALLOC_H

#include <stddef.h>

/*
 * Like the C library's functions of the same names, but never NULL; free(3)
 * frees.  The names are the usual ones, and so do not begin with xalloc_.
 */
void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xreallocarray(void *old, size_t n, size_t size);
char *xstrdup(const char *);
char *xstrndup(const char *, size_t len);

#endif
