/* Servers and their versions use different texts for the same error. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "redis/error.h"

static const char required[] = "the server requires a password";

/*
 * Redis 6 wraps an error inside a script in text of its own; later versions
 * drop its code.
 */
bool
error_denies(const char *error)
{
	return strstr(error, "NOPERM") != NULL ||
	    strstr(error, "ACL failure in script") != NULL ||
	    strstr(error, "The user executing the script") != NULL;
}

bool
error_denies_command(const char *error)
{
	return error_denies(error) &&
	    (strstr(error, "' command") != NULL ||
		strstr(error, "can't run this command") != NULL);
}

/* The second text is for a request of more than ten words. */
static bool
wants_password(const char *error)
{
	return strncmp(error, "NOAUTH", 6) == 0 ||
	    strncmp(error, "ERR Protocol error: unauthenticated", 35) == 0;
}

const char *
error_text(const char *text)
{
	return wants_password(text) ? required : text;
}

bool
error_requires_password(const char *error)
{
	return strcmp(error, required) == 0;
}

void
error_trim(char *text)
{
	char *end = strstr(text, ", on @user_script"), *tail = NULL, *next;

	/* "ACL failure in script: " may stand in front. */
	for (next = text; end != NULL; tail = next++)
		if ((next = strstr(next, " script: ")) == NULL || next > end)
			break;
	if (tail != NULL)
		*tail = '\0';
}

char *
error_copy(char *buf, size_t size, const char *text)
{
	const size_t room = size - sizeof("...");
	size_t len = room;

	if (strlen(text) < size) {
		snprintf(buf, size, "%s", text);
		return buf;
	}
	while (len > 0 && text[len] != ' ')
		len--;
	snprintf(buf, size, "%.*s...", (int)(len > 0 ? len : room), text);
	return buf;
}

enum reply_kind
error_kind(const char *text)
{
	static const char *const denials[] = {
		"WRONGPASS",
		"ERR invalid password",
		"ERR AUTH",
		"ERR Client sent AUTH",
		"ERR wrong number of arguments for 'auth'",
	};

	for (size_t i = 0; i < sizeof(denials) / sizeof(denials[0]); i++)
		if (strncmp(text, denials[i], strlen(denials[i])) == 0)
			return REPLY_DENIED;
	return wants_password(text) || error_denies(text) ? REPLY_DENIED :
							    REPLY_ERROR;
}

const char *
error_of_auth(const char *text)
{
	/* How the server's text begins, and the whole text of Redis. */
	static const struct {
		const char *begin;
		const char *whole;
	} known[] = {
		{ "WRONGPASS", "WRONGPASS invalid username-password pair" },
		{ "ERR invalid password", "ERR invalid password" },
		{ "ERR AUTH",
		    "ERR AUTH called without any password configured" },
		{ "ERR Client sent AUTH",
		    "ERR AUTH sent without any password set" },
		{ "ERR wrong number of arguments",
		    "ERR wrong number of arguments for 'auth': the server "
		    "does not support users" },
		{ "ERR unknown command", "the server does not know AUTH" },
		{ "ERR max number of clients",
		    "ERR max number of clients reached" },
		{ "LOADING", "the server is still loading its data" },
		{ "NOPERM", "NOPERM to use the 'auth' command" },
		{ "NOAUTH", required },
		{ "DENIED", "the server is in protected mode" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(text, known[i].begin, strlen(known[i].begin)) == 0)
			return known[i].whole;
	return "AUTH failed; the error is not shown because it may quote "
	       "the password";
}

bool
error_forgot_script(const char *error)
{
	return strncmp(error, "NOSCRIPT", 8) == 0;
}

/* Returns where the error's code is: Redis 6 wraps one inside a script. */
static const char *
code_of(const char *error)
{
	const char *script = strstr(error, "@user_script"), *code;

	code = script != NULL ? strstr(script, ": -") : NULL;
	return code != NULL ? code + 3 : error;
}

/*
 * Redis looks at its state before each command, in a script only until its first
 * write.
 */
bool
error_may_pass(const char *error)
{
	static const char *const codes[] = { "BUSY ", "MISCONF ", "NOREPLICAS ",
		"READONLY ", "LOADING ", "MASTERDOWN ", "OOM ",
		"CLUSTERDOWN " };
	const char *code = code_of(error);

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strncmp(code, codes[i], strlen(codes[i])) == 0)
			return true;
	return false;
}

bool
error_is_of_replica(const char *error)
{
	return strncmp(code_of(error), "READONLY ", 9) == 0;
}

/* Redis quotes the command in one of two ways. */
bool
error_lacks_eval(const char *error)
{
	return strncmp(error, "ERR unknown command 'EVAL'", 26) == 0 ||
	    strncmp(error, "ERR unknown command `EVAL`", 26) == 0;
}

bool
error_wants_eval(const struct reply *r)
{
	if (r->kind == REPLY_DENIED)
		return strstr(r->text, "'evalsha'") != NULL;
	return r->kind == REPLY_ERROR &&
	    (error_forgot_script(r->text) ||
		(strncmp(r->text, "ERR unknown command", 19) == 0 &&
		    strstr(r->text, "EVALSHA") != NULL));
}
