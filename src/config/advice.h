/* What to do about an error of a server. */
#ifndef ADVICE_H
#define ADVICE_H

#define ADVICE_PASSWORD 512

struct options;

/*
 * Writes what to do about a server's error that has to do with the password, as
 * the end of a sentence; nothing for another error.  Returns buf.
 */
char *advice_password(
    char buf[ADVICE_PASSWORD], const struct options *, const char *error);

#endif
