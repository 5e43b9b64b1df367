/*
 * The first line decides: without a blank it is the only password.  A mistake
 * is reported without its line: what looks like a host may begin a password.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/line.h"
#include "base/secret.h"
#include "base/xalloc.h"
#include "redis/passwords.h"
#include "redis/address.h"

static const char blanks[] = " \t";

/* Whether both name one host.  Names are the same in capitals, paths not. */
static bool
same_host(const char *a, const char *b)
{
	return (a[0] == '/' ? strcmp(a, b) : strcasecmp(a, b)) == 0;
}

static const struct password *
find_line(const struct passwords *p, const char *host, int port)
{
	for (int i = 0; i < p->n; i++)
		if (p->of[i].port == port && same_host(p->of[i].host, host))
			return &p->of[i];
	return NULL;
}

const char *
passwords_find(const struct passwords *p, const char *host, int port)
{
	const struct password *found = find_line(p, host, port);

	if (found == NULL)
		found = find_line(p, host, 0);
	return found == NULL ? NULL : found->word;
}

static const char *
keep(const char *word, const char **kept)
{
	if (strlen(word) >= ADDRESS_SECRET)
		return "has a password that is too long";
	*kept = secret_keep(word, strlen(word));
	return NULL;
}

/* Adds a line; word is HOST[:PORT], a path or /MASTER. */
static const char *
add_line(struct passwords *p, const char *word, const char *password)
{
	struct endpoint at;
	struct password *new;
	const char *wrong = address_endpoint(&at, word);

	if (wrong != NULL)
		return wrong;
	if (find_line(p, at.host, at.port) != NULL)
		return "is for a host and port that have a line already";
	p->of = xreallocarray(p->of, (size_t)p->n + 1, sizeof(*p->of));
	new = &p->of[p->n++];
	*new = (struct password){ .port = at.port, .line = p->line };
	new->host = xstrdup(at.host);
	return keep(password, &new->word);
}

static const char *
parse_line(struct passwords *p, char *line)
{
	char *word = line + strspn(line, blanks), *password;

	if (p->line == 1 && strpbrk(line, blanks) == NULL)
		return line[0] == '\0' ? "is empty; it must be a password, or "
					 "HOST[:PORT] and a password" :
					 keep(line, &p->single);
	line_trim(word);
	if (word[0] == '\0' || (word[0] == '#' && p->single == NULL))
		return NULL;
	if (p->single != NULL)
		return "follows a password that stands alone; for several, "
		       "write HOST[:PORT] in front of each";
	password = word + strcspn(word, blanks);
	if (*password == '\0')
		return "has no blank with a password behind it";
	*password++ = '\0';
	return add_line(p, word, password + strspn(password, blanks));
}

const char *
passwords_parse(struct passwords *p, char *text, size_t len)
{
	char *end = text + len, *line;
	const char *wrong = NULL;

	memset(p, 0, sizeof(*p));
	if (len == 0) {
		p->line = 1;
		return parse_line(p, text);
	}
	while (wrong == NULL && (line = line_next(&text, end, &len)) != NULL) {
		p->line++;
		wrong = strlen(line) < len ? "contains a NUL byte" :
					     parse_line(p, line);
	}
	return wrong;
}

void
passwords_release(struct passwords *p)
{
	for (int i = 0; i < p->n; i++)
		free(p->of[i].host);
	free(p->of);
	*p = (struct passwords){ 0 };
}
