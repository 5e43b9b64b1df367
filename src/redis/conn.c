/*
 * One of two files that include hiredis (reply.c is the other); written to
 * what 0.14 and 1.x share.
 *
 * hiredis frees a connection by itself whenever it fails, so conn->ac becomes
 * NULL in exactly one place, the cleanup hook, which runs before every free.
 * No connect callback is set: freeing inside one is a use-after-free in
 * 0.14.1, and a failed connect answers the first request anyway.
 *
 * A connection may be one of several on the way: a Sentinel names the master,
 * a cluster's node the one that has the slot.  To go on from one to the next is
 * a hop, made by conn_sweep(); meanwhile the node is CONN_HANDSHAKE, and what a
 * cluster has not executed is sent again where it belongs.
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
#include "redis/conn.h"
#include "redis/handshake.h"
#include "redis/reply.h"

#define HOPS 8 /* that a request may take */

static void
set_why(struct conn *n, enum reply_kind kind, const char *why)
{
	n->failure = kind;
	snprintf(n->why, sizeof(n->why), "%s", why);
}

void
conn_abort(struct conn *n, enum reply_kind kind, const char *why)
{
	set_why(n, kind, why);
	n->doomed = true;
}

/* hiredis wants to read or write: it says so here, poll() sees it. */
static void
add_read_cb(void *arg)
{
	((struct conn *)arg)->watch.events |= POLLIN;
}

static void
del_read_cb(void *arg)
{
	((struct conn *)arg)->watch.events &= (short)~POLLIN;
}

static void
add_write_cb(void *arg)
{
	((struct conn *)arg)->watch.events |= POLLOUT;
}

static void
del_write_cb(void *arg)
{
	((struct conn *)arg)->watch.events &= (short)~POLLOUT;
}

/* Nobody sends them on any more. */
static void
drop_moved(struct conn *n)
{
	struct reply a = { .kind = REPLY_LOST, .text = n->why };

	while (n->nmoved > 0) {
		struct conn_request *r = &n->moved[--n->nmoved];

		a.tag = r->tag;
		a.sent_ms = r->sent_ms;
		free(r->bytes);
		n->reply_cb(n->arg, &a);
	}
}

/* No connection, and none on its way; why says why. */
static void
down(struct conn *n)
{
	n->state = CONN_DOWN;
	n->hop = false;
	drop_moved(n);
}

/* Whether TLS was meant to be spoken, and nothing came. */
static bool
handshaking(const struct conn *n)
{
	return n->ssl != NULL && !tls_module()->ready(n->ssl);
}

static enum reply_kind
tls_kind(enum tls_trouble trouble)
{
	return trouble == TLS_REFUSED ? REPLY_DENIED : REPLY_LOST;
}

/* What TLS had to do with the end of the connection, or hiredis. */
static void
explain(struct conn *n)
{
	static const char connecting[] = "SSL_connect failed: ";
	const char *errstr = n->ac->c.errstr;
	char why[TLS_WHY];
	enum tls_trouble trouble = TLS_FINE;

	if (n->ssl != NULL)
		trouble = tls_module()->trouble(n->ssl, why);
	if (trouble == TLS_REFUSED)
		n->established = false;
	if (n->why[0] != '\0')
		return;
	if (trouble != TLS_FINE)
		set_why(n, tls_kind(trouble), why);
	else if (strncmp(errstr, connecting, sizeof(connecting) - 1) == 0)
		set_why(n, REPLY_LOST, errstr + sizeof(connecting) - 1);
	else if (errstr[0] != '\0' && n->established && !n->heard &&
	    n->ssl == NULL && n->address.nat > 0)
		/* Its alert may have been lost. */
		snprintf(n->why, sizeof(n->why),
		    "%.200s (if it speaks TLS, it needs a rediss:// URL)",
		    errstr);
	else
		set_why(n, REPLY_LOST,
		    errstr[0] != '\0' ? errstr : "the connection was closed");
}

/* Whether it leads to the server itself, and that has accepted it. */
static bool
accepted(const struct conn *n, const redisAsyncContext *ac)
{
	return (ac->c.flags & REDIS_CONNECTED) != 0 && !n->at_sentinel &&
	    !handshaking(n);
}

/* The connection is about to be freed, by whomever. */
static void
cleanup_cb(void *arg)
{
	struct conn *n = arg;

	n->established = accepted(n, n->ac);
	explain(n);
	n->ac = NULL;
	n->ssl = NULL;
	n->doomed = false;
	loop_remove(n->loop, &n->watch);
	if (!n->hopping)
		down(n);
}

/*
 * Readable, writable or broken.  Either half may free the connection, so ac
 * is looked at again after each.
 */
static void
socket_cb(void *arg, short revents)
{
	struct conn *n = arg;
	char why[TLS_WHY];

	n->active_ms = clock_now_ms();
	/* hiredis may connect() again, and the server's last words are gone. */
	if ((revents & (POLLERR | POLLHUP)) && n->ssl != NULL)
		tls_module()->trouble(n->ssl, why);
	if ((revents & POLLOUT) && n->ac != NULL)
		redisAsyncHandleWrite(n->ac);
	if ((revents & (POLLIN | POLLERR | POLLHUP)) && n->ac != NULL)
		redisAsyncHandleRead(n->ac);
	if (n->ac != NULL && n->ac->c.reader->len > REPLY_MAX)
		conn_abort(n, REPLY_LOST, "it sends a reply that is too long");
}

static void found_cb(void *, const struct place *, const char *);
static void hiredis_reply_cb(struct redisAsyncContext *, void *, void *);

void
conn_init(struct conn *n, struct loop *loop, const struct address *address,
    conn_reply_cb *reply_cb, void *arg)
{
	memset(n, 0, sizeof(*n));
	n->address = *address;
	n->loop = loop;
	n->reply_cb = reply_cb;
	n->arg = arg;
	n->watch =
	    (struct loop_watch){ .fd = -1, .ready_cb = socket_cb, .arg = n };
	topology_init(&n->topology, loop, &n->address, found_cb, n);
	set_why(n, REPLY_LOST, "not connected yet");
}

int
conn_resolve(struct conn *n)
{
	char why[RESOLVE_WHY];

	n->nips = n->untried = 1;
	if (n->address.path[0] != '\0')
		return 0;
	if (topology_resolve(&n->topology, why) == -1)
		set_why(n, REPLY_LOST, why);
	n->nips = n->untried = n->topology.nips;
	return n->nips > 0 ? 0 : -1;
}

int
conn_send(struct conn *n, int tag, int argc, const char *const argv[])
{
	struct conn_request *r = &n->pending[n->tail % CONN_PENDING];
	const char **words = (const char **)(uintptr_t)argv;
	long long len = 0;
	char *bytes = NULL;
	int sent;

	if (n->tail - n->head == CONN_PENDING || n->ac == NULL)
		return -1;
	if (tag >= 0 && n->address.kind == ADDRESS_CLUSTER) {
		len = redisFormatCommandArgv(&bytes, argc, words, NULL);
		sent = len < 0 ? REDIS_ERR :
				 redisAsyncFormattedCommand(n->ac,
				     hiredis_reply_cb, n, bytes, (size_t)len);
	} else
		sent = redisAsyncCommandArgv(
		    n->ac, hiredis_reply_cb, n, argc, words, NULL);
	if (sent != REDIS_OK) {
		free(bytes);
		return -1;
	}
	*r = (struct conn_request){ .tag = tag,
		.sent_ms = clock_now_ms(),
		.bytes = bytes,
		.len = (size_t)len };
	n->tail++;
	return 0;
}

/*
 * What was asked elsewhere is asked here, in its order, as if it were now.  What
 * cannot be is answered with the end of the connection.
 */
static void
send_moved(struct conn *n)
{
	const char *const asking[] = { "ASKING" };
	int sent = 0;

	for (; sent < n->nmoved; sent++) {
		struct conn_request *r = &n->moved[sent];

		if (r->asking)
			conn_send(n, TAG_ASKING, 1, asking);
		if (n->tail - n->head == CONN_PENDING ||
		    redisAsyncFormattedCommand(n->ac, hiredis_reply_cb, n,
			r->bytes, r->len) != REDIS_OK) {
			conn_abort(
			    n, REPLY_LOST, "it could not be asked again");
			break;
		}
		n->pending[n->tail++ % CONN_PENDING] = *r;
	}
	n->nmoved -= sent;
	memmove(
	    n->moved, n->moved + sent, (size_t)n->nmoved * sizeof(*n->moved));
}

/* What has to be said first; then what another node could not answer. */
static void
greet(struct conn *n)
{
	if (greet_next(n))
		send_moved(n);
}

/* Whether the cluster wants it to be asked elsewhere, where it is sent then. */
static bool
moved(struct conn *n, struct conn_request *r, const char *error)
{
	if (n->address.kind != ADDRESS_CLUSTER || r->tag < 0 ||
	    r->hops == HOPS ||
	    topology_moved(error, n->at.host, &n->sent_on, &r->asking) == -1)
		return false;
	r->hops++;
	n->moved[n->nmoved++] = *r;
	n->state = CONN_HANDSHAKE;
	n->hop = true;
	return true;
}

/* Whether another server may be the master now, at the same URL. */
static bool
demoted(const struct conn *n, const char *error)
{
	return (n->address.kind == ADDRESS_SENTINEL ||
		   (n->address.nat > 0 &&
		       !resolve_is_address(n->address.at[0].host))) &&
	    (strstr(error, "READONLY") != NULL ||
		strncmp(error, "UNBLOCKED", 9) == 0);
}

/* Each request ends here once; reply is NULL if the connection was lost. */
static void
hiredis_reply_cb(struct redisAsyncContext *ac, void *reply, void *arg)
{
	struct conn *n = arg;
	const redisReply *r = reply;
	struct conn_request *request = &n->pending[n->head++ % CONN_PENDING];
	struct reply a = {
		.reply = r, .tag = request->tag, .sent_ms = request->sent_ms
	};

	if (r == NULL) {
		/* hiredis quotes the byte that it cannot read. */
		if (a.tag == TAG_AUTH && ac->err == REDIS_ERR_PROTOCOL)
			set_why(n, REPLY_LOST, "malformed reply to AUTH");
		a.kind = REPLY_LOST;
		a.text = n->why[0] != '\0' ? n->why : ac->c.errstr;
	} else if (r->type == REDIS_REPLY_ERROR) {
		n->heard = true;
		if (moved(n, request, r->str))
			return;
		a.kind = error_kind(r->str);
		a.text = a.tag == TAG_AUTH ? error_of_auth(r->str) : r->str;
		if (reply_wants_eval(&a)) {
			n->no_evalsha = n->no_evalsha ||
			    strncmp(r->str, "NOSCRIPT", 8) != 0;
			n->script = NULL;
		}
	} else {
		a.kind = REPLY_OK;
		a.size = (size_t)(REPLY_MAX - n->budget);
		n->heard = true;
		if (a.tag >= 0) {
			n->untried = n->nips;
			n->good = true;
		}
	}
	free(request->bytes);
	request->bytes = NULL;
	if (a.tag >= 0) {
		n->reply_cb(n->arg, &a);
		if (a.kind == REPLY_ERROR && demoted(n, a.text))
			conn_abort(n, a.kind, a.text);
	} else if (a.tag != TAG_ASKING) {
		if (greet_answered(n, &a))
			greet(n);
	} else if (a.kind == REPLY_DENIED)
		conn_abort(n, a.kind, a.text);
}

/* Begins a connection to where it says; or down() and why not. */
static void
connect_to(struct conn *n, const struct place *p)
{
	const int on = 1;
	bool local = n->address.path[0] != '\0';
	enum tls_trouble trouble;
	char why[TLS_WHY];
	redisAsyncContext *ac;

	n->greeting = GREET_AUTH;
	n->active_ms = clock_now_ms();
	n->authenticated = false;
	n->born_ms = 0;
	n->run_id[0] = '\0';
	errno = 0;
	ac = local ? redisAsyncConnectUnix(n->address.path) :
		     redisAsyncConnect(p->ip, p->port);
	if (ac == NULL || ac->err != 0) {
		/* A unix socket whose backlog is full. */
		n->again = errno == EAGAIN;
		set_why(
		    n, REPLY_LOST, ac == NULL ? strerror(ENOMEM) : ac->errstr);
		if (ac != NULL)
			redisAsyncFree(ac);
		down(n);
		return;
	}
	fcntl(ac->c.fd, F_SETFD, FD_CLOEXEC);
	if (!local)
		setsockopt(ac->c.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (n->address.tls &&
	    (n->ssl = tls_start(&ac->c, p->name, &trouble, why)) == NULL) {
		set_why(n, tls_kind(trouble), why);
		redisAsyncFree(ac);
		down(n);
		return;
	}
	reply_limit(n, ac->c.reader);
	ac->ev.data = n;
	ac->ev.addRead = add_read_cb;
	ac->ev.delRead = del_read_cb;
	ac->ev.addWrite = add_write_cb;
	ac->ev.delWrite = del_write_cb;
	ac->ev.cleanup = cleanup_cb;
	n->ac = ac;
	n->state = CONN_HANDSHAKE;
	n->watch.fd = ac->c.fd;
	n->watch.events = POLLIN;
	if (loop_add(n->loop, &n->watch) == -1) {
		conn_close(n, strerror(errno));
		return;
	}
	greet(n);
}

static void
found_cb(void *arg, const struct place *p, const char *why)
{
	struct conn *n = arg;

	if (p != NULL) {
		n->untried += p->more;
		connect_to(n, p);
		return;
	}
	set_why(n, REPLY_LOST, why);
	down(n);
}

/* On to where we have been sent. */
static void
follow(struct conn *n)
{
	struct place place = { .port = 0 };

	n->state = CONN_HANDSHAKE;
	n->at = n->sent_on;
	switch (topology_redirect(&n->topology, &n->sent_on, &place)) {
	case 1:
		connect_to(n, &place);
		break;
	case -1:
		set_why(n, REPLY_LOST, strerror(errno));
		down(n);
		break;
	}
}

static void
hop(struct conn *n)
{
	n->hop = false;
	n->hopping = true;
	redisAsyncFree(n->ac);
	n->hopping = n->established = false;
	n->script = NULL;
	n->why[0] = '\0';
	n->at_sentinel = false;
	follow(n);
}

void
conn_open(struct conn *n)
{
	struct place place = { .port = 0 };
	char why[RESOLVE_WHY];
	bool known = n->good && n->sent_on.port != 0 &&
	    n->address.kind == ADDRESS_CLUSTER;

	n->why[0] = '\0';
	n->head = n->tail = 0;
	n->again = n->established = n->good = false;
	n->script = NULL;
	if (n->untried > 0)
		n->untried--;
	n->at_sentinel = n->address.kind == ADDRESS_SENTINEL;
	if (known) {
		follow(n);
		return;
	}
	if (n->address.path[0] == '\0' &&
	    topology_next(&n->topology, &place, why) == -1) {
		set_why(n, REPLY_LOST, why);
		n->at.port = 0;
		return;
	}
	n->nips = n->topology.nips > 0 ? n->topology.nips : 1;
	snprintf(n->at.host, sizeof(n->at.host), "%s", place.ip);
	n->at.port = place.port;
	connect_to(n, &place);
}

bool
conn_redirect(struct conn *n, const struct endpoint *to)
{
	if (n->at.port == to->port && strcmp(n->at.host, to->host) == 0)
		return true;
	n->sent_on = *to;
	n->hop = true;
	n->state = CONN_HANDSHAKE;
	return false;
}

bool
conn_connected(const struct conn *n)
{
	return n->ac != NULL && accepted(n, n->ac);
}

int64_t
conn_unanswered_ms(const struct conn *n)
{
	return n->ac == NULL || n->head == n->tail ?
	    CLOCK_NEVER :
	    n->pending[n->head % CONN_PENDING].sent_ms;
}

void
conn_close(struct conn *n, const char *why)
{
	if (n->state == CONN_DOWN)
		return;
	if (n->why[0] == '\0' && why != NULL && handshaking(n)) {
		n->failure = REPLY_LOST;
		snprintf(n->why, sizeof(n->why),
		    "%.200s to the TLS handshake (does this port speak TLS?)",
		    why);
	} else if (n->why[0] == '\0' && why != NULL && n->topology.awaited) {
		n->failure = REPLY_LOST;
		snprintf(n->why, sizeof(n->why),
		    "%.60s from the resolver about %.150s", why, n->at.host);
	} else if (n->why[0] == '\0')
		set_why(n, REPLY_LOST, why != NULL ? why : "closed");
	topology_cancel(&n->topology);
	if (n->ac != NULL)
		redisAsyncFree(n->ac);
	else
		down(n);
}

void
conn_sweep(struct conn *n)
{
	if (n->doomed)
		conn_close(n, NULL);
	else if (n->hop && n->head == n->tail)
		hop(n);
}

void
conn_finish(struct conn *n)
{
	char discarded[4096];

	if (!conn_connected(n))
		return;
	redisAsyncHandleWrite(n->ac);
	if (n->ac == NULL)
		return;
	/* Closed with something unread, the connection would be reset. */
	while (
	    recv(n->ac->c.fd, discarded, sizeof(discarded), MSG_DONTWAIT) > 0)
		continue;
	shutdown(n->ac->c.fd, SHUT_WR);
}

void
conn_release(struct conn *n)
{
	conn_close(n, NULL);
	topology_release(&n->topology);
}

int
conn_command(struct conn *n, int tag, int argc, const char *const argv[])
{
	return n->state != CONN_READY ? -1 : conn_send(n, tag, argc, argv);
}

int
conn_eval(struct conn *n, int tag, const struct script *script, int nkeys,
    int argc, const char *const argv[])
{
	bool known = n->script == script && !n->no_evalsha;
	const char *words[3 + CONN_ARGS];
	char keys[16];

	if (argc > CONN_ARGS)
		return -1;
	snprintf(keys, sizeof(keys), "%d", nkeys);
	words[0] = known ? "EVALSHA" : "EVAL";
	words[1] = known ? script->sha1 : script->text;
	words[2] = keys;
	memcpy(words + 3, argv, (size_t)argc * sizeof(*argv));
	if (conn_command(n, tag, 3 + argc, words) == -1)
		return -1;
	n->script = script;
	return 0;
}
