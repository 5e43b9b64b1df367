/* Classifies the errors of servers, and makes their texts fit to be shown. */
#ifndef ERROR_H
#define ERROR_H

#include <stdbool.h>
#include <stddef.h>

#include "redis/reply.h"

/* Returns REPLY_DENIED if the server denies us access, else REPLY_ERROR. */
enum reply_kind error_kind(const char *text);

/*
 * Returns the error as users should read it.  Redis's own text for a missing
 * password depends on the length of the request.
 */
const char *error_text(const char *text);

/*
 * Cuts off the end of text where Redis names the line of the script, which
 * tells users nothing.
 */
void error_trim(char *text);

/*
 * Copies text to buf of size bytes, at least 8.  A text that does not fit ends
 * behind a word, with "...".  Returns buf.
 */
char *error_copy(char *buf, size_t size, const char *text);

/*
 * Returns our own text for an error in reply to AUTH, since the server's may
 * quote the password.
 */
const char *error_of_auth(const char *text);

/* Whether it is our own text for a server that requires a password. */
bool error_requires_password(const char *error);

/* Whether a permission is missing; whether it is one for a command. */
bool error_denies(const char *error);
bool error_denies_command(const char *error);

/*
 * error_wants_eval(): whether the reply is an error that rules out EVALSHA.
 * Nothing was executed, and the next conn_eval() sends EVAL.
 * error_forgot_script(): whether the reason is that the server does not have
 * the script.
 */
bool error_wants_eval(const struct reply *);
bool error_forgot_script(const char *error);

/*
 * Whether the server refused a request in its present state, which may change,
 * and executed nothing of it.  error_is_of_replica(): whether it did so because
 * it is no master, which a new connection may lead to.
 */
bool error_may_pass(const char *error);
bool error_is_of_replica(const char *error);

/* Whether the server does not know EVAL, so that it runs no scripts at all. */
bool error_lacks_eval(const char *error);

#endif
