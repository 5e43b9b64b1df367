/* What the error of a server means, and what may be shown of it. */
#ifndef ERROR_H
#define ERROR_H

#include <stdbool.h>

#include "redis/reply.h"

/* REPLY_DENIED if the server refuses us, REPLY_ERROR if it is unable. */
enum reply_kind error_kind(const char *text);

/*
 * The error as people may read it: Redis's text for a missing password depends
 * on the length of the request.
 */
const char *error_text(const char *text);

/*
 * The error with which a server replies to AUTH, in our words: its own may
 * quote the password.
 */
const char *error_of_auth(const char *text);

/* Whether a permission is missing; for a command. */
bool error_denies(const char *error);
bool error_denies_command(const char *error);

/*
 * Whether the reply is an error that rules out EVALSHA, so that nothing was
 * executed; error_forgot_script() if the server just does not have the script.
 * The next conn_eval() sends EVAL.
 */
bool error_wants_eval(const struct reply *);
bool error_forgot_script(const char *error);

#endif
