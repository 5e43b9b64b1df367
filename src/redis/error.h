/* What the error of a server means. */
#ifndef ERROR_H
#define ERROR_H

#include <stdbool.h>

enum answer_kind {
	ANSWER_REPLY,  /* what the server said */
	ANSWER_UNABLE, /* an error: LOADING, READONLY, OOM, ... */
	ANSWER_DENIED, /* NOAUTH, WRONGPASS, NOPERM */
	ANSWER_NONE    /* the connection was lost first */
};

/*
 * Which errors mean that we are refused, rather than that the server cannot.
 */
enum answer_kind error_kind(const char *text);

/*
 * The error with which a server answers AUTH, in our words: its own may quote
 * the password.
 */
const char *error_of_auth(const char *text);

/* Whether a server's error says that a permission is missing; for a command. */
bool error_denies(const char *error);
bool error_denies_command(const char *error);

#endif
