/* A reply, or an error, becomes one transition. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/log.h"
#include "lock/grant.h"
#include "lock/server_key.h"
#include "lock/server_next.h"
#include "lock/server_reply.h"
#include "protocol/lock_state.h"
#include "redis/error.h"

/* A reply that cannot be right: the server has no vote for now. */
static void
malformed(struct server *s, const struct reply *a)
{
	server_key_failed(s, VOTE_UNAVAILABLE, "malformed reply");
	server_next_failed(s, a->sent_ms);
}

static void
server_granted(struct server *s, const struct reply *a, int64_t fence, int slot)
{
	server_key_won(s, a->sent_ms, fence, slot);
	server_next_granted(s, a->sent_ms);
	server_key_trust(s, a->sent_ms, s->in_flight.length_ms);
}

static void
server_refused(struct server *s, const struct reply *a)
{
	if (s->key.state == KEY_OURS)
		info("%s: %s: lock lost on this server", s->intent->name,
		    s->conn.address.text);
	server_key_refused(s, KEY_NONE);
	server_next_refused(s, a->sent_ms);
}

/*
 * The server does not report its age, for ever or for now, so that the restart
 * grace leaves it no vote.
 */
static void
reject_ageless_vote(struct server *s)
{
	const char *info = s->conn.info.error;
	bool denied = error_denies(info);
	char error[CONN_WHY - 40], why[CONN_WHY];

	snprintf(why, sizeof(why), "INFO: %s%s",
	    error_copy(error, sizeof(error), info),
	    denied || error_may_pass(info) ? "" : "; needs --restart-grace 0");
	server_key_failed(s, denied ? VOTE_FORBIDDEN : VOTE_UNAVAILABLE, why);
}

/*
 * The server is younger than the restart grace: it granted the lock, but may
 * have forgotten another holder.
 */
static void
reject_young_vote(struct server *s)
{
	int64_t age_ms = clock_now_ms() - s->conn.info.born_ms;
	char age[DURATION_TEXT], left[DURATION_TEXT], why[CONN_WHY];

	if (s->conn.info.born_ms == 0) {
		reject_ageless_vote(s);
		return;
	}
	snprintf(why, sizeof(why),
	    "started %s ago and may have forgotten locks; no vote for "
	    "another %s (--restart-grace)",
	    age_ms < 1000 ? "<1s" : duration_format(age_ms, age),
	    duration_format(s->intent->grace_ms + 1000 - age_ms, left));
	server_key_failed(s, VOTE_UNAVAILABLE, why);
}

/*
 * Whether the slot in a reply is valid: the one requested or, if that was 0,
 * any.
 */
static bool
slot_fits(const struct intent *l, int slot)
{
	return slot >= 1 && slot <= l->capacity &&
	    (l->slot == 0 || l->slot == slot);
}

/*
 * Reads a reply of the scripts, and stores a refusal as the server's view of
 * the lock.  Returns 0, or -1 if the reply is malformed.
 */
static int
read_state(struct server *s, const struct reply *a, struct lock_state *st)
{
	if (lock_state_read(st, a) == -1 ||
	    (!st->granted && st->best > s->intent->capacity))
		return -1;
	if (st->granted)
		return 0;
	server_key_viewed(s, st);
	return 0;
}

static void
acquire_answered(struct server *s, const struct reply *a)
{
	const struct intent *l = s->intent;
	bool made =
	    s->key.state != KEY_OURS; /* by this acquire or one like it */
	bool first = !server_may_have_ours(s);
	struct lock_state st;

	server_key_may_hold(s);
	if (read_state(s, a, &st) == -1 ||
	    (st.granted && (st.fence == 0 || !slot_fits(l, st.slot)))) {
		malformed(s, a);
		return;
	}
	/* Our clock is the common reference for comparing server clocks. */
	s->numbers.ahead_us = st.now_us - a->sent_ms * 1000;
	server_key_ahead(s, st.ahead);
	if (!st.granted) {
		server_refused(s, a);
		grant_expect(s, a->sent_ms);
		if (first &&
		    (st.reason == REASON_RAN ||
			(st.reason == REASON_FULL && l->nservers == 1)))
			server_key_unqueued(s);
		return;
	}
	if (l->nservers == 1)
		server_key_unqueued(s);
	if (!server_past_restart_grace(s) || (made && s->in_flight.heals))
		server_key_distrusted(s);
	server_granted(s, a, st.fence, st.slot);
	if (l->phase == PHASE_ACQUIRE && !server_past_restart_grace(s))
		reject_young_vote(s);
}

/* BLPOP has ended: we were woken, or the place in the queue needs a refresh. */
static void
wait_answered(struct server *s, const struct reply *a)
{
	size_t len = 0;
	const char *element = reply_string(a, 1, &len);
	struct grant g;

	if (!grant_take(s, element, len, &g)) {
		server_next_now(s);
		return;
	}
	server_key_passed_on(s, &g);
	server_next_passed_on(s, g.length_ms);
}

static void
renew_answered(struct server *s, const struct reply *a)
{
	struct lock_state st;

	if (read_state(s, a, &st) == -1 || (st.granted && st.fence == 0))
		malformed(s, a);
	else if (st.granted) {
		if (s->in_flight.leaves)
			server_key_unqueued(s);
		server_granted(s, a, st.fence, s->slot);
		info("%s: %s: renewed in %" PRId64 "ms", s->intent->name,
		    s->conn.address.text, clock_now_ms() - a->sent_ms);
	} else
		server_refused(s, a);
}

/*
 * An answer changes nothing if another address has the server's vote, or if we
 * can win again.
 */
static void
ran_answered(struct server *s, const struct reply *a)
{
	const struct intent *l = s->intent;
	struct lock_state st;

	if (l->phase != PHASE_ACQUIRE ||
	    (!l->votes.asks_ran && s->first == NULL)) {
		server_next_now(s);
		return;
	}
	server_next_ran(s, a->sent_ms);
	if (lock_state_read(&st, a) == -1 ||
	    (!st.granted && st.reason != REASON_RAN)) {
		malformed(s, a);
		return;
	}
	if (!st.granted && s->first == NULL)
		server_key_viewed(s, &st);
}

/* With too few replicas the server has no vote; a waiter sends WAIT again. */
static void
replicas_answered(struct server *s, const struct reply *a)
{
	const struct intent *l = s->intent;
	char text[DURATION_TEXT], why[CONN_WHY];

	if (reply_number(a) < 0 || reply_number(a) > INT_MAX) {
		malformed(s, a);
		return;
	}
	server_key_replicated(s, (int)reply_number(a));
	if (s->replicas >= l->replicas)
		return;
	snprintf(why, sizeof(why),
	    "only %d of %d replicas confirmed the lock within %s "
	    "(--replicas)",
	    s->replicas, l->replicas,
	    duration_format((l->node_timeout_ms + 1) / 2, text));
	server_key_failed(s, VOTE_UNAVAILABLE, why);
	server_next_failed(s, clock_now_ms());
}

void
server_reply_release(struct server *s, const struct reply *a)
{
	struct lock_state st;

	/* Without COMMAND, or only in the queue, there is nothing to lose. */
	if (s->key.state == KEY_NONE || !s->intent->held)
		server_key_released(s, VOTE_GRANTED, NULL);
	else if (read_state(s, a, &st) == -1)
		malformed(s, a);
	else if (st.granted)
		server_key_released(s, VOTE_GRANTED, NULL);
	else if (s->release.sent > 1)
		/* One before it may have come in time, or none. */
		server_key_released(s, VOTE_UNAVAILABLE,
		    "the release had to be sent again, and the lock was gone");
	else
		server_key_released(s, VOTE_REFUSED, NULL);
	server_key_gone(s);
}

void
server_reply_answer(struct server *s, enum request_kind kind,
    const struct reply *a)
{
	switch (kind) {
	case REQUEST_ACQUIRE:
		acquire_answered(s, a);
		break;
	case REQUEST_WAIT:
		wait_answered(s, a);
		break;
	case REQUEST_REPLICAS:
		replicas_answered(s, a);
		break;
	case REQUEST_RENEW:
		renew_answered(s, a);
		break;
	case REQUEST_RAN:
		ran_answered(s, a);
		break;
	case REQUEST_LEAVE:
		server_key_lost(s, KEY_NONE);
		server_key_gone(s);
		break;
	case REQUEST_RELEASE:
		server_reply_release(s, a);
		break;
	case REQUEST_NONE:
		break;
	}
}

void
server_reply_error(struct server *s, enum request_kind kind,
    const struct reply *a)
{
	server_next_failed(s, a->sent_ms);
	/* An error of BLPOP is no vote: the next acquire shows what it means. */
	if (kind == REQUEST_WAIT && a->kind != REPLY_DENIED)
		return;
	server_key_failed(s,
	    a->kind == REPLY_DENIED ? VOTE_FORBIDDEN : VOTE_UNAVAILABLE,
	    a->text);
	/* A script may fail after its first write. */
	if (kind == REQUEST_ACQUIRE && !error_may_pass(a->text))
		server_key_may_hold(s);
	else if (kind == REQUEST_RELEASE)
		server_key_gone(s);
}
