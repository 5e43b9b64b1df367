/*
 * TLS, in a module that is loaded for the first rediss:// URL, because loading
 * libssl takes half as long as the rest of a run.  Only link.c uses it.
 */
#ifndef TLS_H
#define TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TLS_WHY 256

/* Files in PEM format; each may be NULL. */
struct tls_files {
	const char
	    *ca; /* authorities; NULL: the environment's or the system's */
	const char *default_ca;   /* SSL_CERT_FILE */
	const char *default_dirs; /* SSL_CERT_DIR: directories and ':' */
	const char *cert;         /* our certificate and its chain */
	const char *key;          /* its private key */
	const char *server_name;  /* the expected name; NULL: the host */
};

struct tls;    /* shared by all connections */
struct ssl_st; /* one connection, by OpenSSL's name */

enum tls_trouble {
	TLS_FINE,   /* TLS did not fail */
	TLS_FAILED, /* no connection, or not to the expected server */
	TLS_REFUSED /* the server does not accept our certificate */
};

/*
 * The module's exports, under the name "redlock_tls".  It has no socket: the
 * caller moves the encrypted bytes.
 */
struct tls_module {
	/* Reads the files.  Returns NULL and why on failure; is never freed. */
	struct tls *(*open)(const struct tls_files *, char why[TLS_WHY]);

	/*
	 * Begins TLS with host, whose certificate must be for that name or
	 * address.  Returns NULL and why on failure. end() frees the result.
	 */
	struct ssl_st *(*start)(struct tls *, const char *host,
	    char why[TLS_WHY]);
	void (*end)(struct ssl_st *);

	/* Whether the TLS handshake is done. */
	bool (*ready)(struct ssl_st *);

	/* Takes encrypted bytes.  Returns false if memory is short. */
	bool (*feed)(struct ssl_st *, const char *bytes, size_t n);

	/*
	 * Decrypts up to size bytes, or continues the handshake.  Returns how
	 * many; 0 if it needs more to be fed; or -1 if TLS has ended.
	 */
	ssize_t (*read)(struct ssl_st *, char *buf, size_t size);

	/*
	 * Encrypts all n bytes, which may be none, or continues the handshake.
	 * Returns 1; 0 if it needs more to be fed first, so that the caller
	 * has to write the same bytes again; or -1 if TLS has ended.
	 */
	int (*write)(struct ssl_st *, const char *bytes, size_t n);

	/* Moves up to size encrypted bytes to buf; returns how many. */
	size_t (*take)(struct ssl_st *, char *buf, size_t size);

	/*
	 * Whether TLS ended the connection, and why: the first error counts.
	 */
	enum tls_trouble (*trouble)(struct ssl_st *, char why[TLS_WHY]);

	/* Returns the name, version and date of OpenSSL. */
	const char *(*version)(void);
};

/*
 * Loads the module and reads the files, which must stay in place.  Returns 0,
 * or -1 with why.  Call it once, before the first connection.
 */
int tls_load(const struct tls_files *, char why[TLS_WHY]);

/* Loads the module.  Returns OpenSSL's version, or NULL with why. */
const char *tls_version(char why[TLS_WHY]);

/* Return the loaded module; and its start(), with what connections share. */
const struct tls_module *tls_module(void);
struct ssl_st *tls_start(const char *host, char why[TLS_WHY]);

#endif
