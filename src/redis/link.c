/*
 * Uses only what hiredis 0.14 and 1.x share.
 *
 * hiredis frees a connection by itself whenever it fails.  Exactly one place
 * sets link->ac to NULL: the cleanup hook, which runs before every free.  No
 * connect callback is set, because freeing inside one is a use-after-free in
 * 0.14.1, and a failed connect completes the first request anyway.
 */
#include <errno.h>
#include <fcntl.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/clock.h"
#include "redis/error.h"
#include "redis/handshake.h"
#include "redis/link.h"
#include "redis/tls.h"
#include "redis/topology.h"

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch)                                      \
	TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *
link_hiredis_version(void)
{
	return VERSION_TEXT(HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
}

static void
set_why(struct link *l, enum reply_kind kind, const char *why)
{
	l->failure = kind;
	error_copy(l->why, sizeof(l->why), why);
}

void
link_abort(struct link *l, enum reply_kind kind, const char *why)
{
	set_why(l, kind, why);
	l->doomed = true;
}

/*
 * hiredis calls these when it wants to read or write; they set poll()'s events.
 */
static void
add_read_cb(void *arg)
{
	((struct link *)arg)->watch.events |= POLLIN;
}

static void
del_read_cb(void *arg)
{
	((struct link *)arg)->watch.events &= (short)~POLLIN;
}

static void
add_write_cb(void *arg)
{
	((struct link *)arg)->watch.events |= POLLOUT;
}

static void
del_write_cb(void *arg)
{
	((struct link *)arg)->watch.events &= (short)~POLLOUT;
}

/* Whether the TLS handshake is still under way. */
static bool
tls_awaited(const struct link *l)
{
	return l->ssl != NULL && !tls_module()->ready(l->ssl);
}

static enum reply_kind
tls_kind(enum tls_trouble trouble)
{
	return trouble == TLS_REFUSED ? REPLY_DENIED : REPLY_LOST;
}

/*
 * Replaces an error that quotes part of the reply to AUTH: hiredis quotes the
 * byte that it cannot read, which may be one of the password.  Some versions
 * end the connection first, others the requests without a reply.
 */
static void
hide_auth_reply(struct link *l, int tag)
{
	if (tag == HANDSHAKE_AUTH && l->ac->err == REDIS_ERR_PROTOCOL)
		set_why(l, REPLY_LOST, "malformed reply to AUTH");
}

/* Finds out whether we, TLS or the socket ended the connection. */
static void
explain_end(struct link *l)
{
	static const char connecting[] = "SSL_connect failed: ";
	const char *errstr = l->ac->c.errstr;
	char why[TLS_WHY];
	enum tls_trouble trouble = TLS_FINE;

	if (!pending_empty(&l->pending))
		hide_auth_reply(l, pending_first_tag(&l->pending));
	if (l->ssl != NULL)
		trouble = tls_module()->trouble(l->ssl, why);
	if (trouble == TLS_REFUSED)
		l->established = false;
	if (l->why[0] != '\0')
		return;
	if (trouble != TLS_FINE)
		set_why(l, tls_kind(trouble), why);
	else if (strncmp(errstr, connecting, sizeof(connecting) - 1) == 0)
		set_why(l, REPLY_LOST, errstr + sizeof(connecting) - 1);
	else {
		l->broken = errstr[0] != '\0';
		set_why(l, REPLY_LOST,
		    l->broken ? errstr : "the connection was closed");
	}
}

/* Whether the server has accepted an open connection, including TLS. */
static bool
accepted(const struct link *l)
{
	return (l->ac->c.flags & REDIS_CONNECTED) != 0 && !tls_awaited(l);
}

/*
 * Overwrites the text of AUTH that hiredis has written and freed.  hiredis
 * offers no way to do that itself, so this takes the block that was freed last,
 * whose size is that of its strings: twice the text and a header of 3 to 9
 * bytes.
 */
static void
wipe_written(struct link *l)
{
	size_t size = 2 * l->secret_len + 1;
	char *first, *second;

	if (l->secret_len == 0 ||
	    (l->ac != NULL && l->ac->c.obuf != NULL &&
		l->ac->c.obuf[0] != '\0'))
		return;
	first = malloc(size + 3);
	second = malloc(size + 9);
	if (first != NULL)
		explicit_bzero(first, size + 3);
	if (second != NULL)
		explicit_bzero(second, size + 9);
	free(second);
	free(first);
	l->secret_len = 0;
}

/* Overwrites the text of AUTH that was not written. */
static void
wipe_unwritten(struct link *l)
{
	if (l->secret_len != 0 && l->ac->c.obuf != NULL)
		explicit_bzero(l->ac->c.obuf, strlen(l->ac->c.obuf));
	l->secret_len = 0;
}

/* hiredis is about to free the connection, on its own or on our request. */
static void
cleanup_cb(void *arg)
{
	struct link *l = arg;

	l->established = accepted(l);
	explain_end(l);
	wipe_unwritten(l);
	l->ac = NULL;
	l->ssl = NULL;
	l->doomed = false;
	loop_remove(l->loop, &l->watch);
	if (!l->closing)
		l->closed_cb(l->arg);
}

/*
 * The socket is readable, writable or broken.  Both halves may free the
 * connection, so ac is read again after each.
 */
static void
socket_cb(void *arg, short revents)
{
	struct link *l = arg;
	char why[TLS_WHY];

	l->active_ms = clock_now_ms();
	/* hiredis may connect() again and discard the server's last message. */
	if ((revents & (POLLERR | POLLHUP)) && l->ssl != NULL)
		tls_module()->trouble(l->ssl, why);
	if ((revents & POLLOUT) && l->ac != NULL)
		redisAsyncHandleWrite(l->ac);
	wipe_written(l);
	if ((revents & (POLLIN | POLLERR | POLLHUP)) && l->ac != NULL)
		redisAsyncHandleRead(l->ac);
	if (l->ac != NULL && l->ac->c.reader->len > REPLY_MAX)
		link_abort(l, REPLY_LOST, "the reply is too long");
}

void
link_init(struct link *l, struct loop *loop,
    void (*reply_cb)(void *arg, struct pending_request *, const struct reply *),
    void (*closed_cb)(void *arg), void *arg)
{
	memset(l, 0, sizeof(*l));
	l->loop = loop;
	l->reply_cb = reply_cb;
	l->closed_cb = closed_cb;
	l->arg = arg;
	l->watch =
	    (struct loop_watch){ .fd = -1, .ready_cb = socket_cb, .arg = l };
}

/* Ends each request exactly once; value is NULL if the connection was lost. */
static void
hiredis_reply_cb(struct redisAsyncContext *ac, void *value, void *arg)
{
	struct link *l = arg;
	const redisReply *r = value;
	struct pending_request request = pending_take(&l->pending);
	bool auth = request.tag == HANDSHAKE_AUTH;
	struct reply reply = {
		.value = r, .tag = request.tag, .sent_ms = request.sent_ms
	};

	if (r == NULL) {
		if (l->ac != NULL)
			hide_auth_reply(l, request.tag);
		reply.kind = REPLY_LOST;
		reply.text = l->why[0] != '\0' ? l->why : ac->c.errstr;
	} else if (r->type == REDIS_REPLY_ERROR) {
		l->replied = true;
		error_trim(r->str);
		reply.kind = error_kind(r->str);
		reply.text = auth ? error_of_auth(r->str) : error_text(r->str);
	} else {
		l->replied = true;
		reply.kind = REPLY_OK;
		reply.size = reply_cost(&l->budget);
	}
	l->reply_cb(l->arg, &request, &reply);
	free(request.bytes);
}

/* Watches a connection that hiredis has begun. */
static int
watch(struct link *l, redisAsyncContext *ac)
{
	reply_limit(&l->budget, &l->pending, ac->c.reader);
	ac->ev.data = l;
	ac->ev.addRead = add_read_cb;
	ac->ev.delRead = del_read_cb;
	ac->ev.addWrite = add_write_cb;
	ac->ev.delWrite = del_write_cb;
	ac->ev.cleanup = cleanup_cb;
	l->ac = ac;
	l->watch.fd = ac->c.fd;
	l->watch.events = POLLIN;
	if (loop_add(l->loop, &l->watch) == 0)
		return 0;
	link_close(l, strerror(errno));
	errno = 0;
	return -1;
}

/*
 * Sends small requests at once.  Probes an idle connection, so that a firewall
 * or a NAT keeps it, and so that we notice when one has forgotten it.
 */
static void
tune_tcp(int fd)
{
	const int on = 1, idle_s = 20, pause_s = 5, probes = 3;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &pause_s, sizeof(pause_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

int
link_open(struct link *l, const char *path, const struct target *to, bool tls)
{
	enum tls_trouble trouble;
	char why[TLS_WHY];
	redisAsyncContext *ac;
	int error;

	l->why[0] = '\0';
	l->established = l->broken = false;
	l->active_ms = clock_now_ms();
	errno = 0;
	ac = path[0] != '\0' ? redisAsyncConnectUnix(path) :
			       redisAsyncConnect(to->ip, to->port);
	if (ac == NULL || ac->err != 0) {
		error = errno;
		set_why(
		    l, REPLY_LOST, ac == NULL ? strerror(ENOMEM) : ac->errstr);
		if (ac != NULL && error == EPERM &&
		    strcmp(l->why, strerror(error)) == 0)
			/* By a seccomp filter or a firewall. */
			snprintf(l->why, sizeof(l->why), "%s: %s",
			    path[0] != '\0' && ac->c.fd == -1 ? "socket" :
								"connect",
			    ac->errstr);
		if (ac != NULL)
			redisAsyncFree(ac);
		errno = error;
		return -1;
	}
	fcntl(ac->c.fd, F_SETFD, FD_CLOEXEC);
	if (path[0] == '\0')
		tune_tcp(ac->c.fd);
	if (tls &&
	    (l->ssl = tls_start(&ac->c, to->name, &trouble, why)) == NULL) {
		set_why(l, tls_kind(trouble), why);
		redisAsyncFree(ac);
		errno = 0;
		return -1;
	}
	return watch(l, ac);
}

bool
link_connected(const struct link *l)
{
	return l->ac != NULL && accepted(l);
}

bool
link_reached(const struct link *l)
{
	return l->ac != NULL && (l->ac->c.flags & REDIS_CONNECTED) != 0;
}

bool
link_tls_awaited(const struct link *l)
{
	return link_reached(l) && tls_awaited(l);
}

int
link_send(
    struct link *l, int tag, int argc, const char *const argv[], bool keep)
{
	const char **words = (const char **)(uintptr_t)argv;
	bool secret = tag == HANDSHAKE_AUTH;
	long long len = 0;
	char *bytes = NULL;
	int sent;

	if (pending_full(&l->pending) || l->ac == NULL)
		return -1;
	if (keep || secret) {
		len = redisFormatCommandArgv(&bytes, argc, words, NULL);
		sent = len < 0 ? REDIS_ERR :
				 redisAsyncFormattedCommand(l->ac,
				     hiredis_reply_cb, l, bytes, (size_t)len);
	} else
		sent = redisAsyncCommandArgv(
		    l->ac, hiredis_reply_cb, l, argc, words, NULL);
	if (secret && len > 0) {
		l->secret_len = (size_t)len;
		explicit_bzero(bytes, (size_t)len);
	}
	if (sent != REDIS_OK || secret) {
		free(bytes);
		bytes = NULL;
	}
	if (sent != REDIS_OK)
		return -1;
	pending_add(&l->pending,
	    (struct pending_request){ .tag = tag,
		.sent_ms = clock_now_ms(),
		.bytes = bytes,
		.len = (size_t)len });
	return 0;
}

int
link_resend(struct link *l, const struct pending_request *r)
{
	if (pending_full(&l->pending) ||
	    redisAsyncFormattedCommand(
		l->ac, hiredis_reply_cb, l, r->bytes, r->len) != REDIS_OK)
		return -1;
	pending_add(&l->pending, *r);
	return 0;
}

void
link_sweep(struct link *l)
{
	if (l->doomed)
		redisAsyncFree(l->ac);
}

void
link_close(struct link *l, const char *why)
{
	if (l->ac == NULL)
		return;
	if (l->why[0] == '\0' && why != NULL && tls_awaited(l)) {
		l->failure = REPLY_LOST;
		snprintf(l->why, sizeof(l->why),
		    "%.200s to the TLS handshake (does this port speak TLS?)",
		    why);
	} else if (l->why[0] == '\0')
		set_why(l, REPLY_LOST, why != NULL ? why : "closed");
	l->closing = true;
	redisAsyncFree(l->ac);
	l->closing = false;
}

void
link_finish(struct link *l)
{
	char discarded[4096];

	redisAsyncHandleWrite(l->ac);
	if (l->ac == NULL)
		return;
	/* close() with unread data would reset the connection. */
	while (
	    recv(l->ac->c.fd, discarded, sizeof(discarded), MSG_DONTWAIT) > 0)
		continue;
	shutdown(l->ac->c.fd, SHUT_WR);
}
