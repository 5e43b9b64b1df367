/*
 * The servers.  The default is used only if no server was named; an unreadable
 * configuration file has ended the program before.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "base/exit.h"
#include "base/secret.h"
#include "base/xalloc.h"
#include "config/file.h"
#include "config/quotable.h"
#include "config/servers.h"
#include "redis/tls.h"

void
servers_add(struct servers *servers, const char *origin, const char *url)
{
	char masked[ADDRESS_TEXT];
	struct address *a;
	const char *why;

	if (servers->n == LOCK_SERVERS)
		die_usage("%s: more than %d servers", origin, LOCK_SERVERS);
	servers->address = xreallocarray(servers->address,
	    (size_t)servers->n + 1, sizeof(*servers->address));
	a = &servers->address[servers->n];
	why = address_parse(a, url);
	address_mask_server(masked, sizeof(masked), url);
	if (why != NULL)
		die_usage("%s: '%s' %s", origin, masked, why);
	for (int i = 0; i < servers->n; i++)
		if (address_same(a, &servers->address[i]))
			die_usage("%s: '%s' is named twice; each server has "
				  "one vote",
			    origin, masked);
	servers->own_password[servers->n] = a->password != NULL;
	servers->origin[servers->n++] = origin;
}

static void
add_default(struct servers *servers, const struct settings *s)
{
	bool no_file = strcmp(s->file.path, "/dev/null") == 0;

	servers->is_default = true;
	snprintf(servers->hint, sizeof(servers->hint),
	    " (the built-in default; set -r%s%.100s)",
	    no_file ? " or REDLOCK_REDIS" : ", REDLOCK_REDIS or ",
	    no_file ? "" : s->file.path);
	servers_add(servers, "-r", ADDRESS_DEFAULT);
}

/* Adds the URLs in a variable, separated by blanks. */
static void
add_all(struct servers *servers, struct setting variable)
{
	char *copy = xstrdup(variable.value), *word, *rest = copy;
	size_t len = strlen(copy);

	while ((word = strsep(&rest, " \t\n")) != NULL)
		if (*word != '\0')
			servers_add(servers, variable.name, word);
	file_free(copy, len);
	if (servers->n == 0)
		die_usage("%s names no server", variable.name);
}

static void
add_lines(struct servers *servers, const struct conffile *c)
{
	for (int i = 0; i < c->n; i++)
		if (strcmp(c->settings[i].name, "redis") == 0)
			servers_add(servers, c->settings[i].where,
			    c->settings[i].value);
}

/* Checks the file's URLs although others replace them. */
static void
check_unused(const struct conffile *c)
{
	struct servers unused = { 0 };

	add_lines(&unused, c);
	for (int i = 0; i < unused.n; i++)
		secret_drop(unused.address[i].password);
	free(unused.address);
}

static void
find_servers(struct servers *servers, const struct settings *s)
{
	struct setting variable = settings_above_file(s, SETTING_REDIS);
	const struct conffile *c = &s->file;

	servers->place = PLACE_COMMAND_LINE;
	if (servers->n > 0 || variable.value != NULL)
		check_unused(c);
	if (servers->n > 0)
		return;
	servers->place = PLACE_ENVIRONMENT;
	if (variable.value != NULL) {
		add_all(servers, variable);
		return;
	}
	servers->place = PLACE_FILE;
	add_lines(servers, c);
	if (servers->n == 0)
		add_default(servers, s);
}

/*
 * Returns a setting for the TLS module, whose errors quote it unmasked.  So a
 * URL, which may contain a password, is refused.
 */
static const char *
tls_setting(const struct settings *settings, enum setting_key key)
{
	struct setting s = settings_find(settings, key);

	if (s.value != NULL &&
	    (strstr(s.value, "://") != NULL ||
		address_has_password(s.value, false)))
		die_usage("%s: '%s' is a URL, not a file or a host name",
		    s.name, quotable(s.value));
	return s.value;
}

/*
 * Checks the directories of OpenSSL's variable, in which others could add
 * authorities.
 */
static void
check_directories(const char *name, const char *list)
{
	char *copy = xstrdup(list), *directory, *rest = copy;

	while ((directory = strsep(&rest, ":")) != NULL)
		if (*directory != '\0')
			file_check_directory(name, directory);
	free(copy);
}

/* Fills in the authorities that are not the settings' but the environment's. */
static void
find_authorities(struct tls_files *files)
{
	static const char file[] = "SSL_CERT_FILE", dirs[] = "SSL_CERT_DIR";

	files->default_ca = getenv(file);
	if (files->default_ca != NULL && files->default_ca[0] == '\0')
		files->default_ca = NULL;
	if (files->default_ca != NULL)
		file_check(FILE_CERTIFICATE, file, files->default_ca);
	files->default_dirs = getenv(dirs);
	if (files->default_dirs != NULL && files->default_dirs[0] == '\0')
		files->default_dirs = NULL;
	if (files->default_dirs != NULL)
		check_directories(dirs, files->default_dirs);
}

/* Loads the TLS module if any URL needs it. */
static void
load_tls(const struct servers *servers, const struct settings *s)
{
	struct tls_files files = {
		.ca = tls_setting(s, SETTING_TLS_CA),
		.cert = tls_setting(s, SETTING_TLS_CERT),
		.key = tls_setting(s, SETTING_TLS_KEY),
		.server_name = tls_setting(s, SETTING_TLS_SERVER_NAME),
	};
	bool wanted = false;
	char why[TLS_WHY];

	for (int i = 0; i < servers->n; i++)
		wanted = wanted || servers->address[i].tls;
	if (!wanted)
		return;
	if (files.ca != NULL)
		file_check(FILE_CERTIFICATE,
		    settings_find(s, SETTING_TLS_CA).name, files.ca);
	else
		find_authorities(&files);
	if (files.cert != NULL)
		file_check(FILE_CERTIFICATE,
		    settings_find(s, SETTING_TLS_CERT).name, files.cert);
	if (files.key != NULL)
		file_check(FILE_KEY, settings_find(s, SETTING_TLS_KEY).name,
		    files.key);
	if (tls_load(&files, why) == -1)
		die_usage("%s", why);
}

void
servers_read(struct servers *servers, const struct settings *s)
{
	find_servers(servers, s);
	load_tls(servers, s);
}

/* FNV-1a, as in draft-eastlake-fnv. */
static uint64_t
fnv1a(uint64_t hash, const char *text)
{
	do {
		hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
	} while (*text++ != '\0');
	return hash;
}

void
servers_fingerprint(const struct servers *servers, const char *prefix,
    char site[SERVERS_SITE])
{
	const uint64_t basis = UINT64_C(14695981039346656037);
	uint64_t hash = 0;

	for (int i = 0; i < servers->n; i++)
		hash += fnv1a(basis, servers->address[i].text);
	hash = fnv1a(hash ^ basis, prefix);
	snprintf(site, SERVERS_SITE, "%016" PRIx64, hash);
}

const char *
servers_note(struct servers *servers, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) == -1)
		die(EXIT_OS, "%s", strerror(errno));
	va_end(ap);
	servers->notes[servers->nnotes++] = text;
	return text;
}

void
servers_release(struct servers *servers)
{
	while (servers->nnotes > 0)
		free(servers->notes[--servers->nnotes]);
	passwords_release(&servers->passwords);
	secret_release();
	free(servers->address);
	servers->address = NULL;
}
