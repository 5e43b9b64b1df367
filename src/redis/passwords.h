/*
 * A password file: one password, or the passwords of hosts, as "HOST[:PORT]
 * PASSWORD" one a line.  Pure: reads no file.
 */
#ifndef PASSWORDS_H
#define PASSWORDS_H

#include <stddef.h>

struct password {
	char *host; /* without brackets; or the path of a socket, or /MASTER */
	int port;   /* 0: every port of the host */
	const char *word; /* in secret.h */
	int line;
};

struct passwords {
	const char *single; /* the only password; NULL: the file has lines */
	struct password *of;
	int n;
	int line; /* the last line read; after a mistake, its line */
};

/*
 * Cuts the len bytes of text, followed by a NUL, into passwords.  Returns NULL,
 * or what is wrong with p->line as the end of a sentence.  The first mistake
 * ends it.  passwords_release() frees *p in both cases; the passwords
 * themselves belong to secret.h.
 */
const char *passwords_parse(struct passwords *p, char *text, size_t len);

/*
 * Returns the password of the line for this host and port, else that of the
 * line for this host alone, or NULL.
 */
const char *
passwords_find(const struct passwords *, const char *host, int port);

void passwords_release(struct passwords *);

#endif
