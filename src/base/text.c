#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/die.h"
#include "base/exit.h"
#include "base/text.h"
#include "base/xalloc.h"

/* Returns 0 if memory is short, where the streams of some libraries go on. */
static ssize_t
add_cb(void *arg, const char *bytes, size_t len)
{
	struct text *t = arg;
	size_t room = 2 * t->room + len;
	char *more;

	if (len >= t->room - t->len) { /* a NUL follows */
		more = t->lost ? NULL : realloc(t->bytes, room);
		if (more == NULL) {
			t->lost = true;
			return 0;
		}
		t->bytes = more;
		t->room = room;
	}
	memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
	return (ssize_t)len;
}

void
text_begin(struct text *t)
{
	const cookie_io_functions_t functions = { .write = add_cb };

	*t = (struct text){ .bytes = xmalloc(1), .room = 1 };
	t->out = fopencookie(t, "w", functions);
	if (t->out == NULL)
		die(EXIT_OS, "%s", strerror(errno));
}

char *
text_end(struct text *t)
{
	fclose(t->out);
	if (t->lost)
		die(EXIT_OS, "%s", strerror(ENOMEM));
	t->bytes[t->len] = '\0';
	return t->bytes;
}
