/*
 * The TLS module: OpenSSL between two buffers in memory.  Every server has to
 * prove that it is the one in the URL.
 *
 * OpenSSL's queue of errors belongs to the thread, so each operation clears it
 * first, and an error is kept with its connection at once.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <limits.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "redis/tls.h"

struct tls {
	SSL_CTX *ctx;
	const char *server_name;
};

extern const struct tls_module redlock_tls;

/* Writes the last error of OpenSSL in words. */
static void
openssl_why(char why[TLS_WHY], const char *what, const char *file)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);

	if (ERR_GET_REASON(code) == ERR_R_PEM_LIB)
		reason = "it has nothing in PEM format";
	snprintf(why, TLS_WHY, "%s '%s' cannot be used: %s", what, file,
	    reason != NULL ? reason : "unknown error");
	ERR_clear_error();
}

/*
 * Refuses a passphrase.  OpenSSL would prompt on the terminal, or read the
 * input of COMMAND.
 */
static int
no_passphrase_cb(char *buf, int size, int writes, void *wanted)
{
	(void)buf, (void)size, (void)writes;
	*(bool *)wanted = true;
	return -1;
}

static bool
use_key(SSL_CTX *ctx, const char *file, char why[TLS_WHY])
{
	bool wanted = false, used;

	SSL_CTX_set_default_passwd_cb(ctx, no_passphrase_cb);
	SSL_CTX_set_default_passwd_cb_userdata(ctx, &wanted);
	used = SSL_CTX_use_PrivateKey_file(ctx, file, SSL_FILETYPE_PEM) == 1;
	SSL_CTX_set_default_passwd_cb_userdata(ctx, NULL);
	if (!used && wanted)
		snprintf(why, TLS_WHY,
		    "the private key '%s' cannot be used: it has a "
		    "passphrase; use a key without one",
		    file);
	else if (!used)
		openssl_why(why, "the private key", file);
	ERR_clear_error();
	return used;
}

static bool
use_ca(SSL_CTX *ctx, const char *file, char why[TLS_WHY])
{
	if (SSL_CTX_load_verify_locations(ctx, file, NULL) == 1)
		return true;
	openssl_why(why, "the CA file", file);
	return false;
}

/* Whether OpenSSL can find certificates in path, by the hashes of their names. */
static bool
has_hashes(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool found = false;

	while (!found && dir != NULL && (entry = readdir(dir)) != NULL)
		found = strspn(entry->d_name, "0123456789abcdef") == 8 &&
		    entry->d_name[8] == '.';
	if (dir != NULL)
		closedir(dir);
	return found;
}

/*
 * Trusts the authorities of the environment.  Without one of its variables, the
 * default of OpenSSL's build takes its place, as with OpenSSL itself.
 */
static bool
use_environment(SSL_CTX *ctx, const struct tls_files *f, char why[TLS_WHY])
{
	const char *dirs = f->default_dirs != NULL ?
	    f->default_dirs :
	    X509_get_default_cert_dir();

	if (f->default_ca == NULL)
		SSL_CTX_set_default_verify_file(ctx);
	else if (!use_ca(ctx, f->default_ca, why))
		return false;
	if (SSL_CTX_load_verify_locations(ctx, NULL, dirs) == 1)
		return true;
	openssl_why(why, "the CA directory", dirs);
	return false;
}

/*
 * Trusts the system's authorities.  OpenSSL looks for them where its build puts
 * them, which in the static file is Debian's place for a directory of them.
 */
static bool
use_system(SSL_CTX *ctx, char why[TLS_WHY])
{
	static const char *const bundles[] = {
		"/etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine */
		"/etc/pki/tls/certs/ca-bundle.crt",   /* RHEL until 9 */
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* RHEL */
		"/etc/ssl/ca-bundle.pem",                            /* SUSE */
	};

	if (SSL_CTX_set_default_verify_paths(ctx) == 1 &&
	    (access(X509_get_default_cert_file(), R_OK) == 0 ||
		has_hashes(X509_get_default_cert_dir())))
		return true;
	for (size_t i = 0; i < sizeof(bundles) / sizeof(bundles[0]); i++)
		if (access(bundles[i], R_OK) == 0)
			return use_ca(ctx, bundles[i], why);
	snprintf(why, TLS_WHY,
	    "this system has no certificates of authorities; install its "
	    "package ca-certificates, or name a file with --tls-ca");
	return false;
}

static bool
use_authorities(SSL_CTX *ctx, const struct tls_files *f, char why[TLS_WHY])
{
	if (f->ca != NULL)
		return use_ca(ctx, f->ca, why);
	if (f->default_ca != NULL || f->default_dirs != NULL)
		return use_environment(ctx, f, why);
	return use_system(ctx, why);
}

static bool
use_files(SSL_CTX *ctx, const struct tls_files *f, char why[TLS_WHY])
{
	if (!use_authorities(ctx, f, why))
		return false;
	if ((f->cert == NULL) != (f->key == NULL)) {
		snprintf(why, TLS_WHY,
		    "--tls-cert and --tls-key must be set together");
		return false;
	}
	if (f->cert == NULL)
		return true;
	if (SSL_CTX_use_certificate_chain_file(ctx, f->cert) != 1) {
		openssl_why(why, "the certificate", f->cert);
		return false;
	}
	return use_key(ctx, f->key, why);
}

/*
 * Sets the name or address that the certificate must have as a subject
 * alternative name (RFC 6125); the common name does not count.  A leading dot
 * is refused, because OpenSSL takes it for a wildcard.
 */
static bool
expect_name(SSL *ssl, const char *name)
{
	unsigned char buf[sizeof(struct in6_addr)];

	if (name[0] == '\0' || name[0] == '.')
		return false;
	if (inet_pton(AF_INET, name, buf) == 1 ||
	    inet_pton(AF_INET6, name, buf) == 1)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl),
			   name) == 1;
	SSL_set_hostflags(ssl,
	    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
		X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	/* As SSL_set_tlsext_host_name(), which casts const away. */
	return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
		   TLSEXT_NAMETYPE_host_name, (void *)(uintptr_t)name) == 1 &&
	    SSL_set1_host(ssl, name) == 1;
}

/* Whether a certificate can be for that name. */
static bool
usable_name(SSL_CTX *ctx, const char *name, char why[TLS_WHY])
{
	SSL *ssl = SSL_new(ctx);
	bool usable = ssl != NULL && expect_name(ssl, name);

	if (!usable)
		snprintf(why, TLS_WHY,
		    "--tls-server-name: '%s' is not a name that a "
		    "certificate can have",
		    name);
	SSL_free(ssl);
	return usable;
}

/*
 * Reads the system's openssl.cnf, which may have a site's policy, but none that
 * OPENSSL_CONF names.  The static file reads neither: its OpenSSL is built
 * without.
 */
static void
read_policy(void)
{
#ifndef OPENSSL_NO_AUTOLOAD_CONFIG
	OPENSSL_INIT_SETTINGS *settings = OPENSSL_INIT_new();
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/openssl.cnf",
	    X509_get_default_cert_area());
	if (settings != NULL)
		OPENSSL_INIT_set_config_filename(settings, path);
	OPENSSL_init_ssl(settings != NULL ? OPENSSL_INIT_LOAD_CONFIG :
					    OPENSSL_INIT_NO_LOAD_CONFIG,
	    settings);
	OPENSSL_INIT_free(settings);
	ERR_clear_error();
#endif
}

static struct tls *
tls_open(const struct tls_files *f, char why[TLS_WHY])
{
	struct tls *tls = calloc(1, sizeof(*tls));

	read_policy();
	if (tls == NULL ||
	    (tls->ctx = SSL_CTX_new(TLS_client_method())) == NULL) {
		snprintf(why, TLS_WHY, "cannot initialize OpenSSL");
		free(tls);
		return NULL;
	}
	tls->server_name = f->server_name;
	SSL_CTX_set_min_proto_version(tls->ctx, TLS1_2_VERSION);
	SSL_CTX_set_options(tls->ctx, SSL_OP_NO_RENEGOTIATION);
	/* More requests may join those that wait for the handshake. */
	SSL_CTX_set_mode(tls->ctx, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_verify(tls->ctx, SSL_VERIFY_PEER, NULL);
	if (!use_files(tls->ctx, f, why) ||
	    (f->server_name != NULL &&
		!usable_name(tls->ctx, f->server_name, why))) {
		SSL_CTX_free(tls->ctx);
		free(tls);
		return NULL;
	}
	return tls;
}

static bool
tls_ready(struct ssl_st *ssl)
{
	return SSL_is_init_finished(ssl) == 1;
}

/*
 * Whether the server's alert refuses our certificate, or the lack of one.  A
 * handshake that fails before the server has sent its own certificate has
 * another cause, such as no common cipher.
 */
static bool
refused(const SSL *ssl, unsigned long code)
{
	switch (ERR_GET_REASON(code)) {
	case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
	case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
		return true;
	case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
		return SSL_get_peer_cert_chain(ssl) != NULL;
	}
	return false;
}

/* Keeps the first error of TLS itself. */
static void
note_error(SSL *ssl)
{
	unsigned long code = ERR_get_error();

	/* OpenSSL 3.2 adds "record layer failure" behind the reason. */
	while (code != 0 && ERR_GET_LIB(code) != ERR_LIB_SSL)
		code = ERR_get_error();
	if (SSL_get_app_data(ssl) == NULL)
		SSL_set_app_data(ssl, (void *)(uintptr_t)code);
	ERR_clear_error();
}

/* Returns 0 if an operation needs more to be fed, or -1 if TLS has ended. */
static int
unfinished(SSL *ssl, int result)
{
	if (SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ)
		return 0;
	note_error(ssl);
	return -1;
}

static bool
tls_feed(struct ssl_st *ssl, const char *bytes, size_t n)
{
	return BIO_write(SSL_get_rbio(ssl), bytes, (int)n) == (int)n;
}

static ssize_t
tls_read(struct ssl_st *ssl, char *buf, size_t size)
{
	int n;

	ERR_clear_error();
	n = SSL_read(ssl, buf, (int)size);
	return n > 0 ? n : unfinished(ssl, n);
}

/* A buffer in memory takes all, so SSL_write() never takes a part. */
static int
tls_write(struct ssl_st *ssl, const char *bytes, size_t n)
{
	int result;

	ERR_clear_error();
	result = SSL_do_handshake(ssl);
	if (result == 1 && n > 0)
		result = SSL_write(ssl, bytes, (int)n);
	return result > 0 ? 1 : unfinished(ssl, result);
}

static size_t
tls_take(struct ssl_st *ssl, char *buf, size_t size)
{
	int n = BIO_read(SSL_get_wbio(ssl), buf, (int)size);

	return n > 0 ? (size_t)n : 0;
}

/* Returns what the user can do about the error. */
static const char *
advice(int reason)
{
	switch (reason) {
	case SSL_R_WRONG_VERSION_NUMBER:
		return " (does this port speak TLS?)";
	case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
		return " (is there a cipher that both sides support?)";
	}
	return "";
}

static enum tls_trouble
tls_trouble(struct ssl_st *ssl, char why[TLS_WHY])
{
	long result = SSL_get_verify_result(ssl);
	unsigned long code = (uintptr_t)SSL_get_app_data(ssl);
	const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);

	if (result != X509_V_OK) {
		snprintf(why, TLS_WHY,
		    "the server's certificate is not "
		    "valid: %s",
		    X509_verify_cert_error_string(result));
		return TLS_FAILED;
	}
	if (code == 0)
		return TLS_FINE;
	if (refused(ssl, code)) {
		snprintf(why, TLS_WHY,
		    "the server rejects our certificate, or requires one "
		    "(--tls-cert): %s",
		    reason != NULL ? reason : "refused");
		return TLS_REFUSED;
	}
	snprintf(why, TLS_WHY, "TLS: %s%s", reason != NULL ? reason : "failed",
	    advice(ERR_GET_REASON(code)));
	return TLS_FAILED;
}

static struct ssl_st *
tls_begin(struct tls *tls, const char *host, char why[TLS_WHY])
{
	SSL *ssl = SSL_new(tls->ctx);
	BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());

	if (ssl == NULL || in == NULL || out == NULL ||
	    !expect_name(ssl,
		tls->server_name != NULL ? tls->server_name : host)) {
		snprintf(why, TLS_WHY, "cannot initialize TLS");
		BIO_free(in);
		BIO_free(out);
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_bio(ssl, in, out);
	SSL_set_connect_state(ssl);
	return ssl;
}

static const char *
tls_openssl(void)
{
	return OpenSSL_version(OPENSSL_VERSION);
}

const struct tls_module redlock_tls = { .open = tls_open,
	.start = tls_begin,
	.end = SSL_free,
	.ready = tls_ready,
	.feed = tls_feed,
	.read = tls_read,
	.write = tls_write,
	.take = tls_take,
	.trouble = tls_trouble,
	.version = tls_openssl };
