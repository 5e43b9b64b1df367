/* A list, because the number and the lengths of passwords are the user's. */
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "base/xalloc.h"

struct secret {
	struct secret *next;
	size_t len;
	char text[];
};

static struct secret *secrets;

const char *
secret_keep(const char *text, size_t len)
{
	struct secret *s = xmalloc(sizeof(*s) + len + 1);

	s->next = secrets;
	s->len = len;
	memcpy(s->text, text, len);
	s->text[len] = '\0';
	secrets = s;
	return s->text;
}

void
secret_wipe(void)
{
	for (struct secret *s = secrets; s != NULL; s = s->next)
		explicit_bzero(s->text, s->len);
}

void
secret_release(void)
{
	struct secret *s;

	secret_wipe();
	while ((s = secrets) != NULL) {
		secrets = s->next;
		free(s);
	}
}
