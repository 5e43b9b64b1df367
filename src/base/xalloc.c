/*
 * Allocations that end the program when memory is short.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "base/exit.h"
#include "base/xalloc.h"

static void *
require(void *memory)
{
	if (memory == NULL)
		die(EXIT_OS, "%s", strerror(errno));
	return memory;
}

void *
xmalloc(size_t size)
{
	return require(malloc(size));
}

void *
xcalloc(size_t n, size_t size)
{
	return require(calloc(n, size));
}

void *
xreallocarray(void *old, size_t n, size_t size)
{
	return require(reallocarray(old, n, size));
}

char *
xstrdup(const char *text)
{
	return require(strdup(text));
}

char *
xstrndup(const char *text, size_t len)
{
	return require(strndup(text, len));
}
