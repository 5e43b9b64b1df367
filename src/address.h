/* Where a server is, from the URL that a user wrote.  Pure: no look-ups. */
#ifndef ADDRESS_H
#define ADDRESS_H

#include <stddef.h>

#define ADDRESS_DEFAULT "redis://127.0.0.1:6379"
#define ADDRESS_HOST    256
#define ADDRESS_PATH    108 /* what fits in sockaddr_un */
#define ADDRESS_SECRET  512
#define ADDRESS_TEXT    640

struct address {
	char host[ADDRESS_HOST]; /* empty for a unix socket */
	char path[ADDRESS_PATH]; /* empty for TCP */
	int port;
	int db;
	char user[ADDRESS_SECRET];     /* empty: the default user */
	char password[ADDRESS_SECRET]; /* empty: none */
	char text[ADDRESS_TEXT];       /* as a URL, without the password */
};

/*
 * Reads redis://[user[:password]@]host[:port][/db], unix:///path[?db=N] or
 * host[:port]; user and password are percent-decoded, IPv6 addresses stand in
 * brackets.  Returns NULL, or what is wrong with it as the end of a sentence
 * ("has no host"); *a is then undefined.
 */
const char *address_parse(struct address *a, const char *url);

/* Copies url to dst with its password, if it may have one, as "***". */
char *address_mask(char *dst, size_t size, const char *url);

/* Overwrites the password in url itself, if it may have one. */
void address_wipe(char *url);

#endif
