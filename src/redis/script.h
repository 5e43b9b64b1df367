/*
 * The form in which a script is sent on a connection: its digest, or its text where
 * the server lacks it or denies EVALSHA.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stdbool.h>

/* A script and its SHA-1 in hexadecimal, which EVALSHA sends instead. */
struct script {
	const char *text;
	const char *sha1;
};

/* All zeros before the first connection. */
struct script_form {
	bool forgotten;  /* the next script is sent as text */
	bool no_evalsha; /* the server denies EVALSHA, so all are */
	bool text_first; /* the owner wants a script's text sent once on each
			    connection, without waiting for NOSCRIPT */
	const struct script *sent; /* then: the last whose text was sent */
};

/* Another connection begins. */
void script_begin(struct script_form *);

/* Writes EVALSHA and the digest, or EVAL and the text. */
void script_words(const struct script_form *, const struct script *,
    const char *words[2]);

/* The script was sent in that form. */
void script_sent(struct script_form *, const struct script *);

/* The server replied so to a script, and error_wants_eval() holds. */
void script_refused(struct script_form *, const char *error);

#endif
