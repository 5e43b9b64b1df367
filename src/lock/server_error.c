/*
 * The effect of an error: on the vote of its server, and on the time of the
 * next request.
 */
#include <string.h>

#include "base/clock.h"
#include "lock/server_error.h"
#include "lock/server_key.h"
#include "lock/server_next.h"
#include "redis/error.h"

void
server_malformed(struct server *s, const struct reply *a)
{
	server_key_failed(s, VOTE_UNAVAILABLE, "malformed reply");
	server_next_failed(s, a->sent_ms);
}

/*
 * Whether nothing was executed and a retry will soon succeed: the server wants
 * the text of the script, or the lock's slot is moving between two nodes of a
 * cluster, usually for milliseconds.
 */
static bool
tries_again(struct server *s, enum request_kind kind, const struct reply *a)
{
	bool moving = a->kind == REPLY_ERROR &&
	    s->intent->phase != PHASE_HOLD &&
	    strncmp(a->text, "TRYAGAIN", 8) == 0;
	int64_t now = clock_now_ms();

	if (!moving &&
	    (!error_wants_eval(a) || s->in_flight.first_sent_ms != 0))
		return false;
	if (kind == REQUEST_RELEASE)
		s->release.sent--;
	else if (s->in_flight.starts)
		server_key_recorded(s, false);
	if (moving) {
		server_key_explain(s, a->text);
		server_next_pause(s, POLL_MS);
		return true;
	}
	server_next_now(s);
	s->in_flight.first_sent_ms = a->sent_ms;
	s->in_flight.first_kind = kind;
	if (!s->in_flight.extended) {
		s->in_flight.extended = true;
		s->in_flight.excused_ms =
		    now + TEXT_TIMEOUTS * s->intent->node_timeout_ms;
	}
	return true;
}

void
server_take_error(
    struct server *s, enum request_kind kind, const struct reply *a)
{
	if (tries_again(s, kind, a))
		return;
	s->in_flight.first_sent_ms = 0;
	server_key_failed(s,
	    a->kind == REPLY_DENIED ? VOTE_FORBIDDEN : VOTE_UNAVAILABLE,
	    a->text);
	server_next_failed(s, a->sent_ms);
	/* A script may fail after its first write. */
	if (kind == REQUEST_ACQUIRE)
		server_key_may_hold(s);
	else if (kind == REQUEST_RELEASE)
		server_key_gone(s);
}
