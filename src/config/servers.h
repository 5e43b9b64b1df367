/* The servers. */
#ifndef SERVERS_H
#define SERVERS_H

#include <stdbool.h>

#include "base/log.h"
#include "config/settings.h"
#include "protocol/quorum.h"
#include "redis/address.h"
#include "redis/passwords.h"

#define SERVERS_SITE 17
#define SERVERS_HINT 192

struct servers {
	struct address *address;
	const char *origin[LOCK_SERVERS]; /* where each was named */
	bool own_password[LOCK_SERVERS];  /* its URL has one */
	int n;
	enum setting_place place;      /* where all of them were named */
	struct passwords passwords;    /* the lines of the password file */
	char *notes[2 * LOCK_SERVERS]; /* by servers_note() */
	int nnotes;
	bool is_default;         /* no server was named, */
	char hint[SERVERS_HINT]; /* so errors end with this hint; else empty */
};

/* Adds a server that was named in origin.  Exits for a usage error. */
void servers_add(struct servers *, const char *origin, const char *url);

/*
 * Fills in what the command line leaves open, from the environment, the
 * configuration file or the defaults: servers and TLS.  Exits for any mistake
 * in a value that is used.
 */
void servers_read(struct servers *, const struct settings *);

/* Formats a text that lives as long as the servers; at most two for each. */
const char *servers_note(struct servers *, const char *, ...) PRINTF_LIKE(2, 3);

/*
 * Writes a fingerprint of servers and prefix, in hexadecimal.  The order of the
 * servers makes no difference.
 */
void servers_fingerprint(const struct servers *, const char *prefix,
    char site[SERVERS_SITE]);

void servers_release(struct servers *);

#endif
