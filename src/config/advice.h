/* Advice about errors. */
#ifndef ADVICE_H
#define ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#define ADVICE_PASSWORD 512
#define ADVICE_OPTION   512

/*
 * Writes what the user can do about a server's error, if it concerns the
 * password, as the end of a sentence; otherwise "". config_path is a file that
 * could contain the password.  Returns buf.
 */
char *advice_password(char buf[ADVICE_PASSWORD], const char *config_path,
    const char *error);

/*
 * Writes the options that the first len bytes of an unknown word may mean, such
 * as " (did you mean --ttl?)", or "".  Sets *ambiguous if they abbreviate
 * several.  Returns buf.
 */
char *advice_option(char buf[ADVICE_OPTION], const char *word, size_t len,
    bool *ambiguous);

#endif
