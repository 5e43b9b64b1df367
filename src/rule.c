/*
 * Access control lists: the one rule that we tell people, and how servers say
 * that it was not heeded.  It says nothing about channels: it has to work with
 * Redis 6.0, which does not know the word.
 */
#include <stdio.h>
#include <string.h>

#include "rule.h"

/* The prefix to the letter, in a pattern. */
static char *
add_literally(char *dst, const char *prefix)
{
	for (; *prefix != '\0'; prefix++) {
		if (strchr("*?[\\", *prefix) != NULL)
			*dst++ = '\\';
		*dst++ = *prefix;
	}
	return dst;
}

char *
rule_text(char dst[RULE_TEXT], const char *prefix)
{
	char *to = dst;

	*to++ = '~';
	to = add_literally(to, prefix);
	*to++ = '*';
	if (*prefix != '\0') { /* a pattern beside ~* is an error */
		to = stpcpy(to, " ~{");
		to = add_literally(to, prefix);
		*to++ = '*';
	}
	stpcpy(to, " " RULE_COMMANDS);
	return dst;
}

/* Redis 6 wraps an error inside a script in text of its own. */
bool
rule_denies(const char *error)
{
	return strstr(error, "NOPERM") != NULL ||
	    strstr(error, "The user executing the script") != NULL;
}
