/*
 * The way to the server may take several connections: a Sentinel names the
 * master, and a node of a cluster names the node that has the slot. conn_sweep()
 * moves from one to the next; meanwhile the state is CONN_HANDSHAKE.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "redis/conn.h"
#include "redis/error.h"

#define PATIENCE_MS 250

static void
set_why(struct conn *c, enum reply_kind kind, const char *why)
{
	c->failure = kind;
	error_copy(c->why, sizeof(c->why), why);
}

/* Drops the requests that waited for a redirection. */
static void
drop_moved(struct conn *c)
{
	struct reply reply = { .kind = REPLY_LOST, .text = c->why };

	while (!pending_empty(&c->redirect.moved)) {
		struct pending_request r = pending_take(&c->redirect.moved);

		reply.tag = r.tag;
		reply.sent_ms = r.sent_ms;
		free(r.bytes);
		c->reply_cb(c->arg, &reply);
	}
}

/*
 * Records that there is no connection and none being made; c->why has the
 * reason.
 */
static void
down(struct conn *c)
{
	c->state = CONN_DOWN;
	c->redirect.due = false;
	drop_moved(c);
}

/* The link has closed or could not be opened; takes over its reason. */
static void
link_closed_cb(void *arg)
{
	struct conn *c = arg;
	const struct link *l = c->link;
	char why[CONN_WHY - 50];

	c->established = l->established && !c->handshake.at_sentinel;
	if (l->flooded)
		tracking_flooded(&c->tracking);
	set_why(c, l->failure, l->why);
	if (l->broken && c->established && !*c->answered && !c->address.tls &&
	    c->address.nat > 0)
		/* A TLS alert from the server may have been lost. */
		snprintf(c->why, sizeof(c->why),
		    "%s (if the server uses TLS, use a rediss:// URL)",
		    error_copy(why, sizeof(why), l->why));
	down(c);
}

static void
begin_handshake(struct conn *c, bool at_sentinel)
{
	handshake_init(&c->handshake, &c->address, at_sentinel,
	    c->ask_info ? &c->info : NULL);
}

/*
 * Continues the handshake; once it is done, sends the requests that another
 * node did not execute.
 */
static void
continue_handshake(struct conn *c)
{
	struct handshake_request r;

	if (handshake_next(&c->handshake, &r))
		link_send(c->link, r.tag, r.argc, r.argv, false);
	if (c->handshake.state == HANDSHAKE_DONE) {
		c->state = CONN_READY;
		redirect_resend(&c->redirect, c->link);
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
		redirect_to(&c->redirect, &h->master);
		break;
	case HANDSHAKE_FAILED:
		link_abort(c->link, h->failure, h->why);
		break;
	}
}

/*
 * Whether another server may be the master now, at the same URL: also behind an
 * address or a socket, which may be those of a proxy.  A cluster's node redirects.
 */
static bool
demoted(const struct conn *c, const struct reply *reply)
{
	return reply->kind == REPLY_ERROR &&
	    c->address.kind != ADDRESS_CLUSTER &&
	    (strstr(reply->text, "READONLY") != NULL ||
		strncmp(reply->text, "UNBLOCKED", 9) == 0);
}

/* Takes a reply to a request of the owner. */
static void
take_reply(struct conn *c, struct pending_request *r, const struct reply *reply)
{
	if (reply->kind == REPLY_OK) {
		topology_begin_round(&c->topology);
		c->good = true;
	} else if (reply->kind != REPLY_LOST &&
	    redirect_take(&c->redirect, r, reply->text, c->at.host)) {
		c->state = CONN_HANDSHAKE;
		return;
	} else if (error_wants_eval(reply))
		script_refused(&c->form, reply->text);
	c->reply_cb(c->arg, reply);
	if (demoted(c, reply))
		link_abort(c->link, reply->kind, reply->text);
}

static void
link_reply_cb(void *arg, struct pending_request *r, const struct reply *reply)
{
	struct conn *c = arg;

	*c->answered = *c->answered || reply->kind != REPLY_LOST;
	if (reply->tag >= 0)
		take_reply(c, r, reply);
	else if (tracking_has_tag(reply->tag))
		tracking_reply(&c->tracking, reply, c->link->established);
	else if (reply->kind == REPLY_LOST)
		return; /* link_closed_cb() follows */
	else if (reply->tag != REDIRECT_ASKING)
		take_handshake_reply(c, reply);
	else if (reply->kind == REPLY_DENIED)
		link_abort(c->link, reply->kind, reply->text);
}

/* A reply on the connection that was set aside; only the owner's count. */
static void
aside_reply_cb(void *arg, struct pending_request *r, const struct reply *reply)
{
	struct conn *c = arg;

	(void)r;
	if (reply->tag >= 0)
		c->reply_cb(c->arg, reply);
}

static void
aside_closed_cb(void *arg)
{
	(void)arg;
}

static void
aside_push_cb(void *arg, const char *key, size_t len)
{
	(void)arg, (void)key, (void)len;
}

/* How long to wait for a connection before a second socket is tried. */
static int64_t
patience_ms(const struct conn *c)
{
	return c->node_timeout_ms / 4 > PATIENCE_MS ? c->node_timeout_ms / 4 :
						      PATIENCE_MS;
}

static void
connect_to(struct conn *c, const struct target *to)
{
	c->to = *to;
	c->second_ms = clock_now_ms() + patience_ms(c);
	handshake_aim(&c->handshake, to->name, to->port);
	tracking_begin(&c->tracking);
	if (link_open(c->link, c->address.path, to, c->address.tls) == -1) {
		c->again = errno == EAGAIN;
		link_closed_cb(c);
		return;
	}
	c->state = CONN_HANDSHAKE;
	continue_handshake(c);
}

/* Records the address behind the URL that is tried. */
static void
set_at(struct conn *c, const struct target *to)
{
	snprintf(c->at.host, sizeof(c->at.host), "%s", to->ip);
	c->at.port = to->port;
}

/* Takes the target that had to be looked up, or the error. */
static void
found_cb(void *arg, const struct target *to, const char *why)
{
	struct conn *c = arg;

	if (to != NULL) {
		c->topology.untried += to->more;
		if (c->at.port == 0)
			set_at(c, to);
		connect_to(c, to);
		return;
	}
	set_why(c, REPLY_LOST, why);
	down(c);
}

void
conn_init(struct conn *c, struct resolver *resolver,
    const struct address *address, conn_reply_cb *reply_cb, void *arg)
{
	memset(c, 0, sizeof(*c));
	c->address = *address;
	c->reply_cb = reply_cb;
	c->arg = arg;
	c->answered = &c->replied;
	c->link = &c->links[0];
	link_init(c->link, resolver->loop, link_reply_cb, link_closed_cb, c);
	begin_handshake(c, false);
	topology_init(&c->topology, resolver, &c->address, found_cb, c);
	set_why(c, REPLY_LOST, "not connected yet");
}

/* Connects to the server that a redirection names. */
static void
follow_redirect(struct conn *c)
{
	struct target target = { .port = 0 };

	c->state = CONN_HANDSHAKE;
	c->at = c->redirect.to;
	switch (topology_redirect(&c->topology, &c->redirect.to, &target)) {
	case 1:
		connect_to(c, &target);
		break;
	case -1:
		set_why(c, REPLY_LOST, strerror(errno));
		down(c);
		break;
	}
}

void
conn_open(struct conn *c)
{
	struct target target = { .port = 0 };
	char why[RESOLVE_WHY];
	bool known = c->good && c->redirect.to.port != 0 &&
	    c->address.kind == ADDRESS_CLUSTER;

	c->why[0] = '\0';
	c->again = c->established = c->good = false;
	script_begin(&c->form);
	begin_handshake(c, c->address.kind == ADDRESS_SENTINEL);
	if (known) {
		follow_redirect(c);
		return;
	}
	if (c->address.path[0] != '\0') {
		c->topology.untried = 0;
		connect_to(c, &target);
		return;
	}
	c->at.port = 0;
	switch (topology_next(&c->topology, &target, why)) {
	case 1:
		set_at(c, &target);
		connect_to(c, &target);
		break;
	case 0:
		c->state = CONN_HANDSHAKE;
		break;
	case -1:
		set_why(c, REPLY_LOST, why);
		break;
	}
}

bool
conn_redirect(struct conn *c, const struct endpoint *to)
{
	if (c->at.port == to->port && strcmp(c->at.host, to->host) == 0)
		return true;
	redirect_to(&c->redirect, to);
	c->state = CONN_HANDSHAKE;
	return false;
}

bool
conn_looks_up(const struct conn *c)
{
	return c->topology.awaits == AWAITS_HOST;
}

bool
conn_connected(const struct conn *c)
{
	return !c->handshake.at_sentinel && link_connected(c->link);
}

int64_t
conn_unanswered_ms(const struct conn *c)
{
	return pending_since_ms(&c->link->pending);
}

int64_t
conn_second_ms(const struct conn *c)
{
	return link_is_open(c->link) && !link_reached(c->link) ? c->second_ms :
								 CLOCK_NEVER;
}

void
conn_close(struct conn *c, const char *why)
{
	const char *name = topology_awaited(&c->topology);

	if (c->state == CONN_DOWN)
		return;
	topology_cancel(&c->topology);
	if (link_is_open(c->link)) {
		link_close(c->link, why);
		link_closed_cb(c);
		return;
	}
	set_why(c, REPLY_LOST, why != NULL ? why : "closed");
	if (why != NULL && name != NULL)
		snprintf(c->why, sizeof(c->why),
		    "%.60s from the resolver about %.150s", why, name);
	down(c);
}

void
conn_set_aside(struct conn *c)
{
	c->links[0].reply_cb = aside_reply_cb;
	c->links[0].closed_cb = aside_closed_cb;
	c->links[0].push_cb = aside_push_cb;
	c->link = &c->links[1];
	link_init(c->link, c->links[0].loop, link_reply_cb, link_closed_cb, c);
	c->link->replied = c->links[0].replied;
	set_why(c, REPLY_LOST, "not connected yet");
	down(c);
}

/* Whether a connection was set aside. */
static bool
has_aside(const struct conn *c)
{
	return c->link != &c->links[0];
}

void
conn_sweep(struct conn *c)
{
	if (has_aside(c))
		link_sweep(&c->links[0]);
	link_sweep(c->link);
	if (clock_now_ms() >= conn_second_ms(c)) {
		c->second_ms = CLOCK_NEVER;
		link_open_second(c->link, c->address.path, &c->to);
	}
	if (!c->redirect.due || !pending_empty(&c->link->pending))
		return;
	c->redirect.due = false;
	link_close(c->link, NULL);
	c->established = false;
	script_begin(&c->form);
	begin_handshake(c, false);
	follow_redirect(c);
}

void
conn_finish(struct conn *c)
{
	if (has_aside(c) && link_connected(&c->links[0]))
		link_finish(&c->links[0]);
	if (conn_connected(c))
		link_finish(c->link);
}

void
conn_release(struct conn *c)
{
	if (has_aside(c))
		link_close(&c->links[0], NULL);
	conn_close(c, NULL);
	topology_release(&c->topology);
}

int
conn_command(struct conn *c, int tag, int argc, const char *const argv[])
{
	return c->state != CONN_READY ? -1 :
					link_send(c->link, tag, argc, argv,
					    c->address.kind == ADDRESS_CLUSTER);
}

void
conn_send_text(struct conn *c)
{
	c->form.forgotten = true;
}

int
conn_eval(struct conn *c, int tag, const struct script *script, int nkeys,
    int argc, const char *const argv[])
{
	const char *words[3 + CONN_ARGS];
	char keys[16];

	if (argc > CONN_ARGS)
		return -1;
	snprintf(keys, sizeof(keys), "%d", nkeys);
	script_words(&c->form, script, words);
	words[2] = keys;
	memcpy(words + 3, argv, (size_t)argc * sizeof(*argv));
	if (conn_command(c, tag, 3 + argc, words) == -1)
		return -1;
	script_sent(&c->form, script);
	return 0;
}
