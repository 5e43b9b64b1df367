/*
 * Hostile servers for the whole client: conn.c, link.c and the loop are real,
 * but connect() leads to a socket pair, poll() to servers whose replies follow
 * from the fuzzer's input, and the clock moves only there.  A byte of input
 * chooses the next event, and the bytes after it the numbers and words of a
 * reply.  When the input is used up, all servers fall silent for ever.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <errno.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* The modules that touch the clock, descriptors or threads. */
static int made_up_time(clockid_t, struct timespec *);
static int made_up_poll(struct pollfd *, nfds_t, int timeout_ms);
static int made_up_timer(int, int, const struct itimerspec *);
static int made_up_lookup(const char *, const char *, const struct addrinfo *,
    struct addrinfo **);
static int
made_up_thread(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static ssize_t made_up_write(int, const char *text, size_t len);

#include "../../src/base/escape.c"

#define clock_gettime        made_up_time
#define kernel_clock_gettime made_up_time
#include "../../src/base/clock.c"
#undef clock_gettime

#define poll                   made_up_poll
#define kernel_timerfd_settime made_up_timer
#include "../../src/base/loop.c"
#undef poll
#define poll(fds, n, ms) ((fds)->events != 0)
#define write            made_up_write
#include "../../src/base/log.c"
#undef poll
#undef write

/* A lookup's timer: its threads have ended before the client waits for it. */
#define getaddrinfo                  made_up_lookup
#define freeaddrinfo(ai)             ((void)(ai))
#define pthread_create               made_up_thread
#define timerfd_create(clock, flags) eventfd(1, flags)
#undef kernel_timerfd_settime
#define kernel_timerfd_settime(fd, flags, its)                                 \
	((void)(its), eventfd_write(fd, 1))
#include "../../src/redis/resolve.c"
#undef timerfd_create
#undef kernel_timerfd_settime
#undef pthread_create
#undef freeaddrinfo
#undef getaddrinfo

#include "lock/lock.h"
#include "lock/lock_inside.h"
#include "replies.h"

#define START       INT64_C(1000000)
#define WALL_MS     INT64_C(1763635200000)
#define SERVERS     5
#define CONNECTIONS 32
#define REQUESTS    64
#define IDLE_TURNS  1000 /* in which no time passes, at most */
#define TURNS       100000

struct connection {
	int fd; /* the server's end; -1: none */
	ino_t client;
	int server;
	int64_t connected_ms; /* the client sees it from then on */
	redisReader *reader;
	struct request requests[REQUESTS]; /* unanswered */
	int n;
	char late[256]; /* the end of a reply */
	size_t nlate;
};

static struct {
	int64_t now_ms;
	int64_t wake_ms;
	bool refuses; /* connections, once the input is used up */
	bool pieces;  /* the client's sockets take and give single bytes */
	int idle;     /* turns without input in which no time passed */
	int turns;
	bool stepped; /* the wall clock was set */
	struct fake servers[SERVERS];
	struct connection connections[CONNECTIONS];
	void (*turn_cb)(void);
	void (*cancel_cb)(void);
} world;

static int
made_up_time(clockid_t clock, struct timespec *ts)
{
	int64_t ms = world.now_ms + (clock == CLOCK_REALTIME ? WALL_MS : 0);

	*ts = (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
	return 0;
}

static void
hang_up(struct connection *c)
{
	close(c->fd);
	redisReaderFree(c->reader);
	c->fd = -1;
}

/* Sends the rest of the input, which answers the first n requests. */
static void
flush_reply(struct connection *c, int n)
{
	struct fake *s = &world.servers[c->server];

	for (int i = 0; i < n; i++) {
		const struct request *r = &c->requests[i];

		if ((r->kind == ACQUIRE || r->kind == RENEW) &&
		    r->received_ms > s->answered_ms)
			s->answered_ms = r->received_ms;
	}
	c->n -= n;
	memmove(c->requests, c->requests + n,
	    (size_t)c->n * sizeof(*c->requests));
	if (c->nlate > 0)
		(void)!sendto(c->fd, c->late, c->nlate, MSG_NOSIGNAL, NULL, 0);
	c->nlate = 0;
	(void)!sendto(c->fd, out.text, out.len, MSG_NOSIGNAL, NULL, 0);
	out.len = 0;
}

/* The same, but the end comes with the next reply. */
static void
flush_half(struct connection *c)
{
	size_t half = out.len / 2;

	if (half > sizeof(c->late))
		half = sizeof(c->late);
	out.len -= half;
	flush_reply(c, 1);
	memcpy(c->late, out.text + out.len, half);
	c->nlate = half;
}

/* EVAL script keys key beside [watched] id token mode capacity slot ... */
static void
receive_request(struct connection *c, const redisReply *r)
{
	struct request *request = &c->requests[c->n];

	if (r->type != REDIS_REPLY_ARRAY || r->elements == 0 ||
	    c->n++ == REQUESTS)
		abort();
	*request = (struct request){ .received_ms = world.now_ms, .slot = 1 };
	request->kind = kind_of(r);
	if (request->kind == ACQUIRE) {
		const int id = 3 + atoi(r->element[2]->str);

		snprintf(world.servers[c->server].id, OWNER_ID, "%s",
		    r->element[id]->str);
		request->slot = atoi(r->element[id + 4]->str);
		request->slot += request->slot == 0;
	}
}

/* Reads the client's requests on this connection. */
static void
receive(struct connection *c)
{
	char buf[16384];
	void *reply;
	ssize_t n;

	while ((n = recvfrom(c->fd, buf, sizeof(buf), MSG_DONTWAIT, NULL,
		    NULL)) > 0) {
		if (redisReaderFeed(c->reader, buf, (size_t)n) != REDIS_OK)
			abort();
		while (redisReaderGetReply(c->reader, &reply) == REDIS_OK &&
		    reply != NULL) {
			receive_request(c, reply);
			freeReplyObject(reply);
		}
		if (c->reader->err != 0)
			abort(); /* the client speaks nonsense */
	}
	/* ECONNRESET: it has closed and left a reply unread. */
	if (n == 0 || (n == -1 && errno == ECONNRESET))
		hang_up(c);
}

/* A connection of which a reply is due, or NULL. */
static struct connection *
choose_connection(unsigned int nth)
{
	struct connection *list[CONNECTIONS];
	unsigned int n = 0;

	for (int i = 0; i < CONNECTIONS; i++)
		if (world.connections[i].fd != -1 && world.connections[i].n > 0)
			list[n++] = &world.connections[i];
	return n == 0 ? NULL : list[nth % n];
}

/* A server pushes that a key has changed, on a connection of any kind. */
static void
push(unsigned int nth)
{
	for (unsigned int i = 0; i < 2 * CONNECTIONS; i++) {
		struct connection *c = &world.connections[i % CONNECTIONS];

		if (c->fd == -1 || nth-- > 0)
			continue;
		say_push(&world.servers[c->server]);
		flush_reply(c, 0);
		return;
	}
}

/* Time passes, whether or not the client wanted to be woken meanwhile. */
static void
let_time_pass(void)
{
	static const int steps_ms[] = { 1, 2, 5, 10, 20, 50, 100, 333, 1000,
		3000, 20000, 61000 };
	const uint8_t n = take();

	if (n == 255 && world.cancel_cb != NULL)
		world.cancel_cb();
	world.stepped = world.stepped || n == 254;
	if (n < sizeof(steps_ms) / sizeof(steps_ms[0]))
		world.now_ms += steps_ms[n];
	else if (world.wake_ms != CLOCK_NEVER && world.wake_ms > world.now_ms)
		world.now_ms = world.wake_ms;
}

/* Something happens that the input has chosen. */
static void
act(void)
{
	const uint8_t what = take();
	struct connection *c = choose_connection(what >> 4);
	const struct request *r;
	const struct fake *s;

	if (HIREDIS_MAJOR >= 1 && (what & 15) == 13) {
		push(what >> 4);
		return;
	}
	if (c == NULL) {
		let_time_pass();
		return;
	}
	world.now_ms++;
	r = &c->requests[0];
	s = &world.servers[c->server];
	switch (what & 15) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
		say_form(s, r, yes[r->kind]);
		break;
	case 5:
	case 6:
	case 7:
		say_form(s, r, no[r->kind][take() & 1]);
		break;
	case 8:
		say_error(r);
		break;
	case 9:
		say_anything(s, 0);
		break;
	case 10:
		for (int n = take() % 32; n > 0; n--)
			out.text[out.len++] = (char)take();
		flush_reply(c, c->n); /* or more of them, or fewer */
		return;
	case 11:
		hang_up(c);
		return;
	case 12:
		say_form(s, r, yes[r->kind]);
		flush_half(c);
		return;
	default:
		let_time_pass();
		return;
	}
	flush_reply(c, 1);
}

/* Nothing more comes: the next thing that happens is the client's timer. */
static void
act_silent(void)
{
	if (world.wake_ms == CLOCK_NEVER)
		abort(); /* it waits for ever */
	if (world.wake_ms > world.now_ms) {
		world.now_ms = world.wake_ms;
		world.idle = 0;
	} else if (++world.idle > IDLE_TURNS)
		abort(); /* it spins */
}

static bool
connecting(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return false;
	for (int i = 0; i < CONNECTIONS; i++) {
		const struct connection *c = &world.connections[i];

		if (c->fd != -1 && c->client == st.st_ino)
			return c->connected_ms > world.now_ms;
	}
	return false;
}

/* The last of fds tell of the timer and of a step of the wall clock. */
static int
look(struct pollfd *fds, nfds_t n)
{
	int ready = 0;

	/* libFuzzer's own timer may interrupt it. */
	while (poll(fds, n - 2, 0) == -1)
		if (errno != EINTR)
			abort();
	for (nfds_t i = 0; i + 2 < n; i++)
		if ((fds[i].revents & POLLOUT) && connecting(fds[i].fd))
			fds[i].revents = 0;
	fds[n - 2].revents = world.now_ms >= world.wake_ms ? POLLIN : 0;
	fds[n - 1].revents = world.stepped ? POLLIN : 0;
	world.stepped = false;
	for (nfds_t i = 0; i < n; i++)
		ready += fds[i].revents != 0;
	return ready;
}

static int
made_up_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	int ready;

	(void)timeout_ms;
	if (++world.turns > TURNS)
		abort(); /* it has no end */
	if (world.turn_cb != NULL)
		world.turn_cb();
	for (;;) {
		for (int i = 0; i < CONNECTIONS; i++)
			if (world.connections[i].fd != -1)
				receive(&world.connections[i]);
		ready = look(fds, n);
		if (ready > 0)
			return ready;
		if (input.left > 0)
			act();
		else
			act_silent();
	}
}

static int
made_up_timer(int fd, int flags, const struct itimerspec *its)
{
	(void)fd;
	if (flags & TFD_TIMER_CANCEL_ON_SET)
		return 0;
	world.wake_ms = its->it_value.tv_sec * INT64_C(1000) +
	    its->it_value.tv_nsec / 1000000;
	if (world.wake_ms == 0)
		world.wake_ms = CLOCK_NEVER;
	return 0;
}

/* A place for a connection; there are never too many. */
static struct connection *
new_connection(void)
{
	struct connection *c = world.connections;

	while (c->fd != -1)
		if (++c == world.connections + CONNECTIONS)
			abort();
	return c;
}

/* Which of the servers an address means. */
static int
server_at(const struct sockaddr *sa)
{
	const struct sockaddr_in *in = (const void *)sa;
	const struct sockaddr_un *un = (const void *)sa;

	if (sa->sa_family == AF_UNIX)
		return (un->sun_path[1] - '0') % SERVERS;
	if (sa->sa_family == AF_INET)
		return (int)(ntohl(in->sin_addr.s_addr) % SERVERS);
	return 0;
}

/*
 * The socket becomes one end of a pair.  Once in sixteen times it is refused,
 * has no place in the backlog, or stays on its way.
 */
int
connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t len)
{
	const uint8_t how = take() & 15;
	struct connection *c;
	struct stat st;
	int pair[2];

	(void)len;
	if (connecting(fd)) {
		errno = EALREADY;
		return -1;
	}
	if (how == 15 || (input.left == 0 && world.refuses)) {
		errno = ECONNREFUSED;
		return -1;
	}
	if (how == 14) {
		errno = EAGAIN;
		return -1;
	}
	c = new_connection();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == -1 ||
	    dup2(pair[0], fd) == -1 || fstat(fd, &st) == -1)
		abort();
	close(pair[0]);
	*c = (struct connection){ .fd = pair[1],
		.client = st.st_ino,
		.server = server_at(address.__sockaddr__),
		.connected_ms = how == 13 ? CLOCK_NEVER :
		    how == 12             ? world.now_ms + 30 :
					    0,
		.reader = redisReaderCreate() };
	errno = EINPROGRESS;
	return c->connected_ms == 0 ? 0 : -1;
}

/* How many of len bytes the client's socket takes or gives; -1: none now. */
static ssize_t
piece(size_t len)
{
	const uint8_t how = world.pieces ? take() : 0;

	if (how < 200)
		return (ssize_t)len;
	if (how < 240)
		return len < how - 199u ? (ssize_t)len : how - 199;
	errno = how % 2 ? EAGAIN : EINTR;
	return -1;
}

ssize_t
send(int fd, const void *bytes, size_t len, int flags)
{
	const ssize_t n = piece(len);

	if (connecting(fd)) {
		errno = EAGAIN;
		return -1;
	}
	return n < 0 ? -1 : sendto(fd, bytes, (size_t)n, flags, NULL, 0);
}

ssize_t
recv(int fd, void *buf, size_t len, int flags)
{
	const ssize_t n = piece(len);

	return n < 0 ? -1 : recvfrom(fd, buf, (size_t)n, flags, NULL, NULL);
}

/* TCP_NODELAY and the like are not for a pair of sockets. */
int
setsockopt(int fd, int layer, int name, const void *value, socklen_t len)
{
	(void)fd, (void)layer, (void)name, (void)value, (void)len;
	return 0;
}

static int
made_up_lookup(const char *host, const char *port, const struct addrinfo *hints,
    struct addrinfo **list)
{
	static struct sockaddr_in in = { .sin_family = AF_INET };
	static struct addrinfo found = { .ai_family = AF_INET,
		.ai_addrlen = sizeof(in),
		.ai_addr = (struct sockaddr *)&in };

	(void)host, (void)port, (void)hints;
	in.sin_addr.s_addr = htonl(0x0a000000u + take() % 8);
	*list = &found;
	return in.sin_addr.s_addr == htonl(0x0a000007) ? EAI_NONAME : 0;
}

static int
made_up_thread(pthread_t *thread, const pthread_attr_t *attr,
    void *(*run)(void *), void *arg)
{
	(void)thread, (void)attr;
	run(arg);
	return 0;
}

/* Bytes that reach people are printable, and have no secret in them. */
static void
judge_text(const char *text, size_t len)
{
	uint32_t cp;
	size_t n;

	if (memmem(text, len, SECRET, strlen(SECRET)) != NULL)
		abort();
	for (; len > 0; text += n, len -= n) {
		n = utf8_decode(text, len, &cp);
		if (n == 0 || (cp != '\n' && unprintable(cp)))
			abort();
	}
}

/* One line of ours. */
static ssize_t
made_up_write(int fd, const char *text, size_t len)
{
	(void)fd;
	if (len < 14 || memcmp(text, "redlock-run: ", 13) != 0 ||
	    memchr(text, '\n', len) != text + len - 1)
		abort();
	judge_text(text, len);
	return (ssize_t)len;
}

/*
 * Whether the input has the secret itself, as libFuzzer makes it of our own
 * comparisons with -use_cmp: it then reaches people from there.
 */
static bool
knows_secret(const uint8_t *data, size_t len)
{
	return memmem(data, len, SECRET, strlen(SECRET)) != NULL;
}

static void
world_begin(const uint8_t *data, size_t len)
{
	memset(&world, 0, sizeof(world));
	input.next = data;
	input.left = len;
	world.now_ms = START;
	out.len = 0;
	for (int i = 0; i < CONNECTIONS; i++)
		world.connections[i].fd = -1;
	for (int i = 0; i < SERVERS; i++)
		world.servers[i] = (struct fake){ .number = i, .id = "none " };
}

/* The client must have closed all of its connections. */
static void
world_end(void)
{
	for (int i = 0; i < CONNECTIONS; i++) {
		struct connection *c = &world.connections[i];

		if (c->fd == -1)
			continue;
		receive(c);
		if (c->fd != -1)
			abort();
	}
}

#endif
