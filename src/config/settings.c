/*
 * The settings of a site.  The command line beats the environment, and that
 * the configuration file.  Each value that is used is checked here, once, and
 * its mistakes are told with the name of the place where it stands.
 *
 * Nobody may fall back to the built-in server in silence: a file that is
 * there but cannot be read ends the program.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/duration.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "config/conffile.h"
#include "config/names.h"
#include "config/settings.h"
#include "protocol/key.h"
#include "protocol/quorum.h"
#include "redis/tls.h"

static const struct {
	const char *option;
	const char *variable;
	const char *line; /* what it is called in the file */
} keys[SITE_KEYS] = {
	[SITE_PREFIX] = { "--prefix", "REDLOCK_PREFIX", "prefix" },
	[SITE_TTL] = { "--ttl", "REDLOCK_TTL", "ttl" },
	[SITE_KILL_AFTER] = { "--kill-after", "REDLOCK_KILL_AFTER",
	    "kill-after" },
	[SITE_NODE_TIMEOUT] = { "--node-timeout", "REDLOCK_NODE_TIMEOUT",
	    "node-timeout" },
	[SITE_RESTART_GRACE] = { "--restart-grace", "REDLOCK_RESTART_GRACE",
	    "restart-grace" },
	[SITE_LOG] = { "--log", "REDLOCK_LOG", "log" },
	[SITE_PASSWORD_FILE] = { "--password-file", "REDLOCK_PASSWORD_FILE",
	    "password-file" },
	[SITE_TLS_CA] = { "--tls-ca", "REDLOCK_TLS_CA", "tls-ca" },
	[SITE_TLS_CERT] = { "--tls-cert", "REDLOCK_TLS_CERT", "tls-cert" },
	[SITE_TLS_KEY] = { "--tls-key", "REDLOCK_TLS_KEY", "tls-key" },
	[SITE_TLS_SERVER_NAME] = { "--tls-server-name",
	    "REDLOCK_TLS_SERVER_NAME", "tls-server-name" },
	[SITE_CONFIG] = { "--config", "REDLOCK_CONFIG", NULL },
	[SITE_REDIS] = { "--redis", "REDLOCK_REDIS", "redis" },
	[SITE_PASSWORD] = { NULL, "REDISCLI_AUTH", "password" },
};

/* The command line's, else the environment's. */
static struct setting
higher(const struct site *site, enum site_key key)
{
	const char *variable = keys[key].variable;

	if (site->given[key].value != NULL)
		return site->given[key];
	return (struct setting){ variable, getenv(variable) };
}

/* The file's. */
static struct setting
lower(const struct config *c, enum site_key key)
{
	for (int i = 0; i < c->n; i++)
		if (strcmp(c->settings[i].name, keys[key].line) == 0)
			return (struct setting){ c->settings[i].where,
				c->settings[i].value };
	return (struct setting){ NULL, NULL };
}

static struct setting
find(const struct options *opt, const struct site *site, enum site_key key)
{
	struct setting s = higher(site, key);

	return s.value != NULL ? s : lower(&opt->config, key);
}

int64_t
setting_duration(struct setting s, int64_t fallback_ms, int64_t least_ms)
{
	char text[DURATION_TEXT];
	int64_t ms;

	if (s.value == NULL)
		return fallback_ms;
	if (duration_parse(s.value, &ms) == -1)
		usage_error("%s: '%s' is not a duration (as 500ms, 1.5s, 10m, "
			    "2h, 1d)",
		    s.name, quotable(s.value));
	if (ms < least_ms)
		usage_error("%s: '%s' is too short, it must be at least %s",
		    s.name, quotable(s.value), duration_format(least_ms, text));
	return ms;
}

static void
use_log(struct setting s)
{
	bool syslog = s.value != NULL && strcmp(s.value, "syslog") == 0;

	if (s.value != NULL && !syslog && strcmp(s.value, "stderr") != 0)
		usage_error("%s: '%s' is neither 'stderr' nor 'syslog'", s.name,
		    quotable(s.value));
	log_to(syslog ? LOG_TO_SYSLOG : LOG_TO_STDERR);
}

void
site_set(struct site *site, enum site_key key, const char *value)
{
	site->given[key] = (struct setting){ keys[key].option, value };
	if (key == SITE_LOG)
		use_log(site->given[key]);
}

static const char *
prefix_of(struct setting s)
{
	const char *wrong;

	if (s.value == NULL)
		return "redlock:";
	if (strlen(s.value) > LOCK_NAME)
		usage_error("%s: '%.64s...' is longer than %d bytes", s.name,
		    quotable(s.value), LOCK_NAME);
	wrong = names_wrong(s.value);
	if (wrong != NULL)
		usage_error("%s: '%s' %s", s.name, quotable(s.value), wrong);
	return s.value;
}

void
site_add_server(struct options *opt, const char *name, const char *url)
{
	struct address *a;
	const char *why;

	if (opt->naddresses == LOCK_SERVERS)
		usage_error("%s: more than %d servers", name, LOCK_SERVERS);
	a = xreallocarray(opt->addresses, (size_t)(opt->naddresses + 1),
	    sizeof(*opt->addresses));
	opt->addresses = a;
	a += opt->naddresses;
	why = address_parse(a, url);
	if (why != NULL)
		usage_error("%s: '%s' %s", name, quotable(url), why);
	for (int i = 0; i < opt->naddresses; i++)
		if (address_same(a, &opt->addresses[i]))
			usage_error("%s: '%s' is named twice; each server has "
				    "one vote",
			    name, quotable(url));
	opt->naddresses++;
}

/* Servers that the command line does not name.  True: they are the file's. */
static bool
find_servers(struct options *opt, const struct site *site)
{
	struct setting s = higher(site, SITE_REDIS);
	const struct config *c = &opt->config;
	char *copy, *word, *rest;

	if (opt->naddresses > 0)
		return false;
	for (int i = 0; i < c->n && s.value == NULL; i++)
		if (strcmp(c->settings[i].name, keys[SITE_REDIS].line) == 0)
			site_add_server(
			    opt, c->settings[i].where, c->settings[i].value);
	if (opt->naddresses > 0)
		return true;
	if (s.value == NULL) {
		opt->default_server = true;
		snprintf(opt->hint, sizeof(opt->hint),
		    " (the built-in default; -r, REDLOCK_REDIS or %.100s "
		    "name another)",
		    opt->config_path);
		site_add_server(opt, "-r", ADDRESS_DEFAULT);
		return false;
	}
	copy = xstrdup(s.value);
	for (rest = copy; (word = strsep(&rest, " \t\n")) != NULL;)
		if (*word != '\0')
			site_add_server(opt, s.name, word);
	free(copy);
	if (opt->naddresses == 0)
		usage_error("%s names no server", s.name);
	return false;
}

/* Where the file names its nth server, from 0 on. */
static const char *
place_of(const struct config *c, int nth)
{
	int i = 0;

	while (strcmp(c->settings[i].name, keys[SITE_REDIS].line) != 0 ||
	    nth-- > 0)
		i++;
	return c->settings[i].where;
}

/* The first line of a file, into a buffer of ADDRESS_SECRET. */
static void
read_password(struct setting file, char *password)
{
	char buf[ADDRESS_SECRET + 2];
	struct stat st;

	if (config_read(file.value, buf, sizeof(buf), &st) == -1)
		usage_error("%s: '%s' cannot be read: %s", file.name,
		    quotable(file.value), strerror(errno));
	if (st.st_mode & S_IROTH)
		usage_error("%s: '%s' can be read by others; chmod 600 it",
		    file.name, quotable(file.value));
	buf[strcspn(buf, "\r\n")] = '\0';
	if (buf[0] == '\0')
		usage_error("%s: '%s' holds no password in its first line",
		    file.name, quotable(file.value));
	if (strlen(buf) >= ADDRESS_SECRET)
		usage_error("%s: '%s' holds a password that is longer than "
			    "%d bytes",
		    file.name, file.value, ADDRESS_SECRET - 1);
	memcpy(password, buf, strlen(buf) + 1);
}

/* The password for a URL without one of its own; empty if there is none. */
static void
find_password(
    const struct options *opt, const struct site *site, char *password)
{
	struct setting file = higher(site, SITE_PASSWORD_FILE);
	struct setting word = higher(site, SITE_PASSWORD);

	if (file.value == NULL && word.value == NULL) {
		file = lower(&opt->config, SITE_PASSWORD_FILE);
		word = lower(&opt->config, SITE_PASSWORD);
		if (file.value != NULL && word.value != NULL)
			usage_error("%s: there is a password-file as well; "
				    "one of them is enough",
			    word.name);
	}
	password[0] = '\0';
	if (file.value != NULL)
		read_password(file, password);
	else if (word.value != NULL) {
		if (strlen(word.value) >= ADDRESS_SECRET)
			usage_error("%s is longer than %d bytes", word.name,
			    ADDRESS_SECRET - 1);
		memcpy(password, word.value, strlen(word.value) + 1);
	}
}

/* For every URL without a password of its own. */
static void
fill_passwords(struct options *opt, const struct site *site, bool in_file)
{
	char password[ADDRESS_SECRET];

	find_password(opt, site, password);
	for (int i = 0; i < opt->naddresses; i++) {
		struct address *a = &opt->addresses[i];

		if (a->password[0] == '\0')
			memcpy(a->password, password, sizeof(password));
		if (a->user[0] != '\0' && a->password[0] == '\0')
			usage_error("%s%s'%s' has a user but no password, nor "
				    "is there one elsewhere (a password alone "
				    "is written redis://:PASSWORD@host)",
			    in_file ? place_of(&opt->config, i) : "",
			    in_file ? ": " : "", a->text);
	}
}

/* Whether the i-th setting of the file is a password, or has one in it. */
static bool
is_secret(const struct config *c, int i)
{
	if (strcmp(c->settings[i].name, keys[SITE_PASSWORD].line) == 0)
		return true;
	return strcmp(c->settings[i].name, keys[SITE_REDIS].line) == 0 &&
	    address_has_password(c->settings[i].value);
}

static size_t
word_len(const char *s)
{
	return strspn(s, "abcdefghijklmnopqrstuvwxyz-_");
}

/* Each line of the file for itself, used or not. */
static void
check_lines(struct config *c, const char *path)
{
	bool seen[SITE_KEYS] = { false };

	for (int i = 0; i < c->n; i++) {
		const char *name = c->settings[i].name;
		int key = 0;

		if (asprintf(&c->settings[i].where, "%s:%d: %s", path,
			c->settings[i].line, name) == -1)
			die(EXIT_OS, "%s", strerror(errno));
		while (key < SITE_KEYS &&
		    (keys[key].line == NULL ||
			strcmp(keys[key].line, name) != 0))
			key++;
		/* A word by itself, or glued to one, may be a password. */
		if (key == SITE_KEYS && name[word_len(name)] == '\0' &&
		    c->settings[i].value[0] != '\0')
			usage_error("%s:%d: '%.64s' is no setting", path,
			    c->settings[i].line, name);
		if (key == SITE_KEYS)
			usage_error("%s:%d: the line has no name of a setting, "
				    "a blank and a value",
			    path, c->settings[i].line);
		if (c->settings[i].value[0] == '\0' && key != SITE_PREFIX)
			usage_error("%s has no value", c->settings[i].where);
		if (seen[key] && key != SITE_REDIS)
			usage_error("%s stands there twice; once is enough",
			    c->settings[i].where);
		seen[key] = true;
		if (c->others && is_secret(c, i))
			usage_error("%s: a password in a file that others can "
				    "read; chmod 600 it",
			    c->settings[i].where);
	}
}

/* The file that is named, or the usual one, which need not be there. */
static void
read_config(struct options *opt, const struct site *site)
{
	struct setting file = higher(site, SITE_CONFIG);
	struct config *c = &opt->config;
	const char *wrong;
	struct stat st;
	ssize_t len;

	opt->config_path = file.value != NULL ? file.value : CONFIG_DEFAULT;
	c->text = xmalloc(CONFIG_SIZE + 2);
	len = config_read(opt->config_path, c->text, CONFIG_SIZE + 2, &st);
	if (len == -1) {
		int error = errno;

		/* A link to nowhere is there, and means something. */
		if (error == ENOENT && file.value == NULL &&
		    lstat(CONFIG_DEFAULT, &st) == -1)
			return;
		usage_error("%s%s'%s' cannot be read: %s",
		    file.value != NULL ? file.name : "",
		    file.value != NULL ? ": " : "", quotable(opt->config_path),
		    strerror(error));
	}
	c->others = (st.st_mode & S_IROTH) != 0;
	wrong = config_distrust(&st);
	if (wrong != NULL)
		usage_error("'%s' %s", opt->config_path, wrong);
	if (len > CONFIG_SIZE)
		usage_error("'%s' is larger than %d KB", opt->config_path,
		    CONFIG_SIZE / 1024);
	wrong = config_parse(c, c->text, (size_t)len);
	if (wrong != NULL)
		usage_error(
		    "%s:%d: the line %s", opt->config_path, c->line, wrong);
	check_lines(c, opt->config_path);
}

/* For the TLS module, which quotes it as it is. */
static const char *
tls_setting(
    const struct options *opt, const struct site *site, enum site_key key)
{
	struct setting s = find(opt, site, key);

	if (s.value != NULL &&
	    (strstr(s.value, "://") != NULL || address_has_password(s.value)))
		usage_error("%s: '%s' is a URL", s.name, quotable(s.value));
	return s.value;
}

/* What TLS needs, if any URL wants it. */
static void
load_tls(const struct options *opt, const struct site *site)
{
	const struct tls_files files = {
		.ca = tls_setting(opt, site, SITE_TLS_CA),
		.cert = tls_setting(opt, site, SITE_TLS_CERT),
		.key = tls_setting(opt, site, SITE_TLS_KEY),
		.server_name = tls_setting(opt, site, SITE_TLS_SERVER_NAME),
	};
	bool wanted = false;
	char why[TLS_WHY];

	for (int i = 0; i < opt->naddresses; i++)
		wanted = wanted || opt->addresses[i].tls;
	if (!wanted)
		return;
	if (tls_load(&files, why) == -1)
		usage_error("%s", why);
}

/* FNV-1a, as in draft-eastlake-fnv. */
static uint64_t
fingerprint(uint64_t hash, const char *text)
{
	do {
		hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
	} while (*text++ != '\0');
	return hash;
}

/* The order in which servers are named makes no difference. */
static uint64_t
site_of(const struct options *opt)
{
	const uint64_t basis = UINT64_C(14695981039346656037);
	uint64_t servers = 0;

	for (int i = 0; i < opt->naddresses; i++)
		servers += fingerprint(basis, opt->addresses[i].text);
	return fingerprint(servers ^ basis, opt->prefix);
}

void
site_check_grace(const struct options *opt, const struct site *site,
    const char *name, int64_t ms)
{
	struct setting grace = find(opt, site, SITE_RESTART_GRACE);
	char text[2][DURATION_TEXT];

	if ((opt->mode == MODE_RUN || opt->mode == MODE_CHECK) &&
	    opt->grace_ms > 0 && ms > opt->grace_ms)
		usage_error("%s: %s is more than the restart grace of %s "
			    "(%s): a server that restarts could forget the "
			    "lock",
		    name, duration_format(ms, text[0]),
		    duration_format(opt->grace_ms, text[1]),
		    grace.value != NULL ? grace.name :
					  keys[SITE_RESTART_GRACE].option);
}

void
site_read(struct options *opt, const struct site *site)
{
	struct setting ttl, grace;
	int64_t tenth;
	bool in_file;

	use_log(higher(site, SITE_LOG));
	read_config(opt, site);
	use_log(find(opt, site, SITE_LOG));
	ttl = find(opt, site, SITE_TTL);
	grace = find(opt, site, SITE_RESTART_GRACE);
	opt->ttl_ms = setting_duration(ttl, 60000, 100);
	opt->kill_after_ms =
	    setting_duration(find(opt, site, SITE_KILL_AFTER), 5000, 0);
	tenth = opt->ttl_ms / 10;
	opt->node_timeout_ms =
	    setting_duration(find(opt, site, SITE_NODE_TIMEOUT),
		tenth < 50       ? 50 :
		    tenth > 3000 ? 3000 :
				   tenth,
		1);
	opt->prefix = prefix_of(find(opt, site, SITE_PREFIX));
	in_file = find_servers(opt, site);
	fill_passwords(opt, site, in_file);
	load_tls(opt, site);
	opt->grace_ms =
	    setting_duration(grace, opt->naddresses > 1 ? 60000 : 0, 0);
	site_check_grace(opt, site,
	    ttl.value != NULL ? ttl.name : keys[SITE_TTL].option, opt->ttl_ms);
	snprintf(opt->site, sizeof(opt->site), "%016" PRIx64, site_of(opt));
}

void
site_release(struct options *opt)
{
	config_release(&opt->config);
	free(opt->addresses);
	opt->addresses = NULL;
}
