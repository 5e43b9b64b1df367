/*
 * Gives the TLS module any bytes before, during and after a handshake with a
 * server in this process.  The server's own bytes arrive in pieces, or changed.
 * The module must return the beginning of the text that the server encrypted, and
 * a failure must have a reason.
 */
#include <stdbool.h>
#include <stdint.h>

#include "../../src/redis/tls.c"
#include "../unit/tls_peer.h"

#define OPERATIONS 200

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tls *shared;

static struct {
	const uint8_t *next;
	size_t left;
} input;

static struct {
	SSL *ssl;
	SSL *server;
	size_t written, read; /* bytes of the server: the n-th is n % 251 */
	size_t waiting;       /* bytes that the client still has to write */
	bool ended;
} world;

static void
insist(bool claim)
{
	if (!claim)
		abort();
}

static uint8_t
take(void)
{
	if (input.left == 0)
		return 0;
	input.left--;
	return *input.next++;
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct tls_files files = { .ca = NULL };
	char why[TLS_WHY];

	(void)argc, (void)argv;
	peer_init();
	files.ca = peer.ca;
	shared = redlock_tls.open(&files, why);
	insist(shared != NULL);
	return 0;
}

/* The client takes what it was fed. */
static void
client_reads(void)
{
	char buf[700];
	ssize_t n;

	while ((n = redlock_tls.read(world.ssl, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < n; i++)
			insist((uint8_t)buf[i] == world.read++ % 251);
	insist(world.read <= world.written);
	world.ended = world.ended || n == -1;
}

static void
client_writes(size_t n)
{
	static const char bytes[256 * OPERATIONS];

	world.waiting += n;
	switch (redlock_tls.write(world.ssl, bytes, world.waiting)) {
	case 1:
		insist(redlock_tls.ready(world.ssl));
		world.waiting = 0;
		break;
	case -1:
		world.ended = true;
	}
}

static void
server_writes(size_t n)
{
	uint8_t bytes[256];

	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)((world.written + i) % 251);
	if (n > 0 && SSL_write(world.server, bytes, (int)n) == (int)n)
		world.written += n;
}

/* Passes up to n bytes of the server on; changes one of them. */
static void
pass(int n, bool change)
{
	char buf[4096];

	n = BIO_read(SSL_get_wbio(world.server), buf,
	    n > (int)sizeof(buf) ? (int)sizeof(buf) : n);
	if (n <= 0)
		return;
	if (change)
		buf[take() % n] ^= (char)(1 << take() % 8);
	insist(redlock_tls.feed(world.ssl, buf, (size_t)n));
}

static void
pass_back(void)
{
	char buf[4096];
	size_t n;

	while ((n = redlock_tls.take(world.ssl, buf, sizeof(buf))) > 0)
		BIO_write(SSL_get_rbio(world.server), buf, (int)n);
	while (SSL_read(world.server, buf, sizeof(buf)) > 0)
		continue;
}

static void
act(void)
{
	char garbage[256];
	int n;

	switch (take() % 10) {
	case 0:
		for (n = 0; input.left > 0 && n < 64; n++)
			garbage[n] = (char)take();
		insist(redlock_tls.feed(world.ssl, garbage, (size_t)n));
		break;
	case 1:
		SSL_key_update(world.server, SSL_KEY_UPDATE_REQUESTED);
		SSL_do_handshake(world.server);
		break;
	case 2:
		SSL_renegotiate(world.server);
		SSL_do_handshake(world.server);
		break;
	case 3:
		SSL_shutdown(world.server);
		break;
	case 4:
		pass(take() * 16, true);
		break;
	case 5:
		client_writes(take());
		break;
	case 6:
		server_writes(take());
		break;
	case 7:
		pass(take(), false);
		break;
	default:
		client_writes(0);
		pass_back();
		pass(4096, false);
	}
	ERR_clear_error();
	client_reads();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[TLS_WHY];
	uint8_t how;

	input.next = data;
	input.left = size;
	how = take();
	memset(&world, 0, sizeof(world));
	world.ssl = redlock_tls.start(shared, "127.0.0.1", why);
	insist(world.ssl != NULL);
	world.server = peer_new(how & 1 ? TLS1_2_VERSION : TLS1_3_VERSION);
	for (int i = 0; (how & 6) != 0 && i < 4; i++) {
		client_writes(0);
		pass_back();
		pass(4096, false);
		client_reads();
	}
	insist((how & 6) == 0 || redlock_tls.ready(world.ssl));
	for (int i = 0; input.left > 0 && !world.ended && i < OPERATIONS; i++)
		act();
	memset(why, 'x', sizeof(why));
	if (redlock_tls.trouble(world.ssl, why) != TLS_FINE)
		insist(memchr(why, '\0', sizeof(why)) != NULL);
	redlock_tls.end(world.ssl);
	SSL_free(world.server);
	ERR_clear_error();
	return 0;
}
