/*
 * What an acquisition requests from the servers. votes.c counts the votes and
 * decides, lock.c changes the intent, and this file applies the decision.
 */
#include "lock/acquire.h"
#include "lock/server_next.h"

/*
 * A split vote has given us a ticket.  A single server has us in its queue with
 * that ticket already.
 */
static void
present_ticket(struct lock *l, int64_t now)
{
	if (now >= l->intent.wait_end_ms)
		l->phase_end_ms =
		    now + CONTEST_TIMEOUTS * l->intent.node_timeout_ms;
	for (struct server *s = l->servers; s < l->end; s++)
		if (l->intent.quorum > 1 && server_has_voted(s))
			server_next_now(s);
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

	for (const struct server *s = l->servers; s < l->end; s++)
		if (s->vote == VOTE_GRANTED && s->key.granted_ms > won_ms)
			won_ms = s->key.granted_ms;
	for (const struct server *s = l->servers; s < l->end; s++) {
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

	for (struct server *s = l->servers; s < l->end && earlier; s++)
		if (s->vote == VOTE_GRANTED)
			server_yield(s);
}

/* Gives back the votes that we have, and asks again after a pause. */
static void
pause_votes(struct lock *l, int64_t now)
{
	int64_t timeout_ms = l->intent.node_timeout_ms;
	int64_t next_ms = now + clock_jitter(timeout_ms) - timeout_ms / 2;

	for (struct server *s = l->servers; s < l->end; s++) {
		if (s->vote != VOTE_GRANTED)
			continue;
		server_yield(s);
		server_next_not_before(s, next_ms);
	}
}

bool
acquire_give_way(struct lock *l, const struct tally *t, int64_t now)
{
	int64_t timeout_ms = l->intent.node_timeout_ms;

	if (!t->waits || t->granted == 0 || t->granted >= t->quorum ||
	    t->unreadable == 0) {
		l->contest.give_way_ms = 0;
		return false;
	}
	if (l->contest.give_way_ms == 0)
		l->contest.give_way_ms =
		    now + clock_jitter(2 * timeout_ms) - timeout_ms;
	if (now < l->contest.give_way_ms)
		return false;
	l->contest.give_way_ms = 0;
	pause_votes(l, now);
	return true;
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
	extend(l, now);
	for (struct server *s = l->servers; s < l->end; s++) {
		if (s->vote == VOTE_GRANTED ||
		    s->in_flight.kind == REQUEST_ACQUIRE)
			server_restart(s);
		else if (s->vote == VOTE_REFUSED)
			server_ask_anew(s);
	}
}

/*
 * Writes the fence of this tenure to the votes that have a smaller one.  A
 * renewal does that, so nothing happens where the key is no longer ours.
 */
static void
write_fence(struct lock *l)
{
	for (struct server *s = l->servers; s < l->end; s++)
		if (server_vote(s) == VOTE_GRANTED &&
		    s->fence != l->intent.fence && s->conn.state == CONN_READY)
			server_next_now(s);
}

/*
 * Asks whether the replicas have the votes.  WAIT blocks a connection, so it
 * is sent only when nothing else is missing.
 */
static void
ask_replicas(struct lock *l, int64_t now)
{
	if (!l->contest.extended)
		extend(l, now);
	l->contest.extended = true;
	for (struct server *s = l->servers; s < l->end; s++)
		if (server_vote(s) == VOTE_GRANTED &&
		    s->fence == l->intent.fence &&
		    s->replicas < l->intent.replicas)
			server_next_now(s);
}

/*
 * The earliest waiter in the queue never yields.  While it reaches too few
 * servers to win, others might win.  So it leaves the queue and keeps its
 * ticket until it can win.  A vote that comes meanwhile goes back at once.
 */
void
acquire_without_quorum(struct lock *l, bool changed)
{
	for (struct server *s = l->servers; s < l->end; s++)
		if ((changed && server_has_voted(s)) ||
		    (l->intent.votes.no_quorum && s->vote == VOTE_GRANTED &&
			s->conn.state == CONN_READY))
			server_next_now(s);
}

/*
 * A success that one server names may have reached the others late.  So all of
 * them are asked, without a vote or a place, until enough name it or we can win.
 */
void
acquire_ask_ran(struct lock *l, int64_t now)
{
	for (struct server *s = l->servers; s < l->end; s++)
		server_end_wait(s, now);
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
	for (struct server *s = l->servers; s < l->end; s++) {
		if (s->vote != VOTE_GRANTED || s->sent_ms >= now)
			continue;
		if (t->waits)
			server_next_now(s);
		else
			server_ask_anew(s);
	}
}

/*
 * The wait is over.  Servers may have refused long ago, so those that did are
 * asked a last time.
 */
void
acquire_last_call(struct lock *l, int64_t now)
{
	l->contest.last_called = true;
	l->contest.extended = false;
	l->phase_end_ms = now + PHASE_TIMEOUTS * l->intent.node_timeout_ms;
	for (struct server *s = l->servers; s < l->end; s++) {
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

/* From now on a request that waits without a limit gets one. */
static void
begin_hold(struct lock *l, int64_t now)
{
	lock_trust_all(l);
	for (struct server *s = l->servers; s < l->end; s++)
		server_limit(s, now + l->intent.node_timeout_ms);
}

/* What the action changes, beside the intent. */
static void
apply(struct lock *l, enum action action, const struct tally *t, int64_t now)
{
	switch (action) {
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
		present_ticket(l, now);
		break;
	case YIELD_VOTES:
		yield_to_earlier(l, now);
		break;
	case HOLD_LOCK:
		write_fence(l);
		begin_hold(l, now);
		break;
	case END_SUPERSEDED:
		l->superseded = true;
		break;
	case END_SLOW:
		l->slow = true;
		break;
	case END_SAME_SERVER:
		note_duplicates(l);
		break;
	case AWAIT_REPLIES:
	case END_BUSY:
	case END_OTHERWISE:
	case END_FULL:
	case END_OUTLASTED:
	case END_UNREACHABLE:
	case END_DENIED:
	case END_CANCELLED:
		break;
	}
}

enum lock_outcome
acquire_apply(struct lock *l, enum action action, const struct tally *t,
    int64_t now)
{
	static const enum lock_outcome outcomes[] = { [HOLD_LOCK] = LOCK_HELD,
		[END_BUSY] = LOCK_BUSY,
		[END_SUPERSEDED] = LOCK_SUPERSEDED,
		[END_OTHERWISE] = LOCK_OTHER_MODE,
		[END_FULL] = LOCK_QUEUE_FULL,
		[END_OUTLASTED] = LOCK_OUTLASTS,
		[END_SLOW] = LOCK_UNREACHABLE,
		[END_UNREACHABLE] = LOCK_UNREACHABLE,
		[END_DENIED] = LOCK_DENIED,
		[END_SAME_SERVER] = LOCK_SAME_SERVER,
		[END_CANCELLED] = LOCK_CANCELLED };

	apply(l, action, t, now);
	return outcomes[action];
}
