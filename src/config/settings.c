/*
 * Settings.  Each value that is used is checked here, once, and errors name its
 * origin.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/number.h"
#include "base/secret.h"
#include "config/names.h"
#include "config/quotable.h"
#include "config/settings.h"
#include "config/suggest.h"
#include "prefix.h"
#include "protocol/key.h"
#include "protocol/lease.h"
#include "redis/address.h"

static const struct {
	const char *option;
	const char *variable;
	const char *line; /* its name in the file */
} keys[SETTING_KEYS] = {
	[SETTING_PREFIX] = { "--prefix", "REDLOCK_PREFIX", "prefix" },
	[SETTING_TTL] = { "--ttl", "REDLOCK_TTL", "ttl" },
	[SETTING_MAX_TTL] = { "--max-ttl", "REDLOCK_MAX_TTL", "max-ttl" },
	[SETTING_LATEST] = { "--latest", "REDLOCK_LATEST", "latest" },
	[SETTING_MAX_WAITING] = { "--max-waiting", "REDLOCK_MAX_WAITING",
	    "max-waiting" },
	[SETTING_KILL_AFTER] = { "--kill-after", "REDLOCK_KILL_AFTER",
	    "kill-after" },
	[SETTING_NODE_TIMEOUT] = { "--node-timeout", "REDLOCK_NODE_TIMEOUT",
	    "node-timeout" },
	[SETTING_RESTART_GRACE] = { "--restart-grace", "REDLOCK_RESTART_GRACE",
	    "restart-grace" },
	[SETTING_LOG] = { "--log", "REDLOCK_LOG", "log" },
	[SETTING_PASSWORD_FILE] = { "--password-file", "REDLOCK_PASSWORD_FILE",
	    "password-file" },
	[SETTING_TLS_CA] = { "--tls-ca", "REDLOCK_TLS_CA", "tls-ca" },
	[SETTING_TLS_CERT] = { "--tls-cert", "REDLOCK_TLS_CERT", "tls-cert" },
	[SETTING_TLS_KEY] = { "--tls-key", "REDLOCK_TLS_KEY", "tls-key" },
	[SETTING_TLS_SERVER_NAME] = { "--tls-server-name",
	    "REDLOCK_TLS_SERVER_NAME", "tls-server-name" },
	[SETTING_CONFIG] = { "--config", "REDLOCK_CONFIG", NULL },
	[SETTING_REDIS] = { "--redis", "REDLOCK_REDIS", "redis" },
	[SETTING_PASSWORD] = { NULL, "REDISCLI_AUTH", "password" },
	[SETTING_SENTINEL_PASSWORD] = { NULL, "REDLOCK_SENTINEL_PASSWORD",
	    "sentinel-password" },
};

const char *
settings_variable(enum setting_key key)
{
	return getenv(keys[key].variable);
}

struct setting
settings_above_file(const struct settings *s, enum setting_key key)
{
	const char *variable = keys[key].variable,
		   *value = settings_variable(key);

	if (s->given[key].value != NULL)
		return s->given[key];
	if (value != NULL)
		return (struct setting){ variable, value, PLACE_ENVIRONMENT };
	return (struct setting){ .name = keys[key].option };
}

struct setting
settings_in_file(const struct settings *s, enum setting_key key)
{
	const char *where = keys[key].option, *value = NULL;

	if (keys[key].line != NULL)
		value = conffile_find(&s->file, keys[key].line, &where);
	return (struct setting){ where, value, PLACE_FILE };
}

struct setting
settings_find(const struct settings *s, enum setting_key key)
{
	struct setting above = settings_above_file(s, key);

	return above.value != NULL ? above : settings_in_file(s, key);
}

const char *
setting_word(enum setting_key key)
{
	return keys[key].line != NULL ? keys[key].line : "config";
}

int64_t
setting_duration(struct setting s, int64_t fallback_ms, int64_t least_ms)
{
	char text[DURATION_TEXT];
	int64_t ms;

	if (s.value == NULL)
		return fallback_ms;
	if (duration_parse(s.value, &ms) == -1 && errno == ERANGE)
		die_usage("%s: '%s' is too long; the maximum is %s", s.name,
		    quotable(s.value), duration_format(DURATION_MAX_MS, text));
	if (duration_parse(s.value, &ms) == -1)
		die_usage("%s: '%s' is not a duration; examples: "
			  "500ms, 1.5s, 10m, 1h30m, 1d",
		    s.name, quotable(s.value));
	if (ms < least_ms)
		die_usage("%s: '%s' is too short; the minimum is %s", s.name,
		    quotable(s.value), duration_format(least_ms, text));
	return ms;
}

static void
check_log(struct setting s)
{
	if (s.value != NULL && strcmp(s.value, "syslog") != 0 &&
	    strcmp(s.value, "stderr") != 0)
		die_usage("%s: '%s' is not 'stderr' or 'syslog'", s.name,
		    quotable(s.value));
}

static void
use_log(struct setting s)
{
	bool syslog = s.value != NULL && strcmp(s.value, "syslog") == 0;

	check_log(s);
	log_to(syslog ? LOG_TO_SYSLOG : LOG_TO_STDERR);
}

void
settings_set(struct settings *s, enum setting_key key, const char *value)
{
	s->given[key] =
	    (struct setting){ keys[key].option, value, PLACE_COMMAND_LINE };
	if (key == SETTING_LOG)
		use_log(s->given[key]);
}

/* Returns whether it is "yes"; not if it is not given. */
static bool
read_switch(struct setting s)
{
	bool yes = s.value != NULL && strcmp(s.value, "yes") == 0;

	if (s.value != NULL && !yes && strcmp(s.value, "no") != 0)
		die_usage("%s: '%s' is not 'yes' or 'no'", s.name,
		    quotable(s.value));
	return yes;
}

#define WAITING_MOST 1000
#define TTL_LEAST_MS 200

/* Returns 0, for no limit, if it is not given. */
static int
read_max_waiting(struct setting s)
{
	int64_t n;

	if (s.value == NULL)
		return 0;
	if (number_parse(s.value, strlen(s.value), WAITING_MOST, &n) == -1)
		die_usage("%s: '%s' is not a number from %d to %d", s.name,
		    quotable(s.value), 0, WAITING_MOST);
	return (int)n;
}

static const char *
read_prefix(struct setting s)
{
	const char *wrong;

	if (s.value == NULL)
		return "redlock:";
	if (strlen(s.value) > LOCK_NAME)
		die_usage("%s: '%.64s...' is longer than %d bytes", s.name,
		    quotable(s.value), LOCK_NAME);
	wrong = names_wrong(s.value);
	if (wrong != NULL)
		die_usage("%s: '%s' %s", s.name, quotable(s.value), wrong);
	return s.value;
}

/* Whether the i-th setting of the file is a password or contains one. */
static bool
is_secret(const struct conffile *c, int i)
{
	const char *name = c->settings[i].name;

	if (strcmp(name, keys[SETTING_PASSWORD].line) == 0 ||
	    strcmp(name, keys[SETTING_SENTINEL_PASSWORD].line) == 0)
		return true;
	return strcmp(name, keys[SETTING_REDIS].line) == 0 &&
	    address_has_password(c->settings[i].value, true);
}

static size_t
word_len(const char *s)
{
	return strspn(s, "abcdefghijklmnopqrstuvwxyz-_");
}

static enum setting_key
find_key(const char *line)
{
	int key = 0;

	while (key < SETTING_KEYS &&
	    (keys[key].line == NULL || strcmp(keys[key].line, line) != 0))
		key++;
	return (enum setting_key)key;
}

/*
 * Returns what follows a '=' that stands alone before the value, or NULL.  Other
 * formats need it; here it would be part of the value.
 */
static const char *
behind_equals(const char *value)
{
	static const char blanks[] = " \t";

	if (value[0] != '=' || strchr(blanks, value[1]) == NULL)
		return NULL;
	return value + 1 + strspn(value + 1, blanks);
}

/*
 * Refuses a line such as "TTL 30s", "ttl=30s" or "ttl = 30s", which has a setting
 * in another form.  Quotes no secret.
 */
static void
advise_form(const struct conffile *c, int i)
{
	const char *name = c->settings[i].name, *given = c->settings[i].value;
	const char *value = behind_equals(given);
	size_t len = strcspn(name, "=:");
	char word[32];
	enum setting_key key;
	bool secret;

	if (len >= sizeof(word))
		return;
	for (size_t j = 0; j <= len; j++)
		word[j] =
		    j < len ? (char)tolower((unsigned char)name[j]) : '\0';
	key = find_key(word);
	if (key == SETTING_KEYS)
		return;
	if (given[0] == '\0' && name[len] != '\0')
		given = name + len + 1;
	if (value == NULL)
		value = given;
	secret = key == SETTING_REDIS || key == SETTING_PASSWORD ||
	    key == SETTING_SENTINEL_PASSWORD;
	if (secret || value[0] == '\0' || address_has_password(value, false))
		die_usage("%s:%d: malformed line; write: %s VALUE", c->path,
		    c->settings[i].line, word);
	die_usage("%s:%d: malformed line '%.*s%c%.64s'; write: %s %.64s",
	    c->path, c->settings[i].line, (int)len, name,
	    name[len] != '\0' ? name[len] : ' ', given, word, value);
}

/*
 * Refuses a line.  Quotes it only if it cannot be a password, as a single word
 * may be.
 */
static _Noreturn void
refuse_line(const struct conffile *c, int i, settings_is_option *is_option)
{
	const char *name = c->settings[i].name, *nearest;
	const char *lines[SETTING_KEYS];
	size_t n = 0;

	advise_form(c, i);
	if (name[word_len(name)] == '\0' && c->settings[i].value[0] != '\0') {
		if (is_option(name))
			die_usage("%s:%d: '%.64s' is an option, not a setting",
			    c->path, c->settings[i].line, name);
		for (int key = 0; key < SETTING_KEYS; key++)
			if (keys[key].line != NULL)
				lines[n++] = keys[key].line;
		nearest = suggest_nearest(name, strlen(name), lines, n);
		die_usage("%s:%d: unknown setting '%.64s'%s%s%s", c->path,
		    c->settings[i].line, name,
		    nearest != NULL ? " (did you mean '" : "",
		    nearest != NULL ? nearest : "",
		    nearest != NULL ? "'?)" : "");
	}
	die_usage("%s:%d: malformed line; a line is a setting, a blank "
		  "and a value",
	    c->path, c->settings[i].line);
}

/* Checks a value that another one may replace; servers.c checks URLs. */
static void
check_value(enum setting_key key, struct setting s)
{
	switch (key) {
	case SETTING_TTL:
		setting_duration(s, 0, TTL_LEAST_MS);
		break;
	case SETTING_NODE_TIMEOUT:
		setting_duration(s, 0, 1);
		break;
	case SETTING_MAX_TTL:
	case SETTING_KILL_AFTER:
	case SETTING_RESTART_GRACE:
		setting_duration(s, 0, 0);
		break;
	case SETTING_LATEST:
		read_switch(s);
		break;
	case SETTING_MAX_WAITING:
		read_max_waiting(s);
		break;
	case SETTING_PREFIX:
		read_prefix(s);
		break;
	case SETTING_LOG:
		check_log(s);
		break;
	case SETTING_PASSWORD_FILE:
	case SETTING_TLS_CA:
	case SETTING_TLS_CERT:
	case SETTING_TLS_KEY:
	case SETTING_TLS_SERVER_NAME:
	case SETTING_CONFIG:
	case SETTING_REDIS:
	case SETTING_PASSWORD:
	case SETTING_SENTINEL_PASSWORD:
	case SETTING_KEYS:
		break;
	}
}

/* Checks each line of the file, even if it is not used. */
static void
check_lines(const struct conffile *c, settings_is_option *is_option)
{
	bool seen[SETTING_KEYS] = { false };

	for (int i = 0; i < c->n; i++) {
		enum setting_key key = find_key(c->settings[i].name);
		const char *where = c->settings[i].where;

		if (key == SETTING_KEYS ||
		    behind_equals(c->settings[i].value) != NULL)
			refuse_line(c, i, is_option);
		if (c->settings[i].value[0] == '\0' && key != SETTING_PREFIX)
			die_usage("%s has no value", where);
		if (seen[key] && key != SETTING_REDIS)
			die_usage("%s is set twice", where);
		seen[key] = true;
		if (key == SETTING_REDIS &&
		    conffile_is_several(c->settings[i].value))
			die_usage(
			    "%s has more than one URL or word; write each "
			    "in a line of its own, and a comment above it",
			    where);
		check_value(key,
		    (struct setting){
			where, c->settings[i].value, PLACE_FILE });
		if (c->others && is_secret(c, i))
			die_usage("%s: the file has a password and is "
				  "readable by others; chmod 600 it",
			    where);
	}
}

void
settings_load(struct settings *s, settings_is_option *is_option)
{
	struct setting file = settings_above_file(s, SETTING_CONFIG);
	bool named = file.value != NULL;

	use_log(settings_above_file(s, SETTING_LOG));
	s->file.path = named ? file.value : CONFFILE_DEFAULT;
	conffile_load(&s->file, named ? file.name : NULL);
	check_lines(&s->file, is_option);
	use_log(settings_find(s, SETTING_LOG));
}

void
settings_read(struct settings *s, int nservers)
{
	s->ttl_ms = setting_duration(settings_find(s, SETTING_TTL), 60000,
	    TTL_LEAST_MS);
	s->max_ttl_ms =
	    setting_duration(settings_find(s, SETTING_MAX_TTL), 0, 0);
	if (s->max_ttl_ms < s->ttl_ms)
		s->max_ttl_ms = s->ttl_ms;
	s->kill_after_ms =
	    setting_duration(settings_find(s, SETTING_KILL_AFTER), 5000, 0);
	s->node_timeout_ms =
	    setting_duration(settings_find(s, SETTING_NODE_TIMEOUT),
		lease_node_timeout_ms(s->ttl_ms), 1);
	s->grace_ms = setting_duration(settings_find(s, SETTING_RESTART_GRACE),
	    nservers > 1 ? 60000 : 0, 0);
	s->latest = read_switch(settings_find(s, SETTING_LATEST));
	s->max_waiting =
	    read_max_waiting(settings_find(s, SETTING_MAX_WAITING));
	s->prefix = read_prefix(settings_find(s, SETTING_PREFIX));
}

void
settings_check_grace(const struct settings *s, const char *name, int64_t ms)
{
	char text[2][DURATION_TEXT];

	if (s->grace_ms > 0 && ms > s->grace_ms)
		die_usage("%s: %s exceeds the restart grace of %s (%s): "
			  "a server that restarts could forget the lock",
		    name, duration_format(ms, text[0]),
		    duration_format(s->grace_ms, text[1]),
		    settings_find(s, SETTING_RESTART_GRACE).name);
}

void
settings_forget_secrets(struct settings *s)
{
	static const enum setting_key secret[] = { SETTING_REDIS,
		SETTING_PASSWORD, SETTING_SENTINEL_PASSWORD };
	const char *value;

	for (size_t i = 0; i < sizeof(secret) / sizeof(secret[0]); i++)
		if ((value = settings_variable(secret[i])) != NULL)
			secret_adopt(value);
	for (int i = 0; i < s->file.n; i++)
		if (is_secret(&s->file, i))
			explicit_bzero(s->file.settings[i].value,
			    strlen(s->file.settings[i].value));
}

void
settings_release(struct settings *s)
{
	conffile_release(&s->file);
}
