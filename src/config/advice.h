/* What to do about an error of a server. */
#ifndef ADVICE_H
#define ADVICE_H

#define ADVICE_PASSWORD 512

/*
 * Writes what to do about a server's error that has to do with the password, as
 * the end of a sentence; nothing for another error.  config_path is where a
 * password could stand.  Returns buf.
 */
char *advice_password(
    char buf[ADVICE_PASSWORD], const char *config_path, const char *error);

#endif
