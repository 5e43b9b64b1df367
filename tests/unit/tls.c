/*
 * A connection with TLS, to a server in this process that stalls, closes or
 * changes its bytes at any place.
 */
#include "wire.h"

#if __has_include(<openssl/ssl.h>)

#include "../../src/redis/tls.c"
#include "tls_peer.h"

static struct tls *shared;

static struct {
	SSL *ssl;
	size_t left;      /* so many bytes still pass */
	char heard[4096]; /* what the client sent */
	size_t nheard;
} server;

/* The module is part of this program. */
const struct tls_module *
tls_module(void)
{
	return &redlock_tls;
}

struct ssl_st *
tls_start(const char *host, char why[TLS_WHY])
{
	return redlock_tls.start(shared, host, why);
}

static void
begin(int version)
{
	begin_as(0, true);
	server.ssl = peer_new(version);
	server.left = SIZE_MAX;
	server.nheard = 0;
}

static void
finish(void)
{
	end();
	SSL_free(server.ssl);
	ERR_clear_error();
}

/* Passes on what the server has to send, as far as the socket takes it. */
static void
pass(void)
{
	char *bytes, sent[65536];
	long n = BIO_get_mem_data(SSL_get_wbio(server.ssl), &bytes);
	size_t len = n < (long)sizeof(sent) ? (size_t)n : sizeof(sent);
	ssize_t taken;

	if (len > server.left)
		len = server.left;
	if (wire.most != 0 && len > wire.most)
		len = wire.most;
	taken = send(wire.fd, bytes, len, MSG_NOSIGNAL);
	if (taken > 0) {
		server.left -= (size_t)taken;
		BIO_read(SSL_get_wbio(server.ssl), sent, (int)taken);
	}
}

/* One turn of both sides. */
static void
turn(void)
{
	char bytes[65536];
	ssize_t n;
	int got;

	loop_turn(&client.loop, EVER);
	while ((n = recv(wire.fd, bytes, sizeof(bytes), 0)) > 0)
		BIO_write(SSL_get_rbio(server.ssl), bytes, (int)n);
	got = SSL_read(server.ssl, server.heard + server.nheard,
	    (int)(sizeof(server.heard) - server.nheard));
	if (got > 0)
		server.nheard += (size_t)got;
	pass();
}

static void
turn_until_heard(size_t n)
{
	for (int i = 0; i < 20000 && server.nheard < n; i++)
		turn();
	SAME_INT(server.nheard, n);
}

static void
turn_until_replied(int n)
{
	for (int i = 0; i < 20000 && client.n < n; i++)
		turn();
	SAME_INT(client.n, n);
}

static void
reply(const char *text)
{
	SAME_INT(SSL_write(server.ssl, text, (int)strlen(text)), strlen(text));
}

/* A request of 20 bytes arrives, and so does its reply. */
static void
exchange(void)
{
	size_t heard = server.nheard;
	int replied = client.n;

	request(1, "a");
	turn_until_heard(heard + 20);
	reply("+OK\r\n");
	turn_until_replied(replied + 1);
	SAME_INT(client.kind[replied], REPLY_OK);
}

static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

static void
pieces_of_every_size(void)
{
	for (size_t most = 1; most < 600; most += 1 + most / 8)
		for (int v = 0; v < 2; v++) {
			begin(versions[v]);
			wire.most = most;
			wire.interrupts = most % 2;
			exchange();
			exchange();
			SAME_INT(client.closed, 0);
			finish();
		}
}

/* poll(2) does not know what is in OpenSSL's buffers. */
static void
many_records_at_once(void)
{
	static char big[100000];

	for (int v = 0; v < 2; v++) {
		begin(versions[v]);
		exchange();
		for (int i = 0; i < 4; i++)
			request(i, "a");
		turn_until_heard((size_t)(20 * 5));
		for (int i = 0; i < 3; i++)
			reply("+OK\r\n");
		pass();
		turns(1);
		SAME_INT(client.n, 4);
		memset(big, 'x', sizeof(big) - 1);
		memcpy(big, "$99980\r\n", 8);
		memcpy(big + 99988, "\r\n", 3);
		reply(big);
		turn_until_replied(5);
		SAME_INT(client.kind[4], REPLY_OK);
		finish();
	}
}

/* The server's bytes end after n; returns whether the handshake was done. */
static bool
cut_after(int version, size_t n)
{
	begin(version);
	request(1, "a");
	server.left = n;
	for (int i = 0; i < 20; i++)
		turn();
	SAME_INT(client.closed, 0);
	SAME_INT(server.left, 0);
	return link_connected(&client.link);
}

static void
stalls_anywhere(void)
{
	for (int v = 0; v < 2; v++)
		for (size_t n = 0; n < 600; n += 23) {
			bool done = cut_after(versions[v], n);
			int sends = wire.sends;

			for (int i = 0; i < 5; i++)
				turn();
			SAME_INT(wire.sends, sends); /* it does not spin */
			link_close(&client.link, "no answer");
			SAME_TEXT(client.link.why,
			    done ? "no answer" :
				   "no answer to the TLS handshake (does this "
				   "port speak TLS?)");
			SAME_INT(client.lost, 1);
			finish();
		}
}

static void
closes_anywhere(void)
{
	for (int v = 0; v < 2; v++)
		for (size_t n = 0; n < 600; n += 23) {
			cut_after(versions[v], n);
			shutdown(wire.fd, n % 2 ? SHUT_RDWR : SHUT_WR);
			turns(3);
			closed_because("the server closed the connection");
			SAME_INT(client.lost, 1);
			finish();
		}
}

static void
close_notify(void)
{
	for (int v = 0; v < 2; v++) {
		begin(versions[v]);
		exchange();
		request(1, "a");
		SSL_shutdown(server.ssl);
		pass();
		turns(2);
		closed_because("the server closed the connection");
		finish();
	}
}

/* Returns the reason why the server fails over what the client has sent. */
static int
server_error(void)
{
	char bytes[4096];
	ssize_t n = recv(wire.fd, bytes, sizeof(bytes), 0);

	if (n > 0)
		BIO_write(SSL_get_rbio(server.ssl), bytes, (int)n);
	ERR_clear_error();
	while (SSL_read(server.ssl, bytes, sizeof(bytes)) > 0)
		continue;
	return ERR_GET_REASON(ERR_peek_last_error());
}

static void
changed_record(void)
{
	for (int v = 0; v < 2; v++) {
		char bytes[200];
		int n;

		begin(versions[v]);
		exchange();
		request(1, "a");
		reply("+OK\r\n");
		n = BIO_read(SSL_get_wbio(server.ssl), bytes, sizeof(bytes));
		bytes[n - 1] ^= 1;
		SAME_INT(send(wire.fd, bytes, (size_t)n, MSG_NOSIGNAL), n);
		turns(2);
		closed_because("TLS: decryption failed or bad record mac");
		SAME_INT(client.kind[1], REPLY_LOST);
		/* It got our alert. */
		SAME_INT(server_error(), SSL_R_SSLV3_ALERT_BAD_RECORD_MAC);
		finish();
	}
}

static void
no_renegotiation(void)
{
	begin(TLS1_2_VERSION);
	exchange();
	SAME_INT(SSL_renegotiate(server.ssl), 1);
	SSL_do_handshake(server.ssl);
	pass();
	turns(2);
	SAME_INT(server_error(), SSL_R_NO_RENEGOTIATION);
	finish();
}

static void
key_update(void)
{
	begin(TLS1_3_VERSION);
	exchange();
	for (int i = 0; i < 5; i++) {
		SAME_INT(SSL_key_update(server.ssl, SSL_KEY_UPDATE_REQUESTED),
		    1);
		SAME_INT(SSL_do_handshake(server.ssl), 1);
		exchange();
	}
	SAME_INT(client.closed, 0);
	finish();
}

static void
password_is_wiped(void)
{
	begin(TLS1_3_VERSION);
	request(HANDSHAKE_AUTH, "s3cret");
	CHECK(memmem(client.link.requests.at, client.link.requests.room,
		  "s3cret", 6) != NULL);
	turn_until_heard(25);
	CHECK(bytes_empty(&client.link.requests));
	CHECK(memmem(client.link.requests.at, client.link.requests.room,
		  "s3cret", 6) == NULL);
	finish();
}

int
main(void)
{
	static const struct tap_test tests[] = {
		{ "TLS: requests and replies survive pieces of every size, "
		  "EAGAIN and EINTR",
		    pieces_of_every_size },
		{ "TLS: all records of one read are taken at once",
		    many_records_at_once },
		{ "TLS: a server that stalls anywhere in the handshake is "
		  "waited for without spinning",
		    stalls_anywhere },
		{ "TLS: a server that closes, or half closes, anywhere in the "
		  "handshake ends the connection",
		    closes_anywhere },
		{ "TLS: close_notify ends the connection", close_notify },
		{ "TLS: a changed record ends the connection with an alert",
		    changed_record },
		{ "TLS: renegotiation is refused", no_renegotiation },
		{ "TLS: new keys (KeyUpdate) keep the connection", key_update },
		{ "TLS: a password is not in memory once it was encrypted",
		    password_is_wiped },
	};
	struct tls_files files = { .ca = NULL };
	char why[TLS_WHY];

	peer_init();
	files.ca = peer.ca;
	if ((shared = redlock_tls.open(&files, why)) == NULL) {
		printf("Bail out! %s\n", why);
		return 1;
	}
	return TAP_MAIN(tests);
}

#else

int
main(void)
{
	puts("1..0 # skipped: there are no headers of OpenSSL");
	return 0;
}

#endif
