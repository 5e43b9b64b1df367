/* What to do about an error. */
#ifndef ADVICE_H
#define ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#define ADVICE_PASSWORD 512
#define ADVICE_OPTION   512

/*
 * Writes what to do about a server's error that has to do with the password, as
 * the end of a sentence; nothing for another error.  config_path is where a
 * password could stand.  Returns buf.
 */
char *advice_password(
    char buf[ADVICE_PASSWORD], const char *config_path, const char *error);

/*
 * Writes which options the first len bytes of an unknown word may mean, as in
 * " (did you mean --ttl?)", or nothing.  *ambiguous is set if they abbreviate
 * several.  Returns buf.
 */
char *advice_option(
    char buf[ADVICE_OPTION], const char *word, size_t len, bool *ambiguous);

#endif
