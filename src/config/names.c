/*
 * Names of locks.  They must not have in them what would make their keys
 * collide with others of ours, or put them into different hash slots.
 */
#include <stdio.h>
#include <string.h>

#include "base/xalloc.h"
#include "config/names.h"
#include "protocol/key.h"

static bool
has_control(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

/* Whether braces would put the keys beside the lock into another slot. */
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
		return "has a control character in it";
	if (strstr(text, ":~") != NULL)
		return "has ':~' in it, which marks our own keys";
	if (bad_braces(text))
		return "has a '}' but no {tag}";
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
		usage_error("-k: a name has 1 to %d bytes, '%.64s%s' has %zu",
		    LOCK_NAME, quotable(name), len > 64 ? "..." : "", len);
	wrong = names_wrong(name);
	if (wrong != NULL)
		usage_error("-k: '%s' %s", quotable(name), wrong);
}

void
names_add(struct options *opt, const char *name)
{
	const char **names;
	int i = opt->nnames;

	check_name(name);
	if (opt->nnames == LOCKS_MAX)
		usage_error("-k: more than %d locks", LOCKS_MAX);
	names = xreallocarray(
	    opt->names, (size_t)(opt->nnames + 1), sizeof(*opt->names));
	opt->names = names;
	for (; i > 0 && strcmp(names[i - 1], name) >= 0; i--) {
		if (strcmp(names[i - 1], name) == 0)
			usage_error("-k: '%s' is named twice", quotable(name));
		names[i] = names[i - 1];
	}
	names[i] = name;
	opt->nnames++;
}

char *
names_joined(const struct options *opt)
{
	size_t size = 1, used = 0;
	char *text;

	for (int i = 0; i < opt->nnames; i++)
		size += strlen(opt->names[i]) + 2;
	text = xmalloc(size);
	text[0] = '\0';
	for (int i = 0; i < opt->nnames; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s",
		    i > 0 ? ", " : "", opt->names[i]);
	return text;
}
