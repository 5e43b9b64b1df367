/*
 * A password that the user did not write beside a server goes only where its
 * place allows.  Otherwise -r or REDLOCK_REDIS could lead the site's password
 * to any host, or send it in clear.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/die.h"
#include "base/secret.h"
#include "base/xalloc.h"
#include "config/credentials.h"
#include "config/file.h"
#include "config/quotable.h"

#define LINE_TEXT (ADDRESS_HOST + 16)

/* A password, or a password file with lines. */
struct source {
	struct setting from; /* without a value: there is none */
	const char *single;  /* NULL: the file has lines */
	bool tls_only;       /* it must not go in clear */
};

/* In force, for URLs without a password. */
struct sources {
	struct source lines; /* come first */
	struct source one;
};

void
credentials_find(const struct settings *s, struct setting *file,
    struct setting *word)
{
	*file = settings_above_file(s, SETTING_PASSWORD_FILE);
	*word = settings_above_file(s, SETTING_PASSWORD);
	if (file->value != NULL) {
		word->value = NULL;
		return;
	}
	*file = settings_in_file(s, SETTING_PASSWORD_FILE);
	if (word->value != NULL)
		return;
	*word = settings_in_file(s, SETTING_PASSWORD);
	if (file->value != NULL && word->value != NULL)
		die_usage("%s: password-file is set too; remove one of "
			  "them",
		    word->name);
}

static const char *
keep_word(struct setting word)
{
	if (strlen(word.value) >= ADDRESS_SECRET)
		die_usage("%s is longer than %d bytes", word.name,
		    ADDRESS_SECRET - 1);
	return secret_keep(word.value, strlen(word.value));
}

static void
read_passwords(struct passwords *p, struct setting file)
{
	const char *wrong, *path = quotable(file.value);
	struct stat st;
	size_t len;
	char *text =
	    file_read(FILE_PASSWORDS, file.name, file.value, &len, &st);

	wrong = passwords_parse(p, text, len);
	file_free(text, len);
	if (wrong != NULL)
		die_usage("%s:%d: the line %s", path, p->line, wrong);
}

/* Whether the connection to the server is readable on the way. */
static bool
in_clear(const struct address *a)
{
	return !a->tls && a->path[0] == '\0';
}

/* The servers of a place: how many are TLS, and how many are in clear. */
struct tally {
	int tls, clear;
};

static void
count(struct tally *t, const struct address *a)
{
	t->tls += a->tls;
	t->clear += in_clear(a);
}

/* Reads a URL that may not be in use.  Returns false if it has a mistake. */
static bool
parse_unused(struct address *a, const char *url)
{
	bool good = address_parse(a, url) == NULL;

	secret_drop(a->password);
	return good;
}

/* Counts a URL.  One with a mistake may be meant as one with TLS. */
static void
count_url(struct tally *t, const char *url)
{
	struct address a;

	if (parse_unused(&a, url))
		count(t, &a);
	else
		t->tls++;
}

/* Counts those of the environment, which may differ from those in use. */
static void
count_variable(struct tally *t)
{
	static const char blanks[] = " \t\n";
	const char *url = settings_variable(SETTING_REDIS);
	size_t len;
	char *word;

	for (; url != NULL && *url != '\0'; url += len) {
		url += strspn(url, blanks);
		len = strcspn(url, blanks);
		word = xstrndup(url, len);
		if (len > 0)
			count_url(t, word);
		file_free(word, len);
	}
}

/* Whether all servers that were named in this place are rediss://. */
static bool
tls_only(const struct servers *servers, const struct settings *s,
    enum setting_place place)
{
	const struct conffile *c = &s->file;
	struct tally t = { 0 };

	switch (place) {
	case PLACE_COMMAND_LINE:
		for (int i = 0; i < servers->n; i++)
			if (servers->place == PLACE_COMMAND_LINE)
				count(&t, &servers->address[i]);
		break;
	case PLACE_ENVIRONMENT:
		count_variable(&t);
		break;
	case PLACE_FILE:
		for (int i = 0; i < c->n; i++)
			if (strcmp(c->settings[i].name, "redis") == 0)
				count_url(&t, c->settings[i].value);
		break;
	}
	return t.tls > 0 && t.clear == 0;
}

/* Sets whether a password of the source must not go in clear. */
static void
limit(struct source *src, const struct servers *servers,
    const struct settings *s)
{
	src->tls_only =
	    src->from.value != NULL && tls_only(servers, s, src->from.place);
}

/*
 * Whether the configuration file names the server, and not with TLS if this URL
 * is without.  The built-in default stands for a file that names none.
 */
static bool
in_file(const struct servers *servers, const struct settings *s,
    const struct address *a)
{
	const struct conffile *c = &s->file;
	struct address named;

	if (servers->is_default || servers->place == PLACE_FILE)
		return true;
	for (int i = 0; i < c->n; i++)
		if (strcmp(c->settings[i].name, "redis") == 0 &&
		    parse_unused(&named, c->settings[i].value) &&
		    address_same(&named, a) && (a->tls || !named.tls))
			return true;
	return false;
}

/* Writes how a line of a password file names the server, or its Sentinel. */
static const char *
line_of(const struct address *a, bool sentinel, char text[LINE_TEXT])
{
	const struct endpoint *at = &a->at[0];
	bool v6 = strchr(at->host, ':') != NULL;

	if (a->path[0] != '\0')
		snprintf(text, LINE_TEXT, "%s", a->path);
	else if (a->kind == ADDRESS_SENTINEL && !sentinel)
		snprintf(text, LINE_TEXT, "/%s", a->master);
	else
		snprintf(text, LINE_TEXT, "%s%s%s:%d", v6 ? "[" : "", at->host,
		    v6 ? "]" : "", at->port);
	return text;
}

/* Returns the password of the line for the server, or NULL. */
static const char *
find_line(const struct passwords *p, const struct address *a)
{
	char master[ADDRESS_MASTER + 1];

	if (a->path[0] != '\0')
		return passwords_find(p, a->path, 0);
	if (a->kind != ADDRESS_SENTINEL)
		return passwords_find(p, a->at[0].host, a->at[0].port);
	snprintf(master, sizeof(master), "/%s", a->master);
	return passwords_find(p, master, 0);
}

/*
 * Returns why a password of the source must not go to the server, of which a
 * password file would have that line, or NULL.  servers owns the text.
 */
static const char *
refuse(struct servers *servers, const struct settings *s,
    const struct source *src, const struct address *a, const char *line)
{
	int len = (int)strcspn(src->from.name, ":");

	if (src->tls_only && in_clear(a))
		return servers_note(servers,
		    "that of %.*s is for rediss:// only, as its servers are; "
		    "use a rediss:// URL",
		    len, src->from.name);
	if (src->single != NULL && src->from.place == PLACE_FILE &&
	    !in_file(servers, s, a))
		return servers_note(servers,
		    "that of %s serves only the servers in that file; write "
		    "'%s PASSWORD' into a --password-file",
		    s->file.path, line);
	return NULL;
}

static void
fill_server(struct servers *servers, const struct settings *s,
    struct address *a, const struct sources *in_force)
{
	const struct passwords *lines = &servers->passwords;
	const struct source *src = &in_force->one;
	const char *password = src->single;
	char line[LINE_TEXT];

	if (in_force->lines.from.value != NULL &&
	    !(in_force->lines.tls_only && in_clear(a)) &&
	    (a->kind != ADDRESS_CLUSTER || a->password == NULL))
		a->lines = lines;
	if (a->password != NULL)
		return;
	if (src->from.value == NULL || find_line(lines, a) != NULL) {
		src = &in_force->lines;
		password = find_line(lines, a);
	}
	if (src->from.value == NULL)
		return;
	line_of(a, false, line);
	a->withheld = refuse(servers, s, src, a, line);
	if (a->withheld != NULL)
		return;
	a->password = password;
	if (password == NULL)
		a->withheld = servers_note(servers,
		    "'%s' has no line for it; add '%s PASSWORD'",
		    quotable(src->from.value), line);
}

/* Gives the Sentinels of a URL the password that is meant for them. */
static void
fill_sentinels(struct servers *servers, const struct settings *s,
    struct address *a)
{
	struct source src = { .from =
				  settings_find(s, SETTING_SENTINEL_PASSWORD) };
	char line[LINE_TEXT];

	if (src.from.value == NULL || a->kind != ADDRESS_SENTINEL)
		return;
	src.single = keep_word(src.from);
	limit(&src, servers, s);
	a->sentinel_withheld =
	    refuse(servers, s, &src, a, line_of(a, true, line));
	if (a->sentinel_withheld == NULL)
		a->sentinel_password = src.single;
}

/* Whether this user may not read the file, but a single password is set. */
static bool
is_for_others(struct setting file, struct setting word)
{
	return word.value != NULL && access(file.value, R_OK) == -1 &&
	    errno == EACCES;
}

static struct sources
find_sources(struct servers *servers, const struct settings *s)
{
	struct setting file, word;
	struct sources in_force = { 0 };

	credentials_find(s, &file, &word);
	if (file.value != NULL && !is_for_others(file, word)) {
		read_passwords(&servers->passwords, file);
		if (servers->passwords.single == NULL)
			in_force.lines.from = file;
		else if (word.value == NULL)
			in_force.one = (struct source){ .from = file,
				.single = servers->passwords.single };
	}
	if (word.value != NULL)
		in_force.one =
		    (struct source){ .from = word, .single = keep_word(word) };
	return in_force;
}

void
credentials_fill(struct servers *servers, const struct settings *s)
{
	struct sources in_force = find_sources(servers, s);

	limit(&in_force.lines, servers, s);
	limit(&in_force.one, servers, s);
	for (int i = 0; i < servers->n; i++) {
		struct address *a = &servers->address[i];

		fill_server(servers, s, a, &in_force);
		fill_sentinels(servers, s, a);
		if (a->user[0] != '\0' && a->password == NULL)
			die_usage("%s: '%s' has a user but no password; %s",
			    servers->origin[i], a->text,
			    a->withheld != NULL ?
				a->withheld :
				"write a password without a user as "
				"redis://:PASSWORD@host");
	}
}
