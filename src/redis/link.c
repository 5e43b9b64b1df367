/*
 * The socket is ours; hiredis formats requests and parses replies.  Requests
 * wait in a buffer until the loop polls, so that several leave together and
 * none waits for a poll(2).  After a failed send() the server's last words,
 * which have the reason, are read before the connection is closed.
 */
#include <errno.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "redis/dial.h"
#include "redis/error.h"
#include "redis/handshake.h"
#include "redis/link.h"
#include "redis/tls.h"
#include "redis/topology.h"

static char buffer[16384]; /* bytes that come or go, on their way */

/*
 * Each push and each small read takes time, and nothing else limits how many come
 * without a reply.  A server pushes a key once after each request that reads it.
 */
#define PIECES_MAX 1024
#define SMALL      256 /* bytes */

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch)                                      \
	TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *
link_hiredis_version(void)
{
	return VERSION_TEXT(HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
}

bool
link_reads_pushes(void)
{
#ifdef REDIS_REPLY_PUSH
	return true;
#else
	return false;
#endif
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

/* Whether the TLS handshake is still under way. */
static bool
tls_awaited(const struct link *l)
{
	return l->ssl != NULL && !tls_module()->ready(l->ssl);
}

/* Ends the first request. */
static void
end_request(struct link *l, struct reply *reply)
{
	struct pending_request request = pending_take(&l->pending);

	reply->tag = request.tag;
	reply->sent_ms = request.sent_ms;
	l->reply_cb(l->arg, &request, reply);
	free(request.bytes);
}

/* Closes the connection; ->why has the reason. */
static void
shut(struct link *l)
{
	struct reply lost = { .kind = REPLY_LOST, .text = l->why };

	l->established = link_connected(l);
	second_end(&l->second);
	loop_remove(l->loop, &l->watch);
	close(l->fd);
	l->fd = -1;
	if (l->ssl != NULL)
		tls_module()->end(l->ssl);
	l->ssl = NULL;
	redisReaderFree(l->reader);
	l->reader = NULL;
	bytes_release(&l->requests);
	bytes_release(&l->out);
	while (!pending_empty(&l->pending))
		end_request(l, &lost);
	l->doomed = false;
}

/* Moves what TLS has encrypted to ->out.  Returns -1 with errno. */
static int
take_encrypted(struct link *l)
{
	size_t n;

	while ((n = tls_module()->take(l->ssl, buffer, sizeof(buffer))) > 0)
		if (bytes_add(&l->out, buffer, n) == -1)
			return -1;
	return 0;
}

/* Gives the requests to TLS, or continues its handshake. */
static int
encrypt_plain(struct link *l)
{
	size_t len;
	const char *first = bytes_first(&l->requests, &len);

	switch (tls_module()->write(l->ssl, first, len)) {
	case 1:
		bytes_drop(&l->requests, len);
		break;
	case -1:
		errno = EPROTO;
		return -1;
	}
	return take_encrypted(l);
}

/* Sends what the socket takes. */
static void
send_out(struct link *l)
{
	const char *first;
	size_t len;
	ssize_t n;

	while (!l->blocked && !bytes_empty(&l->out)) {
		first = bytes_first(&l->out, &len);
		n = send(l->fd, first, len, MSG_NOSIGNAL);
		if (n >= 0) {
			l->connected = true;
			l->active_ms = clock_now_ms();
			bytes_drop(&l->out, (size_t)n);
		} else if (errno == EAGAIN || errno == EINTR) {
			l->blocked = true;
		} else {
			l->error = errno;
			return;
		}
	}
}

/*
 * Sends before the loop polls.  After an error POLLOUT stays, so that the poll
 * ends at once and socket_cb() reads the server's last words.
 */
static void
flush_cb(void *arg)
{
	struct link *l = arg;

	if (l->error == 0 && l->ssl != NULL && encrypt_plain(l) == -1)
		l->error = errno;
	if (l->error == 0)
		send_out(l);
	if (l->error == 0 && l->connected && bytes_empty(&l->out))
		l->watch.events &= (short)~POLLOUT;
}

/*
 * The server, TLS or the socket ends the connection; TLS has the better reason,
 * and the server gets its alert.
 */
static void
fail(struct link *l, bool broken, const char *why)
{
	enum tls_trouble trouble = TLS_FINE;
	char text[TLS_WHY];

	if (l->ssl != NULL) {
		trouble = tls_module()->trouble(l->ssl, text);
		if (take_encrypted(l) == 0)
			send_out(l);
	}
	if (l->why[0] == '\0' && trouble != TLS_FINE)
		set_why(l, trouble == TLS_REFUSED ? REPLY_DENIED : REPLY_LOST,
		    text);
	else if (l->why[0] == '\0') {
		l->broken = broken;
		set_why(l, REPLY_LOST, why);
	}
	shut(l);
	if (trouble == TLS_REFUSED)
		l->established = false;
	l->closed_cb(l->arg);
}

static void
fail_errno(struct link *l, int error)
{
	fail(l, true, strerror(error));
}

/* Whether the next reply is one to AUTH, which may quote the password. */
static bool
auth_is_first(const struct link *l)
{
	return !pending_empty(&l->pending) &&
	    pending_first_tag(&l->pending) == HANDSHAKE_AUTH;
}

/* Delivers a reply to its request. */
static void
deliver(struct link *l, redisReply *r)
{
	struct reply reply = { .kind = REPLY_OK };

	l->replied = true;
	l->pieces = 0;
	if (r->type == REDIS_REPLY_ERROR) {
		error_trim(r->str);
		reply.kind = error_kind(r->str);
		reply.text = auth_is_first(l) ? error_of_auth(r->str) :
						error_text(r->str);
	} else {
		reply.value = r;
		reply.size = reply_cost(&l->budget);
	}
	end_request(l, &reply);
}

/* Calls push_cb for each changed key that a push names; nil stands for all. */
static void
take_push(struct link *l, const redisReply *r)
{
	const redisReply *keys = r->elements == 2 ? r->element[1] : NULL;

	if (keys == NULL || r->element[0]->type != REDIS_REPLY_STRING ||
	    strcmp(r->element[0]->str, "invalidate") != 0)
		return;
	if (keys->type == REDIS_REPLY_NIL)
		l->push_cb(l->arg, NULL, 0);
	if (keys->type != REDIS_REPLY_ARRAY)
		return;
	for (size_t i = 0; i < keys->elements; i++)
		if (keys->element[i]->type == REDIS_REPLY_STRING)
			l->push_cb(l->arg, keys->element[i]->str,
			    keys->element[i]->len);
}

/* The parser has met something that is not a reply, or was stopped. */
static void
fail_reply(struct link *l)
{
	if (l->budget.refusal != NULL)
		fail(l, false, l->budget.refusal);
	else if (auth_is_first(l) && l->reader->err == REDIS_ERR_PROTOCOL)
		fail(l, false, "malformed reply to AUTH");
	else
		fail(l, true, l->reader->errstr);
}

/* Takes n bytes of replies.  Returns false if the connection has closed. */
static bool
parse(struct link *l, size_t n)
{
	const char *why;
	void *value;

	redisReaderFeed(l->reader, buffer, n);
	while (link_is_open(l) &&
	    redisReaderGetReply(l->reader, &value) == REDIS_OK &&
	    value != NULL) {
		redisReply *r = value;

		if (reply_was_push(&l->budget)) {
			l->pieces++;
			take_push(l, r);
		} else if (!pending_empty(&l->pending))
			deliver(l, r);
		else /* "max number of clients" and the like */
			fail(l, false, r->str);
		freeReplyObject(r);
	}
	if (!link_is_open(l))
		return false;
	if (l->reader->err != 0)
		fail_reply(l);
	else if ((why = reply_excess(&l->budget,
		      l->reader->len - l->reader->pos)) != NULL)
		fail(l, false, why);
	return link_is_open(l);
}

/* Takes n bytes from the socket. */
static void
take_bytes(struct link *l, size_t n)
{
	ssize_t len;

	if (l->ssl == NULL) {
		parse(l, n);
		return;
	}
	if (!tls_module()->feed(l->ssl, buffer, n)) {
		fail_errno(l, ENOMEM);
		return;
	}
	while ((len = tls_module()->read(l->ssl, buffer, sizeof(buffer))) > 0)
		if (!parse(l, (size_t)len))
			return;
	if (len == -1)
		fail(l, true, "the server closed the connection");
	else /* TLS may have to answer, or waited for this */
		l->watch.events |= POLLOUT;
}

/* Ends a connection on which too much comes without a reply. */
static void
limit_pieces(struct link *l)
{
	if (!link_is_open(l) || l->pieces <= PIECES_MAX)
		return;
	l->flooded = l->budget.takes_pushes;
	fail(l, false,
	    l->flooded ? "too many pushes" : "the reply has too many pieces");
}

static void
receive(struct link *l)
{
	ssize_t n = recv(l->fd, buffer, sizeof(buffer), 0);

	if (n > 0) {
		l->connected = true;
		l->pieces += n < SMALL && !tls_awaited(l);
		take_bytes(l, (size_t)n);
		limit_pieces(l);
	} else if (n == -1 && errno == EINTR) {
		return;
	} else if (l->error != 0) { /* and all has been read */
		fail_errno(l, l->error);
	} else if (n == 0) {
		fail(l, true, "the server closed the connection");
	} else if (errno != EAGAIN) {
		fail_errno(l, errno);
	}
}

/* The socket is readable, writable or broken. */
static void
socket_cb(void *arg, short revents)
{
	struct link *l = arg;

	l->active_ms = clock_now_ms();
	second_end(&l->second);
	if (!l->connected && l->error == 0) {
		l->error = dial_result(l->fd);
		l->connected = l->error == 0;
	}
	if (revents & POLLOUT)
		l->blocked = false;
	if (l->error != 0 || (revents & (POLLIN | POLLERR | POLLHUP)))
		receive(l);
}

/* The second socket takes the place of a first one that has sent nothing yet. */
static void
second_cb(void *arg, int fd)
{
	struct link *l = arg;

	if (l->connected) {
		close(fd);
		return;
	}
	loop_remove(l->loop, &l->watch);
	close(l->fd);
	l->fd = l->watch.fd = fd;
	l->connected = true;
	l->blocked = false;
	l->active_ms = clock_now_ms();
	loop_add(l->loop, &l->watch); /* in one of the two places given up */
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
	l->fd = -1;
	l->watch = (struct loop_watch){
		.fd = -1, .ready_cb = socket_cb, .flush_cb = flush_cb, .arg = l
	};
	second_init(&l->second, loop, second_cb, l);
}

/* Undoes a part of link_open(). */
static int
not_opened(struct link *l, const char *why)
{
	set_why(l, REPLY_LOST, why);
	shut(l);
	l->established = false;
	errno = 0;
	return -1;
}

int
link_open(struct link *l, const char *path, const struct target *to, bool tls)
{
	char why[TLS_WHY];
	int error;

	l->why[0] = '\0';
	l->established = l->broken = l->flooded = l->blocked = false;
	l->error = l->pieces = 0;
	l->active_ms = clock_now_ms();
	if ((l->fd = dial(path, to, &l->connected, why)) == -1) {
		error = errno;
		set_why(l, REPLY_LOST, why);
		errno = error;
		return -1;
	}
	if ((l->reader = redisReaderCreate()) == NULL)
		return not_opened(l, strerror(ENOMEM));
	reply_limit(&l->budget, &l->pending, l->reader);
	if (tls && (l->ssl = tls_start(to->name, why)) == NULL)
		return not_opened(l, why);
	l->watch.fd = l->fd;
	l->watch.events = POLLIN | POLLOUT;
	if (loop_add(l->loop, &l->watch) == -1)
		return not_opened(l, strerror(errno));
	return 0;
}

void
link_open_second(struct link *l, const char *path, const struct target *to)
{
	if (link_is_open(l) && !l->connected)
		second_begin(&l->second, path, to);
}

bool
link_is_open(const struct link *l)
{
	return l->fd != -1;
}

bool
link_reached(const struct link *l)
{
	return link_is_open(l) && l->connected;
}

bool
link_connected(const struct link *l)
{
	return link_reached(l) && !tls_awaited(l);
}

bool
link_tls_awaited(const struct link *l)
{
	return link_reached(l) && tls_awaited(l);
}

/* Puts a request behind the others. */
static int
enqueue(struct link *l, const struct pending_request *r, const char *bytes)
{
	if (bytes_add(l->ssl != NULL ? &l->requests : &l->out, bytes, r->len) ==
	    -1)
		return -1;
	l->watch.events |= POLLOUT;
	pending_add(&l->pending, *r);
	return 0;
}

int
link_send(struct link *l, int tag, int argc, const char *const argv[],
    bool keep)
{
	const char **words = (const char **)(uintptr_t)argv;
	struct pending_request r = { .tag = tag, .sent_ms = clock_now_ms() };
	char *bytes = NULL;
	long long len;
	int sent;

	if (pending_full(&l->pending) || !link_is_open(l))
		return -1;
	len = redisFormatCommandArgv(&bytes, argc, words, NULL);
	if (len < 0)
		return -1;
	r.len = (size_t)len;
	r.bytes = keep ? bytes : NULL;
	sent = enqueue(l, &r, bytes);
	if (sent == -1 || !keep) {
		explicit_bzero(bytes, r.len); /* it may be a password */
		free(bytes);
	}
	return sent;
}

int
link_resend(struct link *l, const struct pending_request *r)
{
	if (pending_full(&l->pending) || !link_is_open(l))
		return -1;
	return enqueue(l, r, r->bytes);
}

void
link_take_pushes(struct link *l,
    void (*push_cb)(void *arg, const char *key, size_t len))
{
	l->push_cb = push_cb;
	l->budget.takes_pushes = link_reads_pushes();
}

void
link_sweep(struct link *l)
{
	if (!l->doomed)
		return;
	shut(l);
	l->closed_cb(l->arg);
}

void
link_close(struct link *l, const char *why)
{
	if (!link_is_open(l))
		return;
	if (l->why[0] == '\0' && why != NULL && link_tls_awaited(l)) {
		l->failure = REPLY_LOST;
		snprintf(l->why, sizeof(l->why),
		    "%.200s to the TLS handshake (does this port speak TLS?)",
		    why);
	} else if (l->why[0] == '\0')
		set_why(l, REPLY_LOST, why != NULL ? why : "closed");
	shut(l);
}

void
link_finish(struct link *l)
{
	ssize_t n = 1;

	l->blocked = false;
	flush_cb(l);
	/* close() with unread data would reset the connection. */
	for (size_t left = REPLY_MAX; n > 0 && left >= sizeof(buffer);
	     left -= sizeof(buffer))
		n = recv(l->fd, buffer, sizeof(buffer), 0);
	shutdown(l->fd, SHUT_WR);
}
