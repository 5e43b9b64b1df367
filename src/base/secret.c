/* A list, because the number and the lengths of passwords are the user's. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "base/xalloc.h"

struct secret {
	struct secret *next;
	char *text; /* the copy behind this struct, or an adopted one */
	size_t len;
};

static struct secret *secrets;

/* Adds a secret of len bytes, with room for a copy if text is NULL. */
static struct secret *
add(char *text, size_t len)
{
	struct secret *s = xmalloc(sizeof(*s) + (text == NULL ? len + 1 : 0));

	s->next = secrets;
	s->text = text != NULL ? text : (char *)(s + 1);
	s->len = len;
	secrets = s;
	return s;
}

const char *
secret_keep(const char *text, size_t len)
{
	struct secret *s = add(NULL, len);

	memcpy(s->text, text, len);
	s->text[len] = '\0';
	return s->text;
}

void
secret_drop(const char *text)
{
	struct secret **at = &secrets, *s;

	while ((s = *at) != NULL && s->text != text)
		at = &s->next;
	if (s == NULL)
		return;
	*at = s->next;
	explicit_bzero(s->text, s->len);
	free(s);
}

void
secret_adopt(const char *text)
{
	add((char *)(uintptr_t)text, strlen(text));
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

	while ((s = secrets) != NULL) {
		secrets = s->next;
		if (s->text == (char *)(s + 1))
			explicit_bzero(s->text, s->len);
		free(s);
	}
}
