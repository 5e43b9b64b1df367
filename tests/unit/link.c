/*
 * A connection whose other end is ours: reads and writes come in pieces, are
 * interrupted or fail, and the server stalls, closes or replies with nonsense.
 */
#include "wire.h"

#define SECRET "s3cret"

static void
begin(void)
{
	begin_as(0, false);
}

static void
server_says(const char *text)
{
	SAME_INT(send(wire.fd, text, strlen(text), MSG_NOSIGNAL),
	    (int64_t)strlen(text));
}

/* What the server has received and not yet read; NULL: it is at the end. */
static const char *
server_hears(void)
{
	static char text[4096];
	ssize_t n = recv(wire.fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return n == 0 ? NULL : text;
}

static void
requests_leave_together(void)
{
	begin();
	request(1, "a");
	request(2, "b");
	SAME_INT(wire.sends, 0);
	turns(1);
	SAME_INT(wire.sends, 1);
	SAME_TEXT(server_hears(),
	    "*2\r\n$3\r\nGET\r\n$1\r\na\r\n*2\r\n$3\r\nGET\r\n$1\r\nb\r\n");
	turns(3);
	SAME_INT(wire.sends, 1);
	end();
}

static void
pieces_of_every_size(void)
{
	const char requests[] = "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
				"*2\r\n$3\r\nGET\r\n$5\r\nbbbbb\r\n"
				"*2\r\n$3\r\nGET\r\n$1\r\nc\r\n";

	for (size_t most = 1; most < 80; most++) {
		begin_as(most % 2 ? EINPROGRESS : 0, false);
		wire.most = most;
		wire.interrupts = most % 3 != 0;
		request(1, "a");
		request(2, "bbbbb");
		request(3, "c");
		turns(200);
		SAME_TEXT(server_hears(), requests);
		server_says("+OK\r\n*2\r\n:1\r\n$3\r\nabc\r\n-ERR no\r\n");
		turns(200);
		SAME_INT(client.n, 3);
		SAME_INT(client.kind[0], REPLY_OK);
		SAME_INT(client.kind[1], REPLY_OK);
		SAME_INT(client.kind[2], REPLY_ERROR);
		SAME_TEXT(client.text[2], "ERR no");
		SAME_INT(client.closed, 0);
		end();
	}
}

/* Several times what a socket takes. */
static void
server_that_does_not_read(void)
{
	static char word[100000];
	size_t total = 0, wanted = 0;
	char buf[65536];
	ssize_t n;
	int sends;

	begin();
	memset(word, 'x', sizeof(word) - 1);
	for (int i = 0; i < 20; i++)
		request(i, word);
	wanted = client.link.out.to;
	turns(3);
	sends = wire.sends;
	turns(20);
	SAME_INT(wire.sends, sends); /* it waits for POLLOUT */
	for (int i = 0; i < 1000 && total < wanted; i++) {
		while ((n = recv(wire.fd, buf, sizeof(buf), 0)) > 0)
			total += (size_t)n;
		turns(1);
	}
	SAME_INT(total, wanted);
	SAME_INT(client.closed, 0);
	end();
}

static void
more_requests_than_memory(void)
{
	static char word[200000];
	const char *const argv[] = { "GET", word };
	int sent = 0;

	begin();
	memset(word, 'x', sizeof(word) - 1);
	while (link_send(&client.link, 1, 2, argv, false) == 0)
		sent++;
	CHECK(sent > 10 && sent < PENDING_MAX);
	SAME_INT(client.closed, 0);
	end();
	SAME_INT(client.lost, sent);
}

static void
last_words(void)
{
	for (int real = 0; real < 2; real++) {
		begin();
		request(1, "a");
		server_says("-ERR max number of clients reached\r\n");
		if (real)
			shutdown(wire.fd, SHUT_RDWR);
		else
			wire.send_error = ECONNRESET;
		turns(3);
		SAME_INT(client.n, 1);
		SAME_INT(client.kind[0], REPLY_ERROR);
		SAME_TEXT(client.text[0], "ERR max number of clients reached");
		closed_because(strerror(real ? EPIPE : ECONNRESET));
		end();
	}
}

static void
send_fails(void)
{
	static const int errors[] = { EPIPE, ECONNRESET, ENOMEM, EPERM };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		begin();
		request(1, "a");
		wire.send_error = errors[i];
		turns(2);
		SAME_INT(client.lost, 1);
		SAME_TEXT(client.text[0], strerror(errors[i]));
		closed_because(strerror(errors[i]));
		end();
	}
}

static void
server_closes(void)
{
	static const char *const said[] = { "", "$10\r\nhalf", "*2\r\n:1\r\n" };

	for (size_t i = 0; i < 6; i++) {
		begin();
		request(1, "a");
		turns(1);
		server_says(said[i % 3]);
		shutdown(wire.fd, i < 3 ? SHUT_RDWR : SHUT_WR);
		turns(3);
		SAME_INT(client.lost, 1);
		closed_because("the server closed the connection");
		CHECK(client.link.broken);
		CHECK(client.link.established);
		end();
	}
}

static void
malformed(const char *reply, int tag, const char *why)
{
	begin();
	request(tag, "a");
	turns(1);
	server_says(reply);
	turns(3);
	SAME_INT(client.lost, 1);
	closed_because(why);
	end();
}

static void
malformed_replies(void)
{
	malformed("s3cret\r\n", HANDSHAKE_AUTH, "malformed reply to AUTH");
	malformed("s3cret\r\n", 1,
	    "Protocol error, got \"s\" as reply type byte");
	malformed("*2147483647\r\n", 1, "the reply is too long");
	malformed("*2147483647\r\n", HANDSHAKE_AUTH, "the reply is too long");
}

static void
reply_without_a_request(void)
{
	begin();
	server_says("+OK\r\n");
	turns(2);
	closed_because("a reply without a request");
	end();
	begin();
	server_says("-ERR max number of clients reached\r\n");
	turns(2);
	closed_because("ERR max number of clients reached");
	CHECK(!client.link.broken);
	end();
}

static void
endless_reply(void)
{
	static const char *const first[] = { "+", "$500000000\r\n" };
	char rest[8192];
	size_t said;

	memset(rest, 'x', sizeof(rest));
	for (int i = 0; i < 2; i++) {
		begin();
		request(1, "a");
		turns(1);
		server_says(first[i]);
		for (said = 0; client.closed == 0 && said < 4 * REPLY_MAX;) {
			ssize_t n =
			    send(wire.fd, rest, sizeof(rest), MSG_NOSIGNAL);

			said += n > 0 ? (size_t)n : 0;
			turns(1);
		}
		CHECK(said < 2 * REPLY_MAX);
		closed_because("the reply is too long");
		end();
	}
}

static void
abort_in_a_callback(void)
{
	begin();
	client.abort_at = 1;
	for (int i = 0; i < 4; i++)
		request(i, "a");
	turns(1);
	server_says("+OK\r\n+OK\r\n+OK\r\n");
	turns(2);
	SAME_INT(client.n, 3); /* replies that are there still count */
	SAME_INT(client.closed, 0);
	link_sweep(&client.link);
	SAME_INT(client.n, 4);
	SAME_INT(client.lost, 1);
	closed_because("given up");
	SAME_INT(client.link.failure, REPLY_DENIED);
	link_sweep(&client.link);
	SAME_INT(client.closed, 1);
	end();
}

static void
request_in_a_lost_callback(void)
{
	begin();
	client.sends_again = true;
	request(1, "a");
	request(2, "b");
	turns(1);
	close(wire.fd);
	wire.fd = -1;
	turns(2);
	SAME_INT(client.n, 2);
	SAME_INT(client.lost, 2);
	SAME_INT(client.closed, 1);
	end();
}

static void
finish(void)
{
	begin();
	request(1, "a");
	server_says("+unread\r\n");
	link_finish(&client.link);
	SAME_TEXT(server_hears(), "*2\r\n$3\r\nGET\r\n$1\r\na\r\n");
	CHECK(server_hears() == NULL);
	end();
}

static void
password_is_wiped(void)
{
	begin();
	request(HANDSHAKE_AUTH, SECRET);
	request(1, "a");
	wire.most = 5;
	turns(30);
	CHECK(bytes_empty(&client.link.out));
	CHECK(memmem(client.link.out.at, client.link.out.room, SECRET,
		  strlen(SECRET)) == NULL);
	CHECK(strstr(server_hears(), SECRET) != NULL);
	end();
}

/* The server's end accepts; returns whether our end is open. */
static bool
answer(int fd)
{
	char junk[4096];
	ssize_t n;

	while ((n = recv(fd, junk, sizeof(junk), 0)) > 0)
		;
	return n == -1;
}

/* Begins a second connection; returns the server's end of the first one. */
static int
begin_two(int second_as)
{
	const struct target to = { .name = "127.0.0.1" };
	int first;

	begin_as(NO_ANSWER, false);
	turns(1);
	CHECK(!link_connected(&client.link));
	first = wire.fd;
	wire.connect_as = second_as;
	link_open_second(&client.link, "/s", &to);
	return first;
}

/* The connection at wire.fd is the one, and it alone gets the request. */
static void
one_is_used(int other)
{
	CHECK(link_connected(&client.link));
	SAME_TEXT(server_hears(), "*2\r\n$3\r\nGET\r\n$1\r\na\r\n");
	CHECK(!answer(other));
	server_says("+OK\r\n");
	turns(1);
	SAME_INT(client.n, 1);
	SAME_INT(client.kind[0], REPLY_OK);
	end();
}

static void
second_connects_first(void)
{
	int first = begin_two(EINPROGRESS);

	request(1, "a");
	turns(2);
	one_is_used(first);
	close(first);
}

static void
first_connects_first(void)
{
	int first = begin_two(NO_ANSWER), second = wire.fd;

	request(1, "a");
	turns(1);
	answer(first);
	turns(2);
	wire.fd = first;
	one_is_used(second);
	close(second);
}

/* The request leaves on the first one, before the poll. */
static void
both_connect(void)
{
	int first = begin_two(EINPROGRESS), second = wire.fd;

	answer(first);
	request(1, "a");
	turns(2);
	wire.fd = first;
	one_is_used(second);
	close(second);
}

static void
second_fails(void)
{
	int first = begin_two(ECONNREFUSED);

	CHECK(link_is_open(&client.link));
	request(1, "a");
	close(wire.fd);
	wire.fd = first;
	answer(first);
	turns(2);
	SAME_TEXT(server_hears(), "*2\r\n$3\r\nGET\r\n$1\r\na\r\n");
	end();
}

static void
both_are_closed(void)
{
	int first = begin_two(NO_ANSWER);

	request(1, "a");
	link_close(&client.link, NULL);
	CHECK(!answer(first));
	CHECK(!answer(wire.fd));
	SAME_INT(client.lost, 1);
	close(first);
	end();
}

static void
no_second(void)
{
	const struct target to = { .name = "127.0.0.1" };
	int first;

	begin();
	first = wire.fd;
	link_open_second(&client.link, "/s", &to);
	SAME_INT(wire.fd, first);
	end();
}

#define INVALIDATE ">2\r\n$10\r\ninvalidate\r\n"

/* The keys that pushes have named, each with a comma; * is any. */
static char pushed[256];

static void
push_cb(void *arg, const char *key, size_t len)
{
	size_t used = strlen(pushed);

	(void)arg;
	snprintf(pushed + used, sizeof(pushed) - used, "%.*s,",
	    key != NULL ? (int)len : 1, key != NULL ? key : "*");
}

/* Begins a connection whose server may push.  Returns whether we can read it. */
static bool
begin_pushes(void)
{
	if (!link_reads_pushes()) {
		tap_skipped = "needs hiredis 1.0";
		return false;
	}
	begin();
	pushed[0] = '\0';
	link_take_pushes(&client.link, push_cb);
	return true;
}

static void
pushes(void)
{
	static const struct {
		const char *said;
		const char *keys;
	} rows[] = {
		{ INVALIDATE "*1\r\n$3\r\np:n\r\n", "p:n," },
		{ INVALIDATE "*2\r\n$1\r\na\r\n$0\r\n\r\n", "a,," },
		{ INVALIDATE "_\r\n", "*," },
		{ INVALIDATE "*-1\r\n", "*," },
		{ INVALIDATE "*0\r\n", "" },
		{ INVALIDATE "*1\r\n:1\r\n", "" },
		{ INVALIDATE ":7\r\n", "" },
		{ INVALIDATE "$3\r\np:n\r\n", "" },
		{ ">1\r\n$10\r\ninvalidate\r\n", "" },
		{ ">3\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n:1\r\n", "" },
		{ ">2\r\n:1\r\n*1\r\n$1\r\na\r\n", "" },
		{ ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n", "" },
		{ ">0\r\n", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t most = 0; most < 40; most += 13) {
			if (!begin_pushes())
				return;
			wire.most = most;
			server_says(rows[i].said); /* without a request */
			request(1, "a");
			request(2, "b");
			turns(60);
			server_says("+OK\r\n");
			server_says(rows[i].said); /* between two replies */
			server_says("*2\r\n:1\r\n:2\r\n");
			turns(60);
			SAME_INT(client.n, 2);
			SAME_INT(client.kind[0], REPLY_OK);
			SAME_INT(client.kind[1], REPLY_OK);
			SAME_INT(client.closed, 0);
			SAME_INT(strlen(pushed), 2 * strlen(rows[i].keys));
			SAME_INT(strncmp(pushed, rows[i].keys,
				     strlen(rows[i].keys)),
			    0);
			end();
		}
}

/* In an array, and before the answer to HELLO, which is a map. */
static void
push_in_a_reply(void)
{
	if (!begin_pushes())
		return;
	request(1, "a");
	request(2, "b");
	turns(1);
	server_says("*2\r\n+QUEUED\r\n" INVALIDATE "*1\r\n$1\r\nk\r\n");
	turns(2);
	SAME_INT(client.n, 1);
	SAME_TEXT(pushed, "");
	server_says(INVALIDATE "*1\r\n$1\r\nk\r\n"
			       "%1\r\n$5\r\nproto\r\n:3\r\n");
	turns(2);
	SAME_INT(client.n, 2);
	SAME_TEXT(pushed, "k,");
	SAME_INT(client.closed, 0);
	end();
}

/* Before link_take_pushes(), with a request and without. */
static void
push_unasked(void)
{
	for (int requests = 0; requests < 2; requests++) {
		if (!link_reads_pushes()) {
			tap_skipped = "needs hiredis 1.0";
			return;
		}
		begin();
		if (requests > 0)
			request(1, "a");
		turns(1);
		server_says(INVALIDATE "*1\r\n$1\r\nk\r\n");
		turns(2);
		SAME_INT(client.lost, requests);
		closed_because("a reply without a request");
		end();
	}
}

static void
push_too_long(void)
{
	static const char *const said[] = { INVALIDATE "$900000\r\n",
		INVALIDATE "*100000\r\n", ">2147483647\r\n",
		INVALIDATE "*1\r\n$900000\r\n" };
	char rest[8192];
	size_t sent;

	memset(rest, 'x', sizeof(rest));
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		if (!begin_pushes())
			return;
		request(1, "a");
		turns(1);
		server_says(said[i]);
		for (sent = 0; client.closed == 0 && sent < REPLY_MAX;) {
			ssize_t n =
			    send(wire.fd, rest, sizeof(rest), MSG_NOSIGNAL);

			sent += n > 0 ? (size_t)n : 0;
			turns(1);
		}
		CHECK(sent <= 4 * PUSH_MAX);
		SAME_INT(client.lost, 1);
		closed_because("a push is too long");
		end();
	}
}

/* A push does not limit the reply behind it. */
static void
long_reply_behind_a_push(void)
{
	static char text[200000];

	if (!begin_pushes())
		return;
	request(1, "a");
	turns(1);
	memset(text, 'x', sizeof(text) - 1);
	server_says(INVALIDATE "*1\r\n$1\r\nk\r\n$199999\r\n");
	for (size_t sent = 0; sent < sizeof(text) - 1;) {
		ssize_t n = send(wire.fd, text + sent, sizeof(text) - 1 - sent,
		    MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
		turns(1);
	}
	server_says("\r\n");
	turns(40);
	SAME_INT(client.n, 1);
	SAME_INT(client.kind[0], REPLY_OK);
	SAME_TEXT(pushed, "k,");
	end();
}

static void
garbage_for_a_push(void)
{
	static const char *const said[] = { ">x\r\n", ">-1\r\n", ">\r\n",
		INVALIDATE "garbage\r\n" };

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		if (!begin_pushes())
			return;
		request(1, "a");
		turns(1);
		server_says(said[i]);
		server_says("\r\n\r\n");
		turns(3);
		SAME_INT(client.lost, 1);
		SAME_INT(client.closed, 1);
		SAME_TEXT(pushed, "");
		end();
	}
}

/* The next connection begins without pushes. */
static void
pushes_end_with_the_connection(void)
{
	const struct target to = { .name = "127.0.0.1" };

	if (!begin_pushes())
		return;
	link_close(&client.link, NULL);
	close(wire.fd);
	SAME_INT(link_open(&client.link, "/s", &to, false), 0);
	server_says(INVALIDATE "*1\r\n$1\r\nk\r\n");
	turns(2);
	closed_because("a reply without a request");
	SAME_TEXT(pushed, "");
	end();
}

static void
flood_of_pushes(void)
{
	static char said[64 * 64];

	if (!begin_pushes())
		return;
	for (int i = 0; i < 64; i++)
		strcat(said, INVALIDATE "*1\r\n$1\r\nk\r\n");
	/* A reply between them makes all the difference. */
	for (int i = 0; i < PENDING_MAX; i++) {
		server_says(said);
		request(1, "a");
		turns(1);
		server_says("+OK\r\n");
		turns(1);
	}
	SAME_INT(client.closed, 0);
	for (int i = 0; i < 17; i++) {
		SAME_INT(client.closed, 0);
		server_says(said);
		turns(1);
	}
	closed_because("too many pushes");
	CHECK(client.link.flooded);
	end();
}

static void
reply_in_many_pieces(void)
{
	begin();
	request(1, "a");
	turns(1);
	server_says("$5000\r\n");
	turns(1);
	for (int i = 0; i < 1023; i++) {
		server_says("x");
		turns(1);
	}
	SAME_INT(client.closed, 0);
	server_says("x");
	turns(1);
	closed_because("the reply has too many pieces");
	CHECK(!client.link.flooded);
	end();
}

int
main(void)
{
	static const struct tap_test tests[] = {
		{ "requests of one turn leave in one send()",
		    requests_leave_together },
		{ "requests and replies survive pieces of every size, EAGAIN "
		  "and EINTR",
		    pieces_of_every_size },
		{ "a server that does not read gets everything once it does",
		    server_that_does_not_read },
		{ "unsent requests take a limited amount of memory",
		    more_requests_than_memory },
		{ "what the server sent before it hung up is read although "
		  "send() fails",
		    last_words },
		{ "a failed send() ends the connection with its reason",
		    send_fails },
		{ "a server that closes, or half closes, ends the connection",
		    server_closes },
		{ "a malformed reply ends the connection, and one to AUTH is "
		  "not quoted",
		    malformed_replies },
		{ "a reply without a request ends the connection",
		    reply_without_a_request },
		{ "an endless reply is given up while it is read",
		    endless_reply },
		{ "replies behind the one that gives up still count",
		    abort_in_a_callback },
		{ "the callback of a lost request cannot send another",
		    request_in_a_lost_callback },
		{ "the end sends what waits and closes our direction", finish },
		{ "a password is not in memory once it was sent",
		    password_is_wiped },
		{ "a second connection that is there first is used",
		    second_connects_first },
		{ "a first connection that is there first is used",
		    first_connects_first },
		{ "of two connections that come together one gets the requests",
		    both_connect },
		{ "a second connection that fails changes nothing",
		    second_fails },
		{ "the end closes both connections", both_are_closed },
		{ "an established connection gets no second one", no_second },
		{ "a push names keys and takes no request, wherever it comes",
		    pushes },
		{ "a push inside a reply is part of it, and one before the "
		  "reply to HELLO is not",
		    push_in_a_reply },
		{ "a push that nobody asked for ends the connection",
		    push_unasked },
		{ "a push that is too long is given up while it is read",
		    push_too_long },
		{ "a long reply behind a push is read",
		    long_reply_behind_a_push },
		{ "garbage in place of a push ends the connection",
		    garbage_for_a_push },
		{ "too many pushes without a reply end the connection",
		    flood_of_pushes },
		{ "a reply that never ends, in small pieces, does so too",
		    reply_in_many_pieces },
		{ "the next connection begins without pushes",
		    pushes_end_with_the_connection },
	};

	return TAP_MAIN(tests);
}
