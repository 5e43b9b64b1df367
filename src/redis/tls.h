/*
 * TLS, in a module of its own, which is loaded for the first rediss:// URL: to
 * load libssl takes half as long as the rest of a run.  link.c is its only
 * user.
 */
#ifndef TLS_H
#define TLS_H

#include <stdbool.h>

#define TLS_WHY 256

/* Files in PEM; each may be NULL. */
struct tls_files {
	const char *ca;          /* who signs servers; NULL: the system's */
	const char *cert;        /* ours, with its chain, */
	const char *key;         /* and its private key */
	const char *server_name; /* what the certificate names; else the host */
};

struct tls;    /* what all connections share */
struct ssl_st; /* one connection's, as OpenSSL names it */
struct redisContext;

enum tls_trouble {
	TLS_FINE,   /* it was not TLS */
	TLS_FAILED, /* no connection, or not to the server that was meant */
	TLS_REFUSED /* the server does not accept our certificate */
};

/* What the module exports under the name "redlock_tls". */
struct tls_module {
	/* Reads the files.  Returns NULL with why, for the process's life. */
	struct tls *(*open)(const struct tls_files *, char why[TLS_WHY]);

	/*
	 * Begins TLS on a connection that is being made to host, whose
	 * certificate has to be for that name or address.  Returns NULL with
	 * why, and what it was in *trouble; else hiredis owns what is returned.
	 */
	struct ssl_st *(*start)(struct tls *, struct redisContext *,
	    const char *host, enum tls_trouble *trouble, char why[TLS_WHY]);

	/* Whether the handshake is done. */
	bool (*ready)(struct ssl_st *);

	/*
	 * Whether TLS ended the connection, and why.  The first result that is
	 * not TLS_FINE stays.
	 */
	enum tls_trouble (*trouble)(struct ssl_st *, char why[TLS_WHY]);
};

/*
 * Loads the module and reads the files, which stay in place.  Returns 0, or -1
 * with why.  Once, before the first connection.
 */
int tls_load(const struct tls_files *, char why[TLS_WHY]);

/* Whether this program has TLS; if not, why. */
bool tls_available(char why[TLS_WHY]);

/* The loaded module, and its start() with what it shares. */
const struct tls_module *tls_module(void);
struct ssl_st *tls_start(struct redisContext *, const char *host,
    enum tls_trouble *trouble, char why[TLS_WHY]);

#endif
