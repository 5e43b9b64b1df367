/*
 * A TLS server in this process, for 127.0.0.1, with a certificate that it signs
 * itself.  It has no socket: bytes come and go through its two BIOs.
 */
#ifndef TLS_PEER_H
#define TLS_PEER_H

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static struct {
	SSL_CTX *ctx;
	char ca[64]; /* the file with its certificate */
} peer;

static EVP_PKEY *
peer_key(void)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
	EVP_PKEY *key = NULL;

	if (EVP_PKEY_keygen_init(ctx) != 1 ||
	    EVP_PKEY_CTX_set_ec_paramgen_curve_nid(ctx, NID_X9_62_prime256v1) !=
		1 ||
	    EVP_PKEY_keygen(ctx, &key) != 1)
		abort();
	EVP_PKEY_CTX_free(ctx);
	return key;
}

static X509 *
peer_certificate(EVP_PKEY *key)
{
	X509 *x = X509_new();
	X509_EXTENSION *names = X509V3_EXT_conf_nid(
	    NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1");

	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -86400);
	X509_gmtime_adj(X509_getm_notAfter(x), 864000);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
	    (const unsigned char *)"peer", -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	X509_set_pubkey(x, key);
	X509_add_ext(x, names, -1);
	X509_EXTENSION_free(names);
	if (X509_sign(x, key, EVP_sha256()) == 0)
		abort();
	return x;
}

/* Once for all connections. */
static void
peer_init(void)
{
	EVP_PKEY *key = peer_key();
	X509 *x = peer_certificate(key);
	int fd = memfd_create("ca", 0);
	FILE *f = fdopen(fd, "w");

	peer.ctx = SSL_CTX_new(TLS_server_method());
	if (f == NULL || PEM_write_X509(f, x) != 1 || fflush(f) != 0 ||
	    SSL_CTX_use_certificate(peer.ctx, x) != 1 ||
	    SSL_CTX_use_PrivateKey(peer.ctx, key) != 1)
		abort();
	snprintf(peer.ca, sizeof(peer.ca), "/proc/self/fd/%d", fd);
	X509_free(x);
	EVP_PKEY_free(key);
}

static SSL *
peer_new(int version)
{
	SSL *ssl = SSL_new(peer.ctx);

	SSL_set_min_proto_version(ssl, version);
	SSL_set_max_proto_version(ssl, version);
	SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	SSL_set_accept_state(ssl);
	return ssl;
}

#endif
