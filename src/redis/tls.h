/*
 * TLS, in a module that is loaded for the first rediss:// URL, because loading
 * libssl takes half as long as the rest of a run.  Only link.c uses it.
 */
#ifndef TLS_H
#define TLS_H

#include <stdbool.h>

#define TLS_WHY 256

/* Files in PEM format; each may be NULL. */
struct tls_files {
	const char *ca;          /* authorities; NULL: the system's */
	const char *cert;        /* our certificate and its chain */
	const char *key;         /* its private key */
	const char *server_name; /* the expected name; NULL: the host */
};

struct tls;    /* shared by all connections */
struct ssl_st; /* one connection, by OpenSSL's name */
struct redisContext;

enum tls_trouble {
	TLS_FINE,   /* TLS did not fail */
	TLS_FAILED, /* no connection, or not to the expected server */
	TLS_REFUSED /* the server does not accept our certificate */
};

/* The module's exports, under the name "redlock_tls". */
struct tls_module {
	/* Reads the files.  Returns NULL and why on failure; is never freed. */
	struct tls *(*open)(const struct tls_files *, char why[TLS_WHY]);

	/*
	 * Begins TLS on a new connection to host, whose certificate must be for
	 * that name or address.  Returns NULL, *trouble and why on failure;
	 * otherwise hiredis owns the result.
	 */
	struct ssl_st *(*start)(struct tls *, struct redisContext *,
	    const char *host, enum tls_trouble *trouble, char why[TLS_WHY]);

	/* Whether the TLS handshake is done. */
	bool (*ready)(struct ssl_st *);

	/*
	 * Whether TLS ended the connection, and why.  The first result other
	 * than TLS_FINE stays.
	 */
	enum tls_trouble (*trouble)(struct ssl_st *, char why[TLS_WHY]);
};

/*
 * Loads the module and reads the files, which must stay in place.  Returns 0,
 * or -1 with why.  Call it once, before the first connection.
 */
int tls_load(const struct tls_files *, char why[TLS_WHY]);

/* Whether this program has TLS; if not, why has the reason. */
bool tls_available(char why[TLS_WHY]);

/* Return the loaded module; and its start(), with what connections share. */
const struct tls_module *tls_module(void);
struct ssl_st *tls_start(struct redisContext *, const char *host,
    enum tls_trouble *trouble, char why[TLS_WHY]);

#endif
