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
#include "redis/error.h"
#include "redis/handshake.h"

#define HOPS 8 /* that a request may take */

/* The tag of ASKING; those of the handshake are above it. */
#define TAG_ASKING (HANDSHAKE_AUTH - 1)

static void
set_why(struct conn *c, enum reply_kind kind, const char *why)
{
	c->failure = kind;
	snprintf(c->why, sizeof(c->why), "%s", why);
}

/* The connection is of no use, and is dropped before the next turn. */
static void
abort_later(struct conn *c, enum reply_kind kind, const char *why)
{
	set_why(c, kind, why);
	c->doomed = true;
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
drop_moved(struct conn *c)
{
	struct reply a = { .kind = REPLY_LOST, .text = c->why };

	while (c->nmoved > 0) {
		struct pending_request *r = &c->moved[--c->nmoved];

		a.tag = r->tag;
		a.sent_ms = r->sent_ms;
		free(r->bytes);
		c->reply_cb(c->arg, &a);
	}
}

/* No connection, and none on its way; why says why. */
static void
down(struct conn *c)
{
	c->state = CONN_DOWN;
	c->hop = false;
	drop_moved(c);
}

/* Whether TLS was meant to be spoken, and nothing came. */
static bool
handshaking(const struct conn *c)
{
	return c->ssl != NULL && !tls_module()->ready(c->ssl);
}

static enum reply_kind
tls_kind(enum tls_trouble trouble)
{
	return trouble == TLS_REFUSED ? REPLY_DENIED : REPLY_LOST;
}

/* What TLS had to do with the end of the connection, or hiredis. */
static void
explain(struct conn *c)
{
	static const char connecting[] = "SSL_connect failed: ";
	const char *errstr = c->ac->c.errstr;
	char why[TLS_WHY];
	enum tls_trouble trouble = TLS_FINE;

	if (c->ssl != NULL)
		trouble = tls_module()->trouble(c->ssl, why);
	if (trouble == TLS_REFUSED)
		c->established = false;
	if (c->why[0] != '\0')
		return;
	if (trouble != TLS_FINE)
		set_why(c, tls_kind(trouble), why);
	else if (strncmp(errstr, connecting, sizeof(connecting) - 1) == 0)
		set_why(c, REPLY_LOST, errstr + sizeof(connecting) - 1);
	else if (errstr[0] != '\0' && c->established && !c->heard &&
	    c->ssl == NULL && c->address.nat > 0)
		/* Its alert may have been lost. */
		snprintf(c->why, sizeof(c->why),
		    "%.200s (if it speaks TLS, it needs a rediss:// URL)",
		    errstr);
	else
		set_why(c, REPLY_LOST,
		    errstr[0] != '\0' ? errstr : "the connection was closed");
}

/* Whether it leads to the server itself, and that has accepted it. */
static bool
accepted(const struct conn *c, const redisAsyncContext *ac)
{
	return (ac->c.flags & REDIS_CONNECTED) != 0 &&
	    !c->handshake.at_sentinel && !handshaking(c);
}

/* The connection is about to be freed, by whomever. */
static void
cleanup_cb(void *arg)
{
	struct conn *c = arg;

	c->established = accepted(c, c->ac);
	explain(c);
	c->ac = NULL;
	c->ssl = NULL;
	c->doomed = false;
	loop_remove(c->loop, &c->watch);
	if (!c->hopping)
		down(c);
}

/*
 * Readable, writable or broken.  Either half may free the connection, so ac
 * is looked at again after each.
 */
static void
socket_cb(void *arg, short revents)
{
	struct conn *c = arg;
	char why[TLS_WHY];

	c->active_ms = clock_now_ms();
	/* hiredis may connect() again, and the server's last words are gone. */
	if ((revents & (POLLERR | POLLHUP)) && c->ssl != NULL)
		tls_module()->trouble(c->ssl, why);
	if ((revents & POLLOUT) && c->ac != NULL)
		redisAsyncHandleWrite(c->ac);
	if ((revents & (POLLIN | POLLERR | POLLHUP)) && c->ac != NULL)
		redisAsyncHandleRead(c->ac);
	if (c->ac != NULL && c->ac->c.reader->len > REPLY_MAX)
		abort_later(c, REPLY_LOST, "it sends a reply that is too long");
}

static void found_cb(void *, const struct place *, const char *);
static void hiredis_reply_cb(struct redisAsyncContext *, void *, void *);

void
conn_init(struct conn *c, struct loop *loop, const struct address *address,
    conn_reply_cb *reply_cb, void *arg)
{
	memset(c, 0, sizeof(*c));
	c->address = *address;
	c->loop = loop;
	c->reply_cb = reply_cb;
	c->arg = arg;
	c->watch =
	    (struct loop_watch){ .fd = -1, .ready_cb = socket_cb, .arg = c };
	topology_init(&c->topology, loop, &c->address, found_cb, c);
	set_why(c, REPLY_LOST, "not connected yet");
}

int
conn_resolve(struct conn *c)
{
	char why[RESOLVE_WHY];

	c->nips = c->untried = 1;
	if (c->address.path[0] != '\0')
		return 0;
	if (topology_resolve(&c->topology, why) == -1)
		set_why(c, REPLY_LOST, why);
	c->nips = c->untried = c->topology.nips;
	return c->nips > 0 ? 0 : -1;
}

static int
send_words(struct conn *c, int tag, int argc, const char *const argv[])
{
	const char **words = (const char **)(uintptr_t)argv;
	long long len = 0;
	char *bytes = NULL;
	int sent;

	if (pending_full(&c->pending) || c->ac == NULL)
		return -1;
	if (tag >= 0 && c->address.kind == ADDRESS_CLUSTER) {
		len = redisFormatCommandArgv(&bytes, argc, words, NULL);
		sent = len < 0 ? REDIS_ERR :
				 redisAsyncFormattedCommand(c->ac,
				     hiredis_reply_cb, c, bytes, (size_t)len);
	} else
		sent = redisAsyncCommandArgv(
		    c->ac, hiredis_reply_cb, c, argc, words, NULL);
	if (sent != REDIS_OK) {
		free(bytes);
		return -1;
	}
	pending_add(&c->pending,
	    (struct pending_request){ .tag = tag,
		.sent_ms = clock_now_ms(),
		.bytes = bytes,
		.len = (size_t)len });
	return 0;
}

/*
 * What was asked elsewhere is asked here, in its order, as if it were now.  What
 * cannot be is answered with the end of the connection.
 */
static void
send_moved(struct conn *c)
{
	const char *const asking[] = { "ASKING" };
	int sent = 0;

	for (; sent < c->nmoved; sent++) {
		struct pending_request *r = &c->moved[sent];

		if (r->asking)
			send_words(c, TAG_ASKING, 1, asking);
		if (pending_full(&c->pending) ||
		    redisAsyncFormattedCommand(c->ac, hiredis_reply_cb, c,
			r->bytes, r->len) != REDIS_OK) {
			abort_later(
			    c, REPLY_LOST, "it could not be asked again");
			break;
		}
		pending_add(&c->pending, *r);
	}
	c->nmoved -= sent;
	memmove(
	    c->moved, c->moved + sent, (size_t)c->nmoved * sizeof(*c->moved));
}

static void
begin_handshake(struct conn *c, bool at_sentinel)
{
	handshake_init(&c->handshake, &c->address, at_sentinel,
	    c->ask_info ? &c->info : NULL);
}

/* Once the handshake is done, what another node did not execute is sent here. */
static void
continue_handshake(struct conn *c)
{
	struct handshake_request r;

	if (handshake_next(&c->handshake, &r))
		send_words(c, r.tag, r.argc, r.argv);
	if (c->handshake.state == HANDSHAKE_DONE) {
		c->state = CONN_READY;
		send_moved(c);
	}
}

static void
take_handshake_reply(struct conn *c, const struct reply *reply)
{
	struct handshake *h = &c->handshake;

	switch (handshake_reply(h, reply, clock_now_ms())) {
	case HANDSHAKE_RUNNING:
		continue_handshake(c);
		break;
	case HANDSHAKE_DONE:
		break;
	case HANDSHAKE_REDIRECTED:
		c->sent_on = h->master;
		c->hop = true;
		break;
	case HANDSHAKE_FAILED:
		abort_later(c, h->failure, h->why);
		break;
	}
}

/* Whether the cluster wants it to be asked elsewhere, where it is sent then. */
static bool
moved(struct conn *c, struct pending_request *r, const char *error)
{
	if (c->address.kind != ADDRESS_CLUSTER || r->tag < 0 ||
	    r->redirects == HOPS ||
	    topology_moved(error, c->at.host, &c->sent_on, &r->asking) == -1)
		return false;
	r->redirects++;
	c->moved[c->nmoved++] = *r;
	c->state = CONN_HANDSHAKE;
	c->hop = true;
	return true;
}

/* Whether another server may be the master now, at the same URL. */
static bool
demoted(const struct conn *c, const char *error)
{
	return (c->address.kind == ADDRESS_SENTINEL ||
		   (c->address.nat > 0 &&
		       !resolve_is_address(c->address.at[0].host))) &&
	    (strstr(error, "READONLY") != NULL ||
		strncmp(error, "UNBLOCKED", 9) == 0);
}

/* Each request ends here once; reply is NULL if the connection was lost. */
static void
hiredis_reply_cb(struct redisAsyncContext *ac, void *reply, void *arg)
{
	struct conn *c = arg;
	const redisReply *r = reply;
	struct pending_request request = pending_take(&c->pending);
	struct reply a = {
		.value = r, .tag = request.tag, .sent_ms = request.sent_ms
	};

	if (r == NULL) {
		/* hiredis quotes the byte that it cannot read. */
		if (a.tag == HANDSHAKE_AUTH && ac->err == REDIS_ERR_PROTOCOL)
			set_why(c, REPLY_LOST, "malformed reply to AUTH");
		a.kind = REPLY_LOST;
		a.text = c->why[0] != '\0' ? c->why : ac->c.errstr;
	} else if (r->type == REDIS_REPLY_ERROR) {
		c->heard = true;
		if (moved(c, &request, r->str))
			return;
		a.kind = error_kind(r->str);
		a.text =
		    a.tag == HANDSHAKE_AUTH ? error_of_auth(r->str) : r->str;
		if (error_wants_eval(&a)) {
			c->no_evalsha =
			    c->no_evalsha || !error_forgot_script(r->str);
			c->script = NULL;
		}
	} else {
		a.kind = REPLY_OK;
		a.size = reply_cost(&c->budget);
		c->heard = true;
		if (a.tag >= 0) {
			c->untried = c->nips;
			c->good = true;
		}
	}
	free(request.bytes);
	if (a.tag >= 0) {
		c->reply_cb(c->arg, &a);
		if (a.kind == REPLY_ERROR && demoted(c, a.text))
			abort_later(c, a.kind, a.text);
	} else if (a.tag == TAG_ASKING) {
		if (a.kind == REPLY_DENIED)
			abort_later(c, a.kind, a.text);
	} else if (a.kind != REPLY_LOST)
		take_handshake_reply(c, &a);
}

/* Begins a connection to where it says; or down() and why not. */
static void
connect_to(struct conn *c, const struct place *p)
{
	const int on = 1;
	bool local = c->address.path[0] != '\0';
	enum tls_trouble trouble;
	char why[TLS_WHY];
	redisAsyncContext *ac;

	c->active_ms = clock_now_ms();
	errno = 0;
	ac = local ? redisAsyncConnectUnix(c->address.path) :
		     redisAsyncConnect(p->ip, p->port);
	if (ac == NULL || ac->err != 0) {
		/* A unix socket whose backlog is full. */
		c->again = errno == EAGAIN;
		set_why(
		    c, REPLY_LOST, ac == NULL ? strerror(ENOMEM) : ac->errstr);
		if (ac != NULL)
			redisAsyncFree(ac);
		down(c);
		return;
	}
	fcntl(ac->c.fd, F_SETFD, FD_CLOEXEC);
	if (!local)
		setsockopt(ac->c.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (c->address.tls &&
	    (c->ssl = tls_start(&ac->c, p->name, &trouble, why)) == NULL) {
		set_why(c, tls_kind(trouble), why);
		redisAsyncFree(ac);
		down(c);
		return;
	}
	reply_limit(&c->budget, &c->pending, ac->c.reader);
	ac->ev.data = c;
	ac->ev.addRead = add_read_cb;
	ac->ev.delRead = del_read_cb;
	ac->ev.addWrite = add_write_cb;
	ac->ev.delWrite = del_write_cb;
	ac->ev.cleanup = cleanup_cb;
	c->ac = ac;
	c->state = CONN_HANDSHAKE;
	c->watch.fd = ac->c.fd;
	c->watch.events = POLLIN;
	if (loop_add(c->loop, &c->watch) == -1) {
		conn_close(c, strerror(errno));
		return;
	}
	continue_handshake(c);
}

static void
found_cb(void *arg, const struct place *p, const char *why)
{
	struct conn *c = arg;

	if (p != NULL) {
		c->untried += p->more;
		connect_to(c, p);
		return;
	}
	set_why(c, REPLY_LOST, why);
	down(c);
}

/* On to where we have been sent. */
static void
follow(struct conn *c)
{
	struct place place = { .port = 0 };

	c->state = CONN_HANDSHAKE;
	c->at = c->sent_on;
	switch (topology_redirect(&c->topology, &c->sent_on, &place)) {
	case 1:
		connect_to(c, &place);
		break;
	case -1:
		set_why(c, REPLY_LOST, strerror(errno));
		down(c);
		break;
	}
}

static void
hop(struct conn *c)
{
	c->hop = false;
	c->hopping = true;
	redisAsyncFree(c->ac);
	c->hopping = c->established = false;
	c->script = NULL;
	c->why[0] = '\0';
	begin_handshake(c, false);
	follow(c);
}

void
conn_open(struct conn *c)
{
	struct place place = { .port = 0 };
	char why[RESOLVE_WHY];
	bool known = c->good && c->sent_on.port != 0 &&
	    c->address.kind == ADDRESS_CLUSTER;

	c->why[0] = '\0';
	c->again = c->established = c->good = false;
	c->script = NULL;
	if (c->untried > 0)
		c->untried--;
	begin_handshake(c, c->address.kind == ADDRESS_SENTINEL);
	if (known) {
		follow(c);
		return;
	}
	if (c->address.path[0] == '\0' &&
	    topology_next(&c->topology, &place, why) == -1) {
		set_why(c, REPLY_LOST, why);
		c->at.port = 0;
		return;
	}
	c->nips = c->topology.nips > 0 ? c->topology.nips : 1;
	snprintf(c->at.host, sizeof(c->at.host), "%s", place.ip);
	c->at.port = place.port;
	connect_to(c, &place);
}

bool
conn_redirect(struct conn *c, const struct endpoint *to)
{
	if (c->at.port == to->port && strcmp(c->at.host, to->host) == 0)
		return true;
	c->sent_on = *to;
	c->hop = true;
	c->state = CONN_HANDSHAKE;
	return false;
}

bool
conn_connected(const struct conn *c)
{
	return c->ac != NULL && accepted(c, c->ac);
}

int64_t
conn_unanswered_ms(const struct conn *c)
{
	return pending_since_ms(&c->pending);
}

char *
conn_explain(const struct conn *c, const char *why, char buf[CONN_WHY])
{
	const char *who = c->handshake.at_sentinel ? "Sentinel" :
	    c->address.kind == ADDRESS_SENTINEL    ? "master" :
						     "node";
	const char *host = c->at.host;
	bool v6 = strchr(host, ':') != NULL;
	size_t len;

	buf[0] = '\0';
	if (c->address.kind != ADDRESS_SERVER) {
		if (c->at.port != 0)
			snprintf(buf, CONN_WHY, "%s %s%.100s%s:%d: ", who,
			    v6 ? "[" : "", host, v6 ? "]" : "", c->at.port);
		len = strlen(buf);
		if (strncmp(why, buf, len) == 0)
			len = 0;
		snprintf(buf + len, CONN_WHY - len, "%s", why);
	} else if (strncmp(why, "MOVED ", 6) == 0)
		snprintf(buf, CONN_WHY,
		    "%.150s (the URL of a cluster begins with redis+cluster://)",
		    why);
	else if (strncmp(why, "ERR unknown command ", 20) == 0 &&
	    strstr(why, "EVAL") != NULL)
		snprintf(buf, CONN_WHY,
		    "%.26s (if it is a Sentinel, its URL is "
		    "redis+sentinel://host:port/master)",
		    why);
	else
		snprintf(buf, CONN_WHY, "%s", why);
	return buf;
}

void
conn_close(struct conn *c, const char *why)
{
	if (c->state == CONN_DOWN)
		return;
	if (c->why[0] == '\0' && why != NULL && handshaking(c)) {
		c->failure = REPLY_LOST;
		snprintf(c->why, sizeof(c->why),
		    "%.200s to the TLS handshake (does this port speak TLS?)",
		    why);
	} else if (c->why[0] == '\0' && why != NULL && c->topology.awaited) {
		c->failure = REPLY_LOST;
		snprintf(c->why, sizeof(c->why),
		    "%.60s from the resolver about %.150s", why, c->at.host);
	} else if (c->why[0] == '\0')
		set_why(c, REPLY_LOST, why != NULL ? why : "closed");
	topology_cancel(&c->topology);
	if (c->ac != NULL)
		redisAsyncFree(c->ac);
	else
		down(c);
}

void
conn_sweep(struct conn *c)
{
	if (c->doomed)
		conn_close(c, NULL);
	else if (c->hop && pending_empty(&c->pending))
		hop(c);
}

void
conn_finish(struct conn *c)
{
	char discarded[4096];

	if (!conn_connected(c))
		return;
	redisAsyncHandleWrite(c->ac);
	if (c->ac == NULL)
		return;
	/* Closed with something unread, the connection would be reset. */
	while (
	    recv(c->ac->c.fd, discarded, sizeof(discarded), MSG_DONTWAIT) > 0)
		continue;
	shutdown(c->ac->c.fd, SHUT_WR);
}

void
conn_release(struct conn *c)
{
	conn_close(c, NULL);
	topology_release(&c->topology);
}

int
conn_command(struct conn *c, int tag, int argc, const char *const argv[])
{
	return c->state != CONN_READY ? -1 : send_words(c, tag, argc, argv);
}

int
conn_eval(struct conn *c, int tag, const struct script *script, int nkeys,
    int argc, const char *const argv[])
{
	bool known = c->script == script && !c->no_evalsha;
	const char *words[3 + CONN_ARGS];
	char keys[16];

	if (argc > CONN_ARGS)
		return -1;
	snprintf(keys, sizeof(keys), "%d", nkeys);
	words[0] = known ? "EVALSHA" : "EVAL";
	words[1] = known ? script->sha1 : script->text;
	words[2] = keys;
	memcpy(words + 3, argv, (size_t)argc * sizeof(*argv));
	if (conn_command(c, tag, 3 + argc, words) == -1)
		return -1;
	c->script = script;
	return 0;
}
