/*
 * Settings: options that may also be set in the environment or in the
 * configuration file.  Precedence: command line, environment, file.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "config/conffile.h"

enum setting_key {
	SETTING_PREFIX,
	SETTING_TTL,
	SETTING_MAX_TTL,
	SETTING_LATEST,
	SETTING_MAX_WAITING,
	SETTING_KILL_AFTER,
	SETTING_NODE_TIMEOUT,
	SETTING_RESTART_GRACE,
	SETTING_LOG,
	SETTING_PASSWORD_FILE,
	SETTING_TLS_CA,
	SETTING_TLS_CERT,
	SETTING_TLS_KEY,
	SETTING_TLS_SERVER_NAME,
	SETTING_CONFIG,
	SETTING_REDIS,             /* may be given several times */
	SETTING_PASSWORD,          /* never on the command line */
	SETTING_SENTINEL_PASSWORD, /* neither */
	SETTING_KEYS
};

enum setting_place { PLACE_COMMAND_LINE, PLACE_ENVIRONMENT, PLACE_FILE };

/* A value and its origin. */
struct setting {
	const char *name;  /* "--ttl", "REDLOCK_TTL", "/etc/x.conf:3: ttl" */
	const char *value; /* NULL: not given */
	enum setting_place place;
};

struct settings {
	struct setting given[SETTING_KEYS]; /* on the command line */
	struct conffile file;
	const char *prefix;
	int64_t ttl_ms;
	int64_t max_ttl_ms; /* the longest lease, at least ttl_ms */
	int64_t grace_ms;   /* restart grace; 0: none */
	int64_t node_timeout_ms;
	int64_t kill_after_ms;
	bool latest;     /* for runs with -w that hold the lock alone */
	int max_waiting; /* for runs with -w; 0: no limit */
};

/*
 * Takes the value of an option, which stays in place. --log takes effect at
 * once, so that it also applies to errors in later options.
 */
void settings_set(struct settings *, enum setting_key, const char *value);

/* Whether a word is the name of an option, without its "--". */
typedef bool settings_is_option(const char *word);

/*
 * Reads the configuration file and applies its log setting.  Exits for any
 * mistake in the file; a setting that is an option is reported as one.
 */
void settings_load(struct settings *, settings_is_option *);

/*
 * Fills in prefix and durations for this number of servers.  Exits for any
 * mistake in a value that is used.
 */
void settings_read(struct settings *, int nservers);

/*
 * Return the setting in force; only that of the file; or only that of command
 * line and environment.  If it is not given, its name is that of the option.
 */
struct setting settings_find(const struct settings *, enum setting_key);
struct setting settings_in_file(const struct settings *, enum setting_key);
struct setting settings_above_file(const struct settings *, enum setting_key);

/* Returns the value of the setting's variable, or NULL. */
const char *settings_variable(enum setting_key);

/*
 * Exits if ms, the value of the setting or option name, exceeds the restart
 * grace.  After the grace an empty server votes again, so everything that it
 * may have forgotten must be over by then.
 */
void
settings_check_grace(const struct settings *, const char *name, int64_t ms);

/*
 * Overwrites the passwords in the file's text, once they are in use, and has
 * those in the environment wiped where secret_wipe() is called.
 */
void settings_forget_secrets(struct settings *);

void settings_release(struct settings *);

/* Returns the name of a setting in the configuration file. */
const char *setting_word(enum setting_key);

/*
 * Returns the value in ms, or fallback_ms if there is none.  Exits if it is not
 * a duration or less than least_ms.
 */
int64_t setting_duration(struct setting, int64_t fallback_ms, int64_t least_ms);

#endif
