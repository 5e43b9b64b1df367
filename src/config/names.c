/*
 * Names of locks.  Different locks must have different keys, and all keys of
 * one lock must lie in one hash slot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "base/escape.h"
#include "base/xalloc.h"
#include "config/names.h"
#include "config/quotable.h"
#include "protocol/key.h"
#include "redis/address.h"

static bool
has_control(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

/* Whether braces would put the auxiliary keys of a lock into another slot. */
static bool
bad_braces(const char *s)
{
	const char *open = strchr(s, '{');
	const char *close = open == NULL ? NULL : strchr(open, '}');

	return strchr(s, '}') != NULL && (close == NULL || close == open + 1);
}

const char *
names_wrong(const char *text)
{
	if (has_control(text))
		return "contains a control character";
	if (escape_invisible(text))
		return "contains an invisible character";
	if (strstr(text, ":~") != NULL)
		return "contains ':~', which is reserved for internal keys";
	if (bad_braces(text))
		return "has a '}' without a {tag}";
	return NULL;
}

bool
names_shadow(const char *prefix, const char *name)
{
	const char *close = strchr(name, '}');

	return prefix[strspn(prefix, "{")] == '\0' && name[0] == '{' &&
	    close != NULL && close[1] == '\0';
}

static void
check_name(const char *name)
{
	size_t len = strlen(name);
	const char *wrong;

	if (len == 0 || len > LOCK_NAME)
		die_usage("-k: a name has 1 to %d bytes, '%.64s%s' has %zu",
		    LOCK_NAME, quotable(name), len > 64 ? "..." : "", len);
	/* A URL without its -r: its password would be shown as a name. */
	if (strstr(name, "://") != NULL || address_has_password(name, false))
		die_usage("'%s' is a URL, not a lock; use -r for a server",
		    quotable(name));
	wrong = names_wrong(name);
	if (wrong != NULL)
		die_usage("-k: '%s' %s", quotable(name), wrong);
}

void
names_add(struct names *names, const char *name)
{
	int i = names->n;

	check_name(name);
	if (names->n == LOCKS_MAX)
		die_usage("-k: more than %d locks", LOCKS_MAX);
	names->name = xreallocarray(names->name, (size_t)names->n + 1,
	    sizeof(*names->name));
	for (; i > 0 && strcmp(names->name[i - 1], name) >= 0; i--) {
		if (strcmp(names->name[i - 1], name) == 0)
			die_usage("-k: '%s' is named twice", quotable(name));
		names->name[i] = names->name[i - 1];
	}
	names->name[i] = name;
	names->n++;
}

void
names_join(struct names *names)
{
	size_t size = 1, used = 0;

	for (int i = 0; i < names->n; i++)
		size += strlen(names->name[i]) + 2;
	names->joined = xmalloc(size);
	names->joined[0] = '\0';
	for (int i = 0; i < names->n; i++)
		used += (size_t)snprintf(names->joined + used, size - used,
		    "%s%s", i > 0 ? ", " : "", names->name[i]);
}

void
names_release(struct names *names)
{
	free(names->name);
	free(names->joined);
	*names = (struct names){ 0 };
}
