/* What to do about an error. */
#ifndef ADVICE_H
#define ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#define ADVICE_PASSWORD 512
#define ADVICE_OPTION   512

/*
 * Writes what to do about an error of a server that concerns the password, as
 * the end of a sentence, or nothing. config_path is where a password could
 * stand.  Returns buf.
 */
char *advice_password(
    char buf[ADVICE_PASSWORD], const char *config_path, const char *error);

/*
 * Writes the options that the first len bytes of an unknown word may mean, as
 * in " (did you mean --ttl?)", or nothing.  Sets *ambiguous if they abbreviate
 * several.  Returns buf.
 */
char *advice_option(
    char buf[ADVICE_OPTION], const char *word, size_t len, bool *ambiguous);

#endif
