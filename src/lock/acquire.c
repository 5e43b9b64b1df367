/*
 * Acquires a lock: votes.c counts the votes and decides, this file applies the
 * decision.
 */
#include "base/clock.h"
#include "lock/server_next.h"
#include "lock/votes.h"
#include "protocol/lock_state.h"

/*
 * Takes a ticket after a split vote: the latest that the servers that refused
 * us would give us.  Presented to all servers, it makes them agree on one
 * order.
 */
static void
take_ticket(struct lock *l, int64_t now)
{
	if (now >= l->intent.wait_end_ms)
		l->phase_end_ms =
		    now + CONTEST_TIMEOUTS * l->intent.node_timeout_ms;
	l->intent.ticket = 1;
	for (int i = 0; i < l->intent.nservers; i++) {
		struct server *s = &l->servers[i];

		if (server_vote(s) == VOTE_REFUSED &&
		    s->view.ticket_us > l->intent.ticket)
			l->intent.ticket = s->view.ticket_us;
		/*
		 * A single server has us in its queue with that ticket already.
		 */
		if (l->intent.quorum > 1 && server_has_voted(s))
			server_next_now(s);
	}
}

/* Only s reports what we are about to follow. */
static void
note_alone(struct lock *l, const struct server *s, int64_t now)
{
	if (l->contest.alone == s)
		return;
	l->contest.alone = s;
	l->contest.alone_ms = now;
}

/*
 * Whether servers report an earlier ticket.  A report from before our last vote
 * may be out of date, and that server gets a new request soon.
 */
static bool
waiters_ahead(struct lock *l, int64_t now)
{
	const struct server *only = NULL;
	int64_t won_ms = 0;
	int reports = 0;

	for (int i = 0; i < l->intent.nservers; i++) {
		const struct server *s = &l->servers[i];

		if (s->vote == VOTE_GRANTED && s->key.granted_ms > won_ms)
			won_ms = s->key.granted_ms;
	}
	for (int i = 0; i < l->intent.nservers; i++) {
		const struct server *s = &l->servers[i];
		enum vote vote = server_vote(s);

		if ((vote == VOTE_GRANTED || vote == VOTE_REFUSED) &&
		    s->queue.waiter_ahead && s->sent_ms > won_ms) {
			only = s;
			reports++;
		}
	}
	if (reports == 1)
		note_alone(l, only, now);
	return reports > 1 || (reports == 1 && votes_believe(l, only, now));
}

/* Gives our votes up if a candidate has an earlier ticket. */
static void
yield_to_earlier(struct lock *l, int64_t now)
{
	bool earlier = waiters_ahead(l, now);

	for (int i = 0; i < l->intent.nservers && earlier; i++)
		if (l->servers[i].vote == VOTE_GRANTED)
			server_yield(&l->servers[i]);
}

/* Extends the phase, so that new requests have at least one node timeout. */
static void
extend(struct lock *l, int64_t now)
{
	if (now + l->intent.node_timeout_ms > l->phase_end_ms)
		l->phase_end_ms = now + l->intent.node_timeout_ms;
}

/*
 * Our slot is taken and another one is free: asks all servers for that one,
 * since servers that choose by themselves choose different slots.
 */
static void
change_slot(struct lock *l, const struct tally *t, int64_t now)
{
	if (t->lone_slot != NULL)
		note_alone(l, t->lone_slot, now);
	l->contest.changes += !t->waits;
	l->intent.slot = t->free_slot;
	extend(l, now);
	for (int i = 0; i < l->intent.nservers; i++) {
		struct server *s = &l->servers[i];

		if (s->vote == VOTE_GRANTED ||
		    s->in_flight.kind == REQUEST_ACQUIRE)
			server_restart(s);
		else if (s->vote == VOTE_REFUSED)
			server_ask_anew(s);
	}
}

/*
 * Writes the fence of this tenure to the grants that have a smaller one.  A
 * renewal does that, so nothing happens where the key is no longer ours.
 */
static void
write_fence(struct lock *l)
{
	for (int i = 0; i < l->intent.nservers; i++) {
		struct server *s = &l->servers[i];

		if (server_vote(s) == VOTE_GRANTED &&
		    s->fence != l->intent.fence && s->conn.state == CONN_READY)
			server_next_now(s);
	}
}

/*
 * Asks whether the replicas have the grants.  WAIT blocks a connection, so it
 * is sent only when nothing else is missing.
 */
static void
ask_replicas(struct lock *l, int64_t now)
{
	if (!l->contest.extended)
		extend(l, now);
	l->intent.replicating = l->contest.extended = true;
	for (int i = 0; i < l->intent.nservers; i++) {
		struct server *s = &l->servers[i];

		if (server_vote(s) == VOTE_GRANTED &&
		    s->fence == l->intent.fence &&
		    s->replicas < l->intent.replicas)
			server_next_now(s);
	}
}

/*
 * A success that one server names may have reached the others late.  So all of
 * them are asked, without a vote or a place, until enough name it or we can win.
 */
static void
update_asks_ran(struct lock *l, bool asks_ran, int64_t now)
{
	bool begins = asks_ran && !l->intent.asks_ran;

	l->intent.asks_ran = asks_ran;
	for (int i = 0; i < l->intent.nservers && begins; i++)
		server_end_wait(&l->servers[i], now);
}

/*
 * The earliest waiter in the queue never yields.  While it reaches too few
 * servers to win, others might win.  So it leaves the queue and keeps its
 * ticket until it can win.
 */
static void
update_no_quorum(struct lock *l, bool no_quorum)
{
	bool changed = no_quorum != l->intent.no_quorum;

	l->intent.no_quorum = no_quorum;
	for (int i = 0; i < l->intent.nservers; i++) {
		struct server *s = &l->servers[i];

		/* A vote that comes while we cannot win goes back at once. */
		if ((changed && server_has_voted(s)) ||
		    (no_quorum && s->vote == VOTE_GRANTED &&
			s->conn.state == CONN_READY))
			server_next_now(s);
	}
}

/*
 * Asks again, because the votes have become old while we waited for the others.
 * WAIT does not renew them, so it is sent once more after the new votes.
 */
static void
ask_again(struct lock *l, const struct tally *t, int64_t now)
{
	if (!t->waits) {
		l->contest.extended = true;
		l->phase_end_ms = now + l->intent.node_timeout_ms;
	}
	l->intent.replicating = false;
	for (int i = 0; i < l->intent.nservers; i++) {
		struct server *s = &l->servers[i];

		if (s->vote != VOTE_GRANTED || s->sent_ms >= now)
			continue;
		if (t->waits)
			server_next_now(s);
		else
			server_ask_anew(s);
	}
}

void
lock_begin(struct lock *l, const struct owner *owner, int64_t wait_end_ms)
{
	l->intent.owner = owner;
	l->intent.begun = true;
	l->intent.wait_end_ms = wait_end_ms;
	if (l->intent.begun_ms == 0)
		l->intent.begun_ms = clock_now_ms();
	owner_details(owner, l->intent.details);
	l->proposal_us = clock_wall_us();
	/*
	 * One server chooses among all slots; several must be given the same
	 * one.
	 */
	l->intent.slot = l->intent.mode != LOCK_SLOTTED ?
	    1 :
	    l->intent.nservers == 1 ?
	    0 :
	    1 + (int)(l->proposal_us % l->intent.capacity);
	l->intent.phase = PHASE_ACQUIRE;
	l->phase_end_ms =
	    clock_now_ms() + PHASE_TIMEOUTS * l->intent.node_timeout_ms;
	if (l->phase_end_ms < wait_end_ms)
		l->phase_end_ms = wait_end_ms;
}

/*
 * The wait is over.  Servers may have refused long ago, so those that did are
 * asked a last time.
 */
static void
last_call(struct lock *l, int64_t now)
{
	l->contest.last_called = true;
	l->contest.extended = false;
	l->phase_end_ms = now + PHASE_TIMEOUTS * l->intent.node_timeout_ms;
	for (int i = 0; i < l->intent.nservers; i++) {
		struct server *s = &l->servers[i];

		if (s->vote != VOTE_REFUSED)
			continue;
		server_ask_anew(s);
		server_end_wait(s, now);
	}
}

/* Stores the addresses of the first two that lead to one server. */
static void
note_duplicates(struct lock *l)
{
	for (int i = l->intent.nservers - 1; i >= 0; i--) {
		const struct server *s = &l->servers[i];

		if (s->first == NULL)
			continue;
		l->same[0] = s->first->conn.address.text;
		l->same[1] = s->conn.address.text;
	}
}

static void
begin_hold(struct lock *l, int64_t now)
{
	l->intent.phase = PHASE_HOLD;
	l->intent.held = true;
	l->intent.waited_ms = now - l->intent.begun_ms;
	lock_trust_all(l);
	for (int i = 0; i < l->intent.nservers; i++)
		server_limit(&l->servers[i], now + l->intent.node_timeout_ms);
}

/* Applies the action.  Returns the outcome for the lock. */
static enum lock_outcome
apply(struct lock *l, enum action action, const struct tally *t, int64_t now)
{
	switch (action) {
	case AWAIT_REPLIES:
		break;
	case WRITE_FENCE:
		write_fence(l);
		break;
	case ASK_REPLICAS:
		write_fence(l);
		ask_replicas(l, now);
		break;
	case ASK_AGAIN:
		write_fence(l);
		ask_again(l, t, now);
		break;
	case CHANGE_SLOT:
		change_slot(l, t, now);
		break;
	case TAKE_TICKET:
		take_ticket(l, now);
		break;
	case YIELD_VOTES:
		yield_to_earlier(l, now);
		break;
	case HOLD_LOCK:
		write_fence(l);
		begin_hold(l, now);
		return LOCK_HELD;
	case END_BUSY:
		return LOCK_BUSY;
	case END_OTHERWISE:
		return LOCK_OTHER_MODE;
	case END_SLOW:
		l->slow = true;
		return LOCK_UNREACHABLE;
	case END_UNREACHABLE:
		return LOCK_UNREACHABLE;
	case END_DENIED:
		return LOCK_DENIED;
	case END_SAME_SERVER:
		note_duplicates(l);
		return LOCK_SAME_SERVER;
	case END_CANCELLED:
		return LOCK_CANCELLED;
	}
	return LOCK_UNDECIDED;
}

enum lock_outcome
lock_outcome(struct lock *l)
{
	int64_t now = clock_now_ms();
	struct tally t;

	if (l->intent.wait_end_ms != 0 && now >= l->intent.wait_end_ms &&
	    !l->contest.last_called)
		last_call(l, now);
	lock_judge_numbers(l);
	t = votes_count(l, now);
	if (t.granted >= t.quorum)
		l->intent.fence = t.fence;
	else {
		l->intent.replicating = false;
		l->intent.contest = t.contested;
		/* A success may count for hours yet. */
		update_no_quorum(l, t.waits && t.unusable + t.ran > t.minority);
		update_asks_ran(l, l->intent.no_quorum && t.ran > 0, now);
	}
	return apply(l, votes_decide(&t), &t, now);
}
