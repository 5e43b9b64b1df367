/*
 * Chooses the next request to a server, with one in flight at a time, and keeps
 * the connection.  Callbacks only record replies; server_step() acts.  Nothing
 * here knows other servers: struct intent has what depends on all of them.
 *
 * A release never overtakes its acquire: it is sent behind it on the same
 * connection, whether or not the acquire has a reply.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/log.h"
#include "lock/grant.h"
#include "lock/notice.h"
#include "lock/server.h"
#include "lock/server_key.h"
#include "lock/server_next.h"
#include "lock/server_reply.h"
#include "lock/server_send.h"
#include "protocol/lease.h"
#include "redis/conn_why.h"
#include "redis/error.h"

/* No reply is waited for any more. */
static void
end_request(struct server *s)
{
	s->in_flight.kind = REQUEST_NONE;
	s->in_flight.give_up_ms = CLOCK_NEVER;
}

/*
 * Whether the release is sent again after this error.  A replica stays one, so
 * there it takes a new connection, which not every release may use.
 */
static bool
releases_again(struct server *s, enum request_kind kind, const struct reply *a)
{
	if (kind != REQUEST_RELEASE || !error_may_pass(a->text) ||
	    (error_is_of_replica(a->text) && !s->intent->ending.insists))
		return false;
	if (!s->release.failed)
		info("%s: %s: %s; sending the release again", s->intent->name,
		    s->conn.address.text, a->text);
	s->release.failed = true;
	return true;
}

/* Whether the run has waited for the lock for as long as it may. */
static bool
waited(const struct server *s, int64_t now)
{
	const struct intent *l = s->intent;

	return l->phase == PHASE_ACQUIRE && l->wait_end_ms != 0 &&
	    now >= l->wait_end_ms;
}

/*
 * Whether nothing was executed and a retry may soon succeed: the server wants
 * the text of the script, or the lock's slot is moving between two nodes of a
 * cluster, usually for milliseconds, or the server refuses a release for now.
 */
static bool
tries_again(struct server *s, enum request_kind kind, const struct reply *a)
{
	int64_t now = clock_now_ms();
	bool moving = a->kind == REPLY_ERROR && !waited(s, now) &&
	    s->intent->phase != PHASE_HOLD &&
	    strncmp(a->text, "TRYAGAIN", 8) == 0;
	bool later = moving || releases_again(s, kind, a);

	if (!later && (!error_wants_eval(a) || s->in_flight.first_sent_ms != 0))
		return false;
	if (kind == REQUEST_RELEASE)
		s->release.sent--;
	else if (s->in_flight.starts)
		server_key_recorded(s, false);
	if (later) {
		server_key_explain(s, a->text);
		server_next_later(s);
		return true;
	}
	server_next_now(s); /* a push may have made it due early */
	s->in_flight.first_sent_ms = a->sent_ms;
	s->in_flight.first_kind = kind;
	if (!s->in_flight.extended) {
		s->in_flight.extended = true;
		s->in_flight.excused_ms =
		    now + TEXT_TIMEOUTS * s->intent->node_timeout_ms;
	}
	return true;
}

/* The connection works: it carried a reply that is no error. */
static void
note_reply(struct server *s, int64_t sent_ms)
{
	int64_t took_ms = clock_now_ms() - sent_ms;

	if (!s->link.replied)
		info("%s: %s: connected, first reply after %" PRId64 "ms",
		    s->intent->name, s->conn.address.text,
		    clock_now_ms() - s->link.opened_ms);
	s->link.reopen = s->link.replied = true;
	server_next_replied(s);
	if (took_ms > s->slowest_ms)
		s->slowest_ms = took_ms;
}

/*
 * Takes the reply to the request in flight.  An answer to a request that was
 * repeated with its script's text counts from its first sending, as one request
 * that took longer.
 */
static void
take_reply(struct server *s, enum request_kind kind, const struct reply *a)
{
	struct reply answer = *a;

	if (a->kind != REPLY_OK && tries_again(s, kind, a))
		return;
	if (s->in_flight.first_sent_ms != 0)
		answer.sent_ms = s->in_flight.first_sent_ms;
	s->in_flight.first_sent_ms = 0;
	if (a->kind != REPLY_OK) {
		server_reply_error(s, kind, a);
		return;
	}
	note_reply(s, a->sent_ms);
	server_reply_answer(s, kind, &answer);
}

/* Judges a reply, unless its request no longer matters. */
static void
replied_cb(void *arg, const struct reply *a)
{
	struct server *s = arg;
	enum request_kind kind = s->in_flight.kind;

	if (a->tag == s->in_flight.acquire)
		s->in_flight.acquire = 0;
	if (a->tag == s->release.first && a->kind == REPLY_OK &&
	    s->intent->phase == PHASE_RELEASE &&
	    s->release.vote == VOTE_PENDING) {
		end_request(s);
		server_reply_release(s, a);
		return;
	}
	if (kind == REQUEST_NONE || a->tag != s->in_flight.sequence ||
	    a->kind == REPLY_LOST)
		return; /* server_down() sees to a lost connection */
	s->asks->refresh_cb(s->asks->arg, s);
	end_request(s);
	s->sent_ms = a->sent_ms;
	s->in_flight.excused_ms = 0;
	take_reply(s, kind, a);
}

void
server_init(struct server *s, const struct intent *intent,
    const struct server_asks *asks, struct resolver *resolver,
    const struct address *address, bool *answered)
{
	s->intent = intent;
	s->asks = asks;
	s->slowest_ms = -1;
	s->in_flight.give_up_ms = CLOCK_NEVER;
	s->try = 1;
	conn_init(&s->conn, resolver, address, replied_cb, s);
	s->conn.changed_cb = notice_changed_cb;
	if (answered != NULL)
		s->conn.answered = answered;
	s->conn.node_timeout_ms = intent->node_timeout_ms;
	s->conn.ask_info = intent->nservers > 1 || intent->grace_ms > 0;
}

/* Releases the attempt on this server; the next one has a new value. */
static void
give_back(struct server *s, bool leave)
{
	server_send_release(s, leave);
	end_request(s);
	s->in_flight.first_sent_ms = 0;
	server_key_lost(s, KEY_NONE);
	s->try++;
}

void
server_ask_anew(struct server *s)
{
	server_key_pending(s);
	server_next_now(s);
}

void
server_restart(struct server *s)
{
	if (s->conn.state == CONN_READY)
		give_back(s, false);
	server_key_lost(s, KEY_MAYBE);
	s->try++;
	server_ask_anew(s);
}

void
server_yield(struct server *s)
{
	if (s->conn.state != CONN_READY)
		return; /* it gets a request when it is back */
	give_back(s, false);
	server_key_yielded(s);
	server_next_pause(s, POLL_MS);
}

/* Records why there is no reply; while the lock is held, the vote is lost. */
static void
note_failure(struct server *s, const char *why)
{
	if (s->intent->phase == PHASE_HOLD)
		server_key_failed(s, VOTE_UNAVAILABLE, why);
	else
		server_key_explain(s, why);
}

/* Returns until when to wait for the reply to a request sent at sent_ms. */
static int64_t
answer_end_ms(const struct server *s, int64_t sent_ms)
{
	const struct intent *l = s->intent;
	bool text = s->in_flight.first_sent_ms != 0;

	if (s->key.unconfirmed_ms != 0 && l->phase == PHASE_HOLD)
		return grant_give_up_ms(s, sent_ms);
	return sent_ms +
	    (text && l->phase == PHASE_ACQUIRE ? TEXT_TIMEOUTS : 1) *
	    l->node_timeout_ms;
}

/*
 * Whether we caused the missing reply: when its time was over, this process had
 * not yet sent the request, or not yet read the data before the reply.  The
 * server then gets the same time once more.
 */
static bool
excused(struct server *s)
{
	if (s->in_flight.excused_ms != 0 ||
	    s->conn.link->active_ms < s->in_flight.give_up_ms)
		return false;
	s->in_flight.give_up_ms = answer_end_ms(s, s->conn.link->active_ms);
	s->in_flight.excused_ms = s->in_flight.give_up_ms;
	return true;
}

/* Writes how far we got without an answer, and what helps. */
static void
explain_silence(const struct server *s, char why[CONN_WHY])
{
	const struct intent *l = s->intent;
	char text[DURATION_TEXT];
	const char *hint = "";

	if (l->phase == PHASE_ACQUIRE)
		hint = lease_timeout_hint(l->ttl_ms, l->node_timeout_ms);
	else if (s->release.second_ms != 0)
		hint = ", not on a second connection either";
	conn_why_silent(&s->conn, duration_format(l->node_timeout_ms, text),
	    hint, why);
}

/* Handles a request that was not answered in time. */
static void
server_unanswered(struct server *s)
{
	const struct intent *l = s->intent;
	char why[CONN_WHY];

	if (s->in_flight.kind == REQUEST_WAIT) {
		/* A blocked connection accepts no further request. */
		conn_close(&s->conn, NULL);
		return;
	}
	explain_silence(s, why);
	note_failure(s, why);
	if (s->in_flight.kind == REQUEST_RELEASE) {
		/* It may still be executed, behind an acquire. */
		s->in_flight.give_up_ms = CLOCK_NEVER;
		return;
	}
	if (s->in_flight.kind == REQUEST_ACQUIRE && conn_connected(&s->conn)) {
		/*
		 * The acquire may still be executed, so its release must follow
		 * it here: now, before another address is tried, or at the end.
		 */
		if (l->phase != PHASE_HOLD && l->wait_end_ms == 0 &&
		    (s->conn.good || s->conn.topology.untried == 0)) {
			if (s->vote == VOTE_PENDING)
				server_key_failed(s, VOTE_UNAVAILABLE, why);
			s->in_flight.give_up_ms = CLOCK_NEVER;
			return;
		}
		give_back(s,
		    l->phase != PHASE_ACQUIRE ||
			clock_now_ms() >= l->wait_end_ms);
		conn_finish(&s->conn);
	}
	conn_close(&s->conn, why);
}

/* Handles a connection that is lost or could not be made. */
static void
server_down(struct server *s)
{
	const struct intent *l = s->intent;
	const struct conn *n = &s->conn;
	bool waits = l->phase == PHASE_ACQUIRE && l->wait_end_ms != 0;

	/*
	 * While BLPOP waits, a lost connection is no failure yet; the next
	 * request shows it.
	 */
	if (s->in_flight.kind != REQUEST_WAIT)
		note_failure(s, n->why);
	if (s->in_flight.kind == REQUEST_ACQUIRE && n->established)
		server_key_may_hold(s);
	/* WAIT covers only the writes on its own connection. */
	if (l->replicas > 0 && l->phase == PHASE_ACQUIRE &&
	    s->vote == VOTE_GRANTED)
		server_key_pending(s);
	end_request(s);
	/*
	 * An acquire that was interrupted is repeated soon, unless we wait, or
	 * have waited: the server may be down for long, and we must know that
	 * we cannot win.
	 */
	if (s->link.reopen || n->topology.untried > 0) {
		s->link.reopen = false;
		server_next_now(s);
	} else if (l->phase == PHASE_HOLD)
		server_next_reopen(s);
	else if (n->again || (s->key.state != KEY_NONE && !waits) ||
	    (l->phase == PHASE_RELEASE && s->queue.maybe))
		server_next_pause(s, RETRY_MS);
	else {
		server_key_failed(s,
		    n->failure == REPLY_DENIED ? VOTE_FORBIDDEN :
						 VOTE_UNAVAILABLE,
		    n->why);
		server_next_pause(s, REOPEN_MS);
	}
}

/*
 * Returns until when to wait for a connection begun now; several addresses
 * share the time.
 */
static int64_t
connected_end_ms(const struct server *s, int untried, int64_t now)
{
	int64_t limit_ms = answer_end_ms(s, now) - now;

	return now + limit_ms / (untried > 1 ? untried : 1);
}

void
server_open(struct server *s, int64_t now)
{
	grant_forget(s); /* the nonce holds only for one connection */
	s->in_flight.first_sent_ms = 0;
	s->in_flight.give_up_ms =
	    connected_end_ms(s, s->conn.topology.untried, now);
	s->link.opened = true;
	s->link.at_start = !s->intent->voted;
	s->link.accepted = false;
	s->link.opened_ms = now;
	s->link.replied = false;
	s->in_flight.excused_ms = 0;
	conn_open(&s->conn);
	s->link.looks_up = conn_looks_up(&s->conn);
}

/* The lookup and the connection have a node timeout each. */
static void
note_lookup_end(struct server *s, int64_t now)
{
	if (!s->link.looks_up || conn_looks_up(&s->conn))
		return;
	s->link.looks_up = false;
	s->in_flight.give_up_ms =
	    connected_end_ms(s, s->conn.topology.untried + 1, now);
}

/*
 * Once the server has accepted the connection, an acquire that waits for that has
 * a node timeout of its own.  While the lock is held, they share one, and while
 * other addresses are untried.
 */
static void
begin_answer(struct server *s, int64_t now)
{
	if (s->link.accepted || s->intent->phase != PHASE_ACQUIRE ||
	    s->conn.state != CONN_READY || !conn_connected(&s->conn))
		return;
	s->link.accepted = true;
	if (s->in_flight.kind == REQUEST_NONE ||
	    s->in_flight.give_up_ms == CLOCK_NEVER ||
	    s->conn.topology.untried > 0)
		return;
	/* Noticed too late, after a pause of this process: see excused(). */
	if (now >= s->in_flight.give_up_ms)
		s->in_flight.excused_ms = answer_end_ms(s, now);
	s->in_flight.give_up_ms = answer_end_ms(s, now);
}

/*
 * Gives up a request that is not answered in time, and handles a lost
 * connection.
 */
static void
check_connection(struct server *s, int64_t now)
{
	conn_sweep(&s->conn);
	if (s->link.opened && s->conn.state == CONN_DOWN)
		server_next_ended(s);
	note_lookup_end(s, now);
	begin_answer(s, now);
	if (s->link.opened && s->conn.state != CONN_DOWN &&
	    loop_seen_ms(s->conn.link->loop) >= s->in_flight.give_up_ms &&
	    !excused(s))
		server_unanswered(s);
	if (s->link.opened && s->conn.state == CONN_DOWN) {
		s->link.opened = false;
		server_down(s);
	}
}

/*
 * Returns when to send the release on a second connection, because the first may
 * be one that a firewall has forgotten.  Never if an acquire has no reply there:
 * the release must not overtake it.
 */
static int64_t
second_release_ms(const struct server *s)
{
	return s->intent->ending.insists && s->release.second_ms == 0 &&
		s->in_flight.kind == REQUEST_RELEASE &&
		s->in_flight.acquire == 0 && conn_connected(&s->conn) ?
	    s->in_flight.give_up_ms - s->intent->node_timeout_ms / 2 :
	    CLOCK_NEVER;
}

static void
begin_second_release(struct server *s, int64_t now)
{
	info("%s: %s: no answer to the release yet; sending it on a second "
	     "connection too",
	    s->intent->name, s->conn.address.text);
	s->release.first = s->in_flight.sequence;
	s->release.second_ms = now;
	end_request(s);
	s->link.opened = false;
	conn_set_aside(&s->conn);
}

/* Returns when to look after the request in flight, at the latest. */
static int64_t
look_after_ms(const struct server *s)
{
	return clock_min_ms(second_release_ms(s),
	    clock_min_ms(conn_second_ms(&s->conn), s->in_flight.give_up_ms));
}

/* The next request is r; it may be the last one once more, with its text. */
static void
begin_request(struct server *s, struct next_request *r)
{
	if (r->kind != s->in_flight.first_kind)
		s->in_flight.first_sent_ms = 0;
	s->in_flight.heals = r->heals;
	s->in_flight.leaves = r->leaves;
	s->in_flight.starts = r->starts;
	s->in_flight.length_ms = r->length_ms;
	if (r->length_ms > s->in_flight.longest_ms)
		s->in_flight.longest_ms = r->length_ms;
	r->watches = notice_begin(s, r->kind, r->leaves);
	if (r->kind == REQUEST_RELEASE)
		s->release.sent++;
	if (r->kind != REQUEST_ACQUIRE)
		return;
	r->fence = s->asks->propose_cb(s->asks->arg);
	if (s->try_over)
		s->try++;
	s->try_over = false;
	s->queue.sent_ticket = r->ticket != 0;
}

/*
 * The request is sent.  A vote that it gives back is no vote any more, even
 * before the reply.
 */
static void
note_sent(struct server *s, const struct next_request *r, int64_t now)
{
	s->in_flight.kind = r->kind;
	server_next_sent(s, r->kind, now);
	if (r->starts)
		server_key_recorded(s, true);
	if (r->kind == REQUEST_ACQUIRE)
		s->in_flight.acquire = s->in_flight.sequence;
	if (r->kind == REQUEST_LEAVE) {
		server_key_refused(s, KEY_MAYBE);
		s->try_over = true;
	}
	if (r->kind == REQUEST_WAIT)
		s->in_flight.give_up_ms = s->pace.next_ms;
	else if (conn_connected(&s->conn))
		s->in_flight.give_up_ms = answer_end_ms(s, now);
}

int64_t
server_step(struct server *s, int64_t now)
{
	struct next_request r;

	if (loop_seen_ms(s->conn.link->loop) >= second_release_ms(s))
		begin_second_release(s, now);
	check_connection(s, now);
	s->asks->refresh_cb(s->asks->arg, s);
	r = server_next_request(s, now);
	if (s->in_flight.kind != REQUEST_NONE || r.kind == REQUEST_NONE)
		return s->link.opened ? look_after_ms(s) : CLOCK_NEVER;
	if (now < r.due_ms)
		return r.due_ms;
	if (s->conn.state == CONN_DOWN && now < s->pace.open_ms)
		return s->pace.open_ms;
	if (s->conn.state == CONN_DOWN) {
		server_open(s, now);
		if (s->conn.state == CONN_DOWN)
			return now; /* judged in the next turn */
	}
	if (s->conn.state != CONN_READY)
		return look_after_ms(s);
	begin_request(s, &r);
	if (server_send(s, &r) == -1) {
		server_next_unsent(s);
		return s->pace.next_ms;
	}
	note_sent(s, &r, now);
	return look_after_ms(s);
}

void
server_end_wait(struct server *s, int64_t now)
{
	if (s->in_flight.kind == REQUEST_WAIT)
		s->in_flight.give_up_ms = now;
}

void
server_limit(struct server *s, int64_t end_ms)
{
	if (s->in_flight.kind != REQUEST_NONE &&
	    s->in_flight.give_up_ms == CLOCK_NEVER)
		s->in_flight.give_up_ms = end_ms;
}

bool
server_begin_release(struct server *s)
{
	if (s->in_flight.kind == REQUEST_ACQUIRE) {
		if (conn_connected(&s->conn) || server_may_have_ours(s))
			server_key_may_hold(s);
		else
			conn_close(&s->conn, s->why[0] != '\0' ? s->why : NULL);
	} else if (s->in_flight.kind == REQUEST_WAIT ||
	    s->in_flight.kind == REQUEST_REPLICAS)
		conn_close(&s->conn, NULL); /* the request blocks it */
	s->release.behind_ms = conn_unanswered_ms(&s->conn);
	s->release.behind_text = s->in_flight.first_sent_ms != 0;
	end_request(s);
	server_next_release(s);
	s->release.sent = s->release.first = 0;
	s->release.second_ms = 0;
	s->release.failed = false;
	server_key_pending(s);
	if (server_first_releases(s))
		return false;
	if (server_may_have_ours(s))
		return true;
	if (s->intent->started && s->recorded && s->conn.state == CONN_READY)
		server_send_release(s, false);
	return false;
}

void
server_again(struct server *s)
{
	if (s->in_flight.kind != REQUEST_NONE) {
		end_request(s);
		conn_finish(&s->conn);
		conn_close(&s->conn, NULL);
	}
	s->try++;
	server_key_again(s);
	server_next_again(s);
	end_request(s);
	s->in_flight.heals = s->queue.sent_ticket = false;
	s->in_flight.first_sent_ms = 0;
	s->release.sent = 0;
}
