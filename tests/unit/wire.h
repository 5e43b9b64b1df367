/*
 * The other end of a connection is ours: sends and reads come in pieces, are
 * interrupted or fail.  Includes dial.c and link.c.
 */
#ifndef WIRE_H
#define WIRE_H

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tap.h"

static int made_up_connect(int, const struct sockaddr *, socklen_t);
static ssize_t made_up_send(int, const void *, size_t, int flags);
static ssize_t made_up_recv(int, void *, size_t, int flags);

#define connect made_up_connect
#include "../../src/redis/dial.c"
#undef connect
#define send made_up_send
#define recv made_up_recv
#include "../../src/redis/link.c"
#undef send
#undef recv

#define NO_ANSWER EALREADY   /* connect_as: not while fill()ed */
#define EVER      INT64_C(1) /* long ago: a turn of the loop does not wait */

static struct {
	int fd;          /* the server's end */
	size_t most;     /* bytes of a send or recv; 0: any number */
	bool interrupts; /* every third call fails */
	int connect_as;  /* errno of connect(); 0: connected */
	int send_error;  /* errno of each send() */
	int calls, sends;
} wire;

static struct {
	struct loop loop;
	struct link link;
	int n, lost, closed;
	int abort_at;     /* the callback of so many replies gives up */
	bool sends_again; /* the callback of a lost request sends another */
	enum reply_kind kind[PENDING_MAX];
	char text[PENDING_MAX][128];
} client;

/* A socket whose other end reads nothing is like one that has not connected. */
static void
fill(int fd)
{
	static const char junk[4096];

	while (send(fd, junk, sizeof(junk), MSG_NOSIGNAL) > 0)
		;
}

static int
made_up_connect(int fd, const struct sockaddr *to, socklen_t len)
{
	int pair[2];

	(void)to, (void)len;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == -1 ||
	    dup2(pair[0], fd) == -1)
		abort();
	close(pair[0]);
	wire.fd = pair[1];
	if (wire.connect_as == NO_ANSWER)
		fill(fd);
	errno = wire.connect_as == NO_ANSWER ? EINPROGRESS : wire.connect_as;
	return wire.connect_as == 0 ? 0 : -1;
}

/* Whether this call fails; errno is one of two. */
static bool
interrupted(void)
{
	if (!wire.interrupts || ++wire.calls % 3 != 0)
		return false;
	errno = wire.calls % 2 ? EAGAIN : EINTR;
	return true;
}

static size_t
piece(size_t len)
{
	return wire.most != 0 && len > wire.most ? wire.most : len;
}

static ssize_t
made_up_send(int fd, const void *bytes, size_t len, int flags)
{
	wire.sends++;
	if (wire.send_error != 0) {
		errno = wire.send_error;
		return -1;
	}
	return interrupted() ? -1 : send(fd, bytes, piece(len), flags);
}

static ssize_t
made_up_recv(int fd, void *buf, size_t len, int flags)
{
	return interrupted() ? -1 : recv(fd, buf, piece(len), flags);
}

static void
reply_cb(void *arg, struct pending_request *r, const struct reply *reply)
{
	const char *const again[] = { "PING" };
	int i = client.n++;

	(void)arg, (void)r;
	client.kind[i] = reply->kind;
	snprintf(client.text[i], sizeof(client.text[i]), "%s",
	    reply->kind == REPLY_OK ? "" : reply->text);
	client.lost += reply->kind == REPLY_LOST;
	if (client.n == client.abort_at)
		link_abort(&client.link, REPLY_DENIED, "given up");
	if (client.sends_again && reply->kind == REPLY_LOST)
		CHECK(link_send(&client.link, 1, 1, again, false) == -1);
}

static void
closed_cb(void *arg)
{
	(void)arg;
	client.closed++;
}

/* Connects; tests set fields of wire and client afterwards. */
static void
begin_as(int connect_as, bool tls)
{
	const struct target to = { .name = "127.0.0.1" };

	memset(&wire, 0, sizeof(wire));
	memset(&client, 0, sizeof(client));
	wire.connect_as = connect_as;
	if (loop_init(&client.loop) == -1)
		abort();
	link_init(&client.link, &client.loop, reply_cb, closed_cb, NULL);
	SAME_INT(link_open(&client.link, "/s", &to, tls), 0);
}

static void
end(void)
{
	link_close(&client.link, NULL);
	CHECK(!link_is_open(&client.link));
	CHECK(pending_empty(&client.link.pending));
	close(wire.fd);
	loop_release(&client.loop);
}

static void
request(int tag, const char *word)
{
	const char *const argv[] = { "GET", word };

	SAME_INT(link_send(&client.link, tag, 2, argv, false), 0);
}

/* Turns the loop so often; no turn waits. */
static void
turns(int n)
{
	while (n-- > 0)
		loop_turn(&client.loop, EVER);
}

/* The connection has closed once, for that reason. */
static void
closed_because(const char *why)
{
	SAME_INT(client.closed, 1);
	CHECK(!link_is_open(&client.link));
	SAME_TEXT(client.link.why, why);
}

#endif
