/* Decides which server gets which password: a password belongs to hosts. */
#ifndef CREDENTIALS_H
#define CREDENTIALS_H

#include "config/servers.h"
#include "config/settings.h"

/*
 * Gives each server its password, by redlock-run.conf(5); one that gets none
 * gets the reason.  Exits for any mistake in a password or its file.
 */
void credentials_fill(struct servers *, const struct settings *);

/*
 * Finds the passwords for URLs without one: a password file, one password, or
 * both, if the lines of the configuration file's password file come before
 * REDISCLI_AUTH.  Exits if the configuration file has both.
 */
void credentials_find(const struct settings *, struct setting *file,
    struct setting *word);

#endif
