/* What the error of a server means. */
#ifndef ERROR_H
#define ERROR_H

#include <stdbool.h>

enum reply_kind {
	REPLY_OK,     /* what the server said */
	REPLY_ERROR,  /* an error: LOADING, READONLY, OOM, ... */
	REPLY_DENIED, /* NOAUTH, WRONGPASS, NOPERM */
	REPLY_LOST    /* the connection was lost first */
};

/*
 * Which errors mean that we are refused, rather than that the server cannot.
 */
enum reply_kind error_kind(const char *text);

/*
 * The error with which a server answers AUTH, in our words: its own may quote
 * the password.
 */
const char *error_of_auth(const char *text);

/* Whether a server's error says that a permission is missing; for a command. */
bool error_denies(const char *error);
bool error_denies_command(const char *error);

#endif
