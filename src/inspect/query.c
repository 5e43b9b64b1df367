/*
 * Rounds of requests to all servers.  The callers' callbacks send the requests
 * and read the replies.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/die.h"
#include "base/duration.h"
#include "base/exit.h"
#include "base/xalloc.h"
#include "inspect/query.h"
#include "protocol/key.h"
#include "protocol/lease.h"
#include "protocol/quorum.h"
#include "redis/conn_why.h"
#include "redis/error.h"
#include "wire.h"

/*
 * A server may be faulty or hostile, so its replies of one round are limited.
 */
#define BYTES_MAX (128 * 1024 * 1024)
#define KEPT      8 /* at most one of so many stays with its caller */

void
query_server_fail(struct query_server *s, enum reply_kind kind, const char *why)
{
	s->failure = kind;
	conn_why_failed(&s->conn, why, s->why);
}

bool
query_server_error(struct query_server *s, const struct reply *a)
{
	if (a->kind == REPLY_OK)
		return false;
	if (strstr(a->text, "WRONGTYPE") == NULL)
		query_server_fail(s, a->kind, a->text);
	return true;
}

bool
query_server_malformed(struct query_server *s)
{
	query_server_fail(s, REPLY_ERROR, "malformed reply");
	return false;
}

/*
 * Several addresses share the time.  The text of a script takes more than one
 * round trip to a distant server.
 */
static void
begin_time(struct query_server *s, int untried)
{
	int64_t ms = s->query->opt->settings.node_timeout_ms / untried;

	s->end_ms =
	    clock_now_ms() + (s->repeats || s->query->sends_text ? 2 : 1) * ms;
}

/*
 * Whether the server needs the text of a script that it got by its digest; if
 * so, sends this request and those behind it again.  A server that needs it
 * although it has got it has failed.
 */
static bool
wants_text(struct query_server *s, const struct reply *a)
{
	if (!error_wants_eval(a) || s->repeats)
		return false;
	s->stale = s->sent - s->replied - 1;
	s->sent = s->replied;
	s->repeats = true;
	begin_time(s, 1);
	return true;
}

static void
request_replied_cb(void *arg, const struct reply *a)
{
	struct query_server *s = arg;
	struct query *q = s->query;

	begin_time(s, 1);
	if (a->kind == REPLY_LOST || s->failure != REPLY_OK)
		return; /* query_server_step() handles it */
	if (s->stale > 0) {
		s->stale--;
		return;
	}
	if (wants_text(s, a))
		return;
	s->repeats = false;
	s->bytes += a->size;
	if (s->bytes > BYTES_MAX)
		query_server_fail(s, REPLY_ERROR,
		    "it has more to tell than fits in memory; -k names the "
		    "locks to ask about");
	else if (q->reply_cb(s, s->replied, a))
		s->sent = s->replied;
	else
		s->replied++;
}

/*
 * Sends or ends what is due on one server.  Returns whether its round has
 * ended.
 */
static bool
query_server_step(struct query_server *s)
{
	struct query *q = s->query;
	int64_t now = clock_now_ms();
	char text[DURATION_TEXT], why[CONN_WHY];

	conn_sweep(&s->conn);
	if (s->looks_up && !conn_looks_up(&s->conn)) {
		s->looks_up = false;
		begin_time(s, s->conn.topology.untried + 1);
	}
	if (s->failure != REPLY_OK || s->replied == q->requests)
		return true;
	if (!s->accepted && s->conn.state == CONN_READY &&
	    conn_connected(&s->conn)) {
		s->accepted = true;
		begin_time(s, 1);
	}
	if (now >= s->end_ms) {
		conn_why_silent(&s->conn,
		    duration_format(q->opt->settings.node_timeout_ms, text),
		    lease_timeout_hint(q->opt->settings.ttl_ms,
			q->opt->settings.node_timeout_ms),
		    why);
		conn_close(&s->conn, why);
	}
	if (s->conn.state == CONN_DOWN) {
		if (s->conn.topology.untried == 0) {
			query_server_fail(s, s->conn.failure, s->conn.why);
			return true;
		}
		s->sent = s->replied;
		s->stale = 0;
		begin_time(s, s->conn.topology.untried);
		s->accepted = false;
		conn_open(&s->conn);
		s->looks_up = conn_looks_up(&s->conn);
	}
	if (s->conn.state != CONN_READY)
		return false;
	/*
	 * The nodes of a cluster may reply in another order than that of the
	 * requests.
	 */
	while (s->sent < q->requests &&
	    (s->sent == s->replied ||
		s->conn.address.kind != ADDRESS_CLUSTER) &&
	    q->send_cb(s, s->sent) == 0)
		s->sent++;
	return false;
}

void
query_send(struct query *q, size_t n, query_send_cb *send_cb,
    query_reply_cb *reply_cb)
{
	int64_t wake;
	bool done;

	q->requests = n;
	q->send_cb = send_cb;
	q->reply_cb = reply_cb;
	for (struct query_server *s = q->servers; s < q->end; s++) {
		s->sent = s->replied = 0;
		s->repeats = false;
		begin_time(s, 1);
	}
	for (;;) {
		done = true;
		wake = CLOCK_NEVER;
		for (struct query_server *s = q->servers; s < q->end; s++) {
			if (query_server_step(s))
				continue;
			done = false;
			if (s->conn.state == CONN_DOWN || s->conn.redirect.due)
				wake = 0;
			wake = clock_min_ms(wake,
			    clock_min_ms(conn_second_ms(&s->conn), s->end_ms));
		}
		if (done || q->stop)
			return;
		loop_turn(&q->loop, wake);
	}
}

int
query_read(struct query_server *s, size_t i, const struct script *script,
    const char *name, int slots, const char *own)
{
	char key[LOCK_KEY], aux[LOCK_KEY], capacity[12];
	const char *const argv[] = { [ARG_KEY] = key,
		[ARG_AUX] = aux,
		[ARG_ID] = "",
		[ARG_TOKEN] = "",
		[ARG_MODE] = "slots",
		[ARG_CAPACITY] = capacity,
		[ARG_SLOT] = "1",
		[ARG_OWN] = own };

	key_names(key, aux, s->query->opt->settings.prefix, name);
	snprintf(capacity, sizeof(capacity), "%d", slots);
	return conn_eval(&s->conn, (int)i, script, ARG_ID,
	    ARG_OWN + (own != NULL), argv);
}

void
query_add_lock(struct query *q, const struct query_server *from,
    const char *name, size_t len, int slots)
{
	struct query_lock *to;

	/* Doubles when the number of locks reaches a power of two. */
	if ((q->nlocks & (q->nlocks - 1)) == 0)
		q->locks = xreallocarray(q->locks, 2 * q->nlocks + 1,
		    sizeof(*q->locks));
	to = &q->locks[q->nlocks++];
	to->name = xstrndup(name, len);
	to->slots = slots;
	to->from = from;
}

void
query_forget_locks(struct query *q)
{
	for (size_t i = 0; i < q->nlocks; i++)
		free(q->locks[i].name);
	free(q->locks);
	q->locks = NULL;
	q->nlocks = q->next = 0;
}

size_t
query_next(struct query *q, size_t most, const struct query_lock **first)
{
	size_t left = q->nlocks - q->next, n = left < most ? left : most;

	for (struct query_server *s = q->servers; s < q->end; s++) {
		s->kept += (s->bytes - s->kept) / KEPT;
		s->bytes = s->kept;
	}
	*first = n > 0 ? &q->locks[q->next] : NULL;
	q->next += n;
	return n;
}

char *
query_server_why(const struct query_server *s, char buf[QUERY_WHY])
{
	snprintf(buf, QUERY_WHY, "%s: %s%s", s->conn.address.text, s->why,
	    s->query->opt->servers.hint);
	return buf;
}

int
query_working(const struct query *q)
{
	int working = 0;

	for (const struct query_server *s = q->servers; s < q->end; s++)
		working += s->failure == REPLY_OK;
	return working;
}

int
query_status(const struct query *q)
{
	if (query_working(q) >= q->quorum)
		return 0;
	for (const struct query_server *s = q->servers; s < q->end; s++)
		if (s->failure == REPLY_DENIED)
			return EXIT_REFUSED;
	return EXIT_UNREACHABLE;
}

void
query_init(struct query *q, const struct options *opt)
{
	memset(q, 0, sizeof(*q));
	q->opt = opt;
	q->nservers = opt->servers.n;
	q->quorum = quorum_of(opt->servers.n);
	if (loop_init(&q->loop) == -1)
		die(EXIT_OS, "timerfd: %s", strerror(errno));
	resolver_init(&q->resolver, &q->loop, opt->settings.node_timeout_ms);
	q->servers = xcalloc((size_t)opt->servers.n, sizeof(*q->servers));
	q->end = q->servers + q->nservers;
	for (int i = 0; i < opt->servers.n; i++) {
		struct query_server *s = &q->servers[i];

		s->query = q;
		s->failure = REPLY_OK;
		conn_init(&s->conn, &q->resolver, &opt->servers.address[i],
		    request_replied_cb, s);
		s->conn.node_timeout_ms = opt->settings.node_timeout_ms;
		s->conn.form.text_first = true;
	}
}

void
query_server_retry(struct query_server *s)
{
	/* Replies still in flight belong to an earlier round. */
	if (s->failure != REPLY_OK)
		conn_close(&s->conn, NULL);
	s->failure = REPLY_OK;
	topology_begin_round(&s->conn.topology);
}

void
query_retry(struct query *q)
{
	for (struct query_server *s = q->servers; s < q->end; s++)
		query_server_retry(s);
}

void
query_release(struct query *q)
{
	for (struct query_server *s = q->servers; s < q->end; s++) {
		conn_release(&s->conn);
		free(s->scan.masters);
	}
	query_forget_locks(q);
	resolver_release(&q->resolver);
	free(q->servers);
	loop_release(&q->loop);
}
