/* Parses the URL of a server.  Pure: resolves no names. */
#ifndef ADDRESS_H
#define ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

struct passwords;

#define ADDRESS_DEFAULT "redis://127.0.0.1:6379"
#define ADDRESS_HOST    256
#define ADDRESS_PATH    108 /* the limit of sockaddr_un */
#define ADDRESS_SECRET  512
#define ADDRESS_MASTER  128
#define ADDRESS_HOSTS   16 /* in one URL, at most */
#define ADDRESS_TEXT    1024

/* A name or an address without brackets, and a port. */
struct endpoint {
	char host[ADDRESS_HOST];
	int port;
};

/* What runs at the hosts of a URL. */
enum address_kind {
	ADDRESS_SERVER,   /* the server */
	ADDRESS_SENTINEL, /* Sentinels, which name the master */
	ADDRESS_CLUSTER   /* some nodes of a Redis Cluster */
};

struct address {
	enum address_kind kind;
	bool tls;
	struct endpoint at[ADDRESS_HOSTS];
	int nat;                     /* 0 for a unix socket */
	char path[ADDRESS_PATH];     /* empty for TCP */
	char master[ADDRESS_MASTER]; /* its name in the Sentinels */
	int db;
	char user[ADDRESS_SECRET]; /* empty: the default user */
	bool user_alone;           /* the URL has no ':' after user */
	const char *password;      /* in secret.h; NULL: none */
	char text[ADDRESS_TEXT];   /* as a URL, without any secret */

	/* What address_parse() leaves empty. */
	const struct passwords *lines; /* of other hosts that the URL leads to;
					  NULL: none */
	const char *sentinel_password; /* in secret.h; NULL: none */
	const char *withheld; /* why there is no password though one is set, as
				 the end of a sentence; or NULL */
	const char *sentinel_withheld; /* the same of the Sentinels */
};

/*
 * Reads
 *
 *	redis://[user[:password]@]host[:port][/db]
 *	redis+sentinel://[user[:password]@]host[:port][,...]/master[/db]
 *	redis+cluster://[user[:password]@]host[:port][,...]
 *	unix:///path[?db=N]
 *	/path[?db=N]
 *	host[:port]
 *
 * The first three may begin with rediss, for TLS.  User, password and master
 * are percent-decoded; IPv6 addresses stand in brackets.  Returns NULL, or the
 * mistake as the end of a sentence ("has no host"); *a is then undefined, but
 * for its password.
 */
const char *address_parse(struct address *a, const char *url);

/*
 * Reads HOST[:PORT]; without a port it is 0.  A word with a '/' in front, which
 * is percent-decoded, becomes the host as it is.  Returns NULL, or the mistake.
 */
const char *address_endpoint(struct endpoint *, const char *word);

/* Returns the port number in text, 1 to 65535, or -1 if it is none. */
int address_port(const char *text);

/* Returns the user's name on the server: "default" if the URL has none. */
const char *address_user(const struct address *);

/* Whether both lead to the same servers; ignores user and database. */
bool address_same(const struct address *, const struct address *);

/*
 * Copies a word that may be a URL to dst.  A password becomes "***", and so
 * does a user that stands alone (redis://user@host), because redis-cli takes it
 * for a password.  In a URL of ours that is malformed, this is everything from
 * a ':' that no port follows, and every value behind a '?'.
 */
char *address_mask(char *dst, size_t size, const char *word);

/* The same for a word that must be a server, also without a scheme. */
char *address_mask_server(char *dst, size_t size, const char *word);

/*
 * Whether the word is a URL with a password; or, if it must be a server, has one
 * in whatever form.  A user that stands alone does not count.
 */
bool address_has_password(const char *word, bool server);

/* Overwrites the password inside url, if there is one. */
void address_wipe(char *url);

/* Removes the password from the URL.  Returns false if there is none. */
bool address_cut(char *url);

#endif
