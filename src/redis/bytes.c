/* Dropped and freed bytes are overwritten, because they may be a password. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "redis/bytes.h"

#define BYTES_MAX (4 * 1024 * 1024) /* that may wait */

bool
bytes_empty(const struct bytes *b)
{
	return b->from == b->to;
}

const char *
bytes_first(const struct bytes *b, size_t *len)
{
	*len = b->to - b->from;
	return *len == 0 ? "" : b->at + b->from;
}

void
bytes_release(struct bytes *b)
{
	if (b->at != NULL)
		explicit_bzero(b->at, b->to);
	free(b->at);
	*b = (struct bytes){ .at = NULL };
}

/* Makes room for len more, by moving the others to the front of a new block. */
static int
grow(struct bytes *b, size_t len)
{
	struct bytes new = { .at = NULL };
	const char *first = bytes_first(b, &new.to);

	if (new.to + len > BYTES_MAX) {
		errno = ENOBUFS;
		return -1;
	}
	new.room = 2 * (new.to + len);
	if ((new.at = malloc(new.room)) == NULL)
		return -1;
	memcpy(new.at, first, new.to);
	bytes_release(b);
	*b = new;
	return 0;
}

int
bytes_add(struct bytes *b, const char *copy, size_t len)
{
	if (b->room - b->to < len && grow(b, len) == -1)
		return -1;
	memcpy(b->at + b->to, copy, len);
	b->to += len;
	return 0;
}

void
bytes_drop(struct bytes *b, size_t n)
{
	b->from += n;
	if (!bytes_empty(b))
		return;
	explicit_bzero(b->at, b->to);
	b->from = b->to = 0;
}
