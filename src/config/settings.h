/*
 * The settings of a site: its servers and what belongs to them.  Only these
 * also come from the environment and the configuration file.
 */
#ifndef SITE_H
#define SITE_H

#include <stdint.h>

#include "config/options.h"

enum site_key {
	SITE_PREFIX,
	SITE_TTL,
	SITE_KILL_AFTER,
	SITE_NODE_TIMEOUT,
	SITE_RESTART_GRACE,
	SITE_LOG,
	SITE_PASSWORD_FILE,
	SITE_TLS_CA,
	SITE_TLS_CERT,
	SITE_TLS_KEY,
	SITE_TLS_SERVER_NAME,
	SITE_CONFIG,
	SITE_REDIS,    /* may be there several times, */
	SITE_PASSWORD, /* and not on the command line */
	SITE_KEYS
};

/* A value and where it came from, for messages. */
struct setting {
	const char *name;  /* "--ttl", "REDLOCK_TTL", "/etc/x.conf:3: ttl" */
	const char *value; /* NULL: not given */
};

/* What the command line says; its servers are in struct options already. */
struct site {
	struct setting given[SITE_KEYS];
};

/*
 * The value of an option, which stays.  With --log it has an effect at once,
 * so that a mistake in what follows is heard where somebody listens.
 */
void site_set(struct site *, enum site_key, const char *value);

/*
 * One server more.  name is where it was found.  Exits for a usage error.
 */
void site_add_server(struct options *, const char *name, const char *url);

/*
 * Fills in what the command line leaves open, from the environment, then from
 * the configuration file, else with defaults: the servers and their
 * passwords, prefix, durations, and where messages go.  Exits for any mistake
 * in a value that is used.
 */
void site_read(struct options *, const struct site *);

/*
 * Exits if ms, the value of the setting name, is more than the restart grace.
 * A server that restarts empty votes again after the grace; by then whatever it
 * could have forgotten must be over.
 */
void site_check_grace(
    const struct options *, const struct site *, const char *name, int64_t ms);

/* Frees what the others allocated. */
void site_release(struct options *);

/* The value in ms, or fallback_ms; exits if it is none, or below least_ms. */
int64_t setting_duration(struct setting, int64_t fallback_ms, int64_t least_ms);

#endif
