/*
 * How a lock is got: the votes are counted, a vote that is split is settled,
 * a fence is agreed on.  Like lock.c it knows the servers by what they said.
 */
#include <string.h>

#include "base/clock.h"
#include "lock/lock.h"
#include "protocol/state.h"

/* Whether two of the servers turn out to be one, under two names. */
static bool
same_server(struct lock *l)
{
	for (int i = 0; i < l->lease.nservers; i++) {
		const struct server *s = &l->servers[i];
		const struct server *duplicate = lock_duplicate(l, s);

		if (duplicate == NULL)
			continue;
		l->same[0] = s->conn.address.text;
		l->same[1] = duplicate->conn.address.text;
		return true;
	}
	return false;
}

static bool
same_owner(const struct lock_state *a, const struct lock_state *b)
{
	struct owner x, y;

	if (a->readers > 0 && b->readers > 0)
		return true; /* several may be the last of them */
	if (owner_parse(&x, a->value, a->len) == 0 &&
	    owner_parse(&y, b->value, b->len) == 0)
		return strcmp(x.token, y.token) == 0;
	return a->len == b->len && memcmp(a->value, b->value, a->len) == 0;
}

/*
 * Whether the refusals do not come to "busy" yet: several owners share the
 * votes, or one is still in the queue and so a candidate as we are.
 */
static bool
contested(const struct lock *l)
{
	const struct lock_state *first = NULL;

	if (l->lease.quorum == 1)
		return false; /* one vote cannot be split */
	for (int i = 0; i < l->lease.nservers; i++) {
		const struct lock_state *v = &l->servers[i].view;

		if (server_vote(&l->servers[i]) != VOTE_REFUSED)
			continue;
		if (!v->taken || v->queued)
			return true;
		if (first != NULL && !same_owner(first, v))
			return true;
		first = v;
	}
	return false;
}

/*
 * The vote is split.  Our ticket is the latest that a server which refused us
 * would give us; presented everywhere, it makes all servers agree on an order.
 */
static void
take_ticket(struct lock *l, int64_t now)
{
	if (now >= l->lease.wait_end_ms)
		l->phase_end_ms =
		    now + CONTEST_TIMEOUTS * l->lease.node_timeout_ms;
	l->lease.ticket = 1;
	for (int i = 0; i < l->lease.nservers; i++) {
		struct server *s = &l->servers[i];

		if (server_vote(s) == VOTE_REFUSED &&
		    s->view.ticket_us > l->lease.ticket)
			l->lease.ticket = s->view.ticket_us;
		/* A single server has us in its queue with that ticket. */
		if (l->lease.quorum > 1 &&
		    (s->vote == VOTE_GRANTED || s->vote == VOTE_REFUSED))
			s->pace.next_ms = now;
	}
}

/*
 * Whether we are told of an earlier ticket.  What a server said before our last
 * vote may be over by now; it is asked again soon.  A server that alone keeps
 * saying so, though for a node timeout nobody has won with our votes, is not
 * believed any longer.
 */
static bool
waiters_ahead(struct lock *l, int64_t now)
{
	const struct server *only = NULL;
	int64_t won_ms = 0;
	int told = 0;

	for (int i = 0; i < l->lease.nservers; i++) {
		const struct server *s = &l->servers[i];

		if (s->vote == VOTE_GRANTED && s->key.granted_ms > won_ms)
			won_ms = s->key.granted_ms;
	}
	for (int i = 0; i < l->lease.nservers; i++) {
		const struct server *s = &l->servers[i];
		enum vote vote = server_vote(s);

		if ((vote == VOTE_GRANTED || vote == VOTE_REFUSED) &&
		    s->queue.waiter_ahead && s->sent_ms > won_ms) {
			only = s;
			told++;
		}
	}
	if (told == 1 && l->contest.alone != only) {
		l->contest.alone = only;
		l->contest.alone_ms = now;
	}
	return told > 1 ||
	    (told == 1 && now < l->contest.alone_ms + l->lease.node_timeout_ms);
}

/* Votes go to those with the earliest tickets. */
static void
yield_to_earlier(struct lock *l, int64_t now)
{
	bool earlier = waiters_ahead(l, now);

	for (int i = 0; i < l->lease.nservers && earlier; i++)
		if (l->servers[i].vote == VOTE_GRANTED)
			server_yield(&l->servers[i]);
}

/*
 * The fence of this tenure is the largest among the votes.  The servers that
 * have less get it written back, by a renewal and so only if the lock is
 * still ours there.  Returns how many votes have it.
 */
static int
raise_fence(struct lock *l)
{
	int fenced = 0;

	for (int i = 0; i < l->lease.nservers; i++)
		if (server_vote(&l->servers[i]) == VOTE_GRANTED &&
		    l->servers[i].fence > l->lease.fence)
			l->lease.fence = l->servers[i].fence;
	for (int i = 0; i < l->lease.nservers; i++) {
		struct server *s = &l->servers[i];

		if (server_vote(s) != VOTE_GRANTED)
			continue;
		if (s->fence == l->lease.fence)
			fenced++;
		else if (s->conn.state == CONN_READY)
			s->pace.next_ms = 0;
	}
	return fenced;
}

/* How many servers have a holder, who is no candidate. */
static int
firm_refusals(const struct lock *l)
{
	int n = 0;

	for (int i = 0; i < l->lease.nservers; i++) {
		const struct server *s = &l->servers[i];

		if (server_vote(s) == VOTE_REFUSED && s->view.taken &&
		    !s->view.queued)
			n++;
	}
	return n;
}

/*
 * Another slot, which most servers name as free; 0 if none does.  The word of
 * one server counts once in a node timeout, so that it costs time at most.
 */
static int
free_slot(struct lock *l, int64_t now)
{
	int best = 0, most = 0;

	for (int i = 0; i < l->lease.nservers; i++) {
		const struct server *s = &l->servers[i];
		int named = 0;

		if (server_vote(s) != VOTE_REFUSED || s->view.best_ms != -2 ||
		    s->view.best == l->lease.slot)
			continue;
		for (int j = 0; j < l->lease.nservers; j++)
			named += server_vote(&l->servers[j]) == VOTE_REFUSED &&
			    l->servers[j].view.best_ms == -2 &&
			    l->servers[j].view.best == s->view.best;
		if (named > most) {
			most = named;
			best = s->view.best;
		}
	}
	if (most == 1 && l->lease.nservers > 2) {
		if (now < l->contest.lone_slot_ms)
			return 0;
		l->contest.lone_slot_ms = now + l->lease.node_timeout_ms;
	}
	return best;
}

/*
 * This slot is somebody's.  If servers know one that is free, that is asked for
 * instead, of all: servers that choose by themselves choose different ones.
 * Without waiting each is tried once at most.
 */
static bool
change_slot(struct lock *l, int64_t now)
{
	int slot;

	if (l->lease.mode != LOCK_SLOTTED || l->lease.nservers == 1 ||
	    (slot = free_slot(l, now)) == 0)
		return false;
	if (now >= l->lease.wait_end_ms &&
	    ++l->contest.changes > l->lease.capacity)
		return false;
	l->lease.slot = slot;
	if (now + l->lease.node_timeout_ms > l->phase_end_ms)
		l->phase_end_ms = now + l->lease.node_timeout_ms;
	for (int i = 0; i < l->lease.nservers; i++) {
		struct server *s = &l->servers[i];

		if (s->vote == VOTE_GRANTED ||
		    s->in_flight.kind == REQUEST_ACQUIRE)
			server_restart(s);
		else if (s->vote == VOTE_REFUSED) {
			s->vote = VOTE_PENDING;
			s->pace.next_ms = now;
		}
	}
	return true;
}

/*
 * The earliest in the queue never yields.  While it cannot win, for want of
 * servers that answer it, others might: so it leaves the queue, with its
 * ticket, until it can.
 */
static void
update_no_quorum(struct lock *l, bool no_quorum, int64_t now)
{
	if (no_quorum == l->lease.no_quorum)
		return;
	l->lease.no_quorum = no_quorum;
	for (int i = 0; i < l->lease.nservers; i++) {
		struct server *s = &l->servers[i];

		if (s->vote == VOTE_GRANTED || s->vote == VOTE_REFUSED)
			s->pace.next_ms = now;
	}
}

/*
 * The votes have grown old while we waited for the rest.  What the replicas
 * have does not make them younger: they come after the votes, once more.
 */
static void
ask_again(struct lock *l, int64_t now)
{
	l->lease.replicating = false;
	for (int i = 0; i < l->lease.nservers; i++) {
		struct server *s = &l->servers[i];

		if (s->vote != VOTE_GRANTED || s->sent_ms >= now)
			continue;
		s->pace.next_ms = now;
		if (now >= l->lease.wait_end_ms)
			s->vote = VOTE_PENDING;
	}
}

/*
 * Whether the replicas of enough servers have what those have answered.  To
 * ask blocks a connection, so it is done only when nothing else is missing.
 */
static bool
replicated(struct lock *l, int64_t now)
{
	int n = 0;

	if (l->lease.replicas == 0)
		return true;
	if (!l->contest.extended &&
	    now + l->lease.node_timeout_ms > l->phase_end_ms)
		l->phase_end_ms = now + l->lease.node_timeout_ms;
	l->lease.replicating = l->contest.extended = true;
	for (int i = 0; i < l->lease.nservers; i++) {
		struct server *s = &l->servers[i];

		if (server_vote(s) != VOTE_GRANTED ||
		    s->fence != l->lease.fence)
			continue;
		if (s->replicas >= l->lease.replicas)
			n++;
		else
			s->pace.next_ms = 0;
	}
	return n >= l->lease.quorum;
}

/* Whether the time for the answers is over, and all that came has been read. */
static bool
over(const struct lock *l)
{
	return loop_seen_ms(l->loop) >= l->phase_end_ms;
}

/* Whether a vote is older than any that we would have waited for. */
static bool
stood_still(const struct lock *l, int64_t now)
{
	for (int i = 0; i < l->lease.nservers; i++) {
		const struct server *s = &l->servers[i];

		if (server_vote(s) == VOTE_GRANTED &&
		    now > s->sent_ms + l->lease.node_timeout_ms)
			return true;
	}
	return false;
}

/*
 * There are enough votes; with the fence, on the replicas and in time, the
 * lock is held.
 */
static enum lock_outcome
judge_majority(struct lock *l, int64_t now)
{
	if (raise_fence(l) < l->lease.quorum || !replicated(l, now))
		return over(l) ? LOCK_UNREACHABLE : LOCK_UNDECIDED;
	if (lock_deadline_ms(l) - now >= l->lease.ttl_ms / 2)
		return LOCK_HELD;
	if (now < l->lease.wait_end_ms ||
	    (stood_still(l, now) && !l->contest.extended)) {
		if (now >= l->lease.wait_end_ms) {
			l->contest.extended = true;
			l->phase_end_ms = now + l->lease.node_timeout_ms;
		}
		ask_again(l, now);
		return LOCK_UNDECIDED;
	}
	l->slow = true;
	return LOCK_UNREACHABLE;
}

/* Enough votes, enough refusals, or too few servers left for either. */
static enum lock_outcome
judge_votes(struct lock *l, int64_t now)
{
	int count[VOTE_FORBIDDEN + 1] = { 0 }, minority, unable = 0, denied;
	bool waits = now < l->lease.wait_end_ms;
	bool split, excluded, heard;

	if (l->cancelled)
		return LOCK_CANCELLED;
	if (same_server(l))
		return LOCK_SAME_SERVER;
	lock_judge_numbers(l);
	for (int i = 0; i < l->lease.nservers; i++) {
		count[server_vote(&l->servers[i])]++;
		unable += l->servers[i].vote == VOTE_UNAVAILABLE;
	}
	if (count[VOTE_GRANTED] >= l->lease.quorum)
		return judge_majority(l, now);
	l->lease.replicating = false;
	minority = l->lease.nservers - l->lease.quorum;
	denied = count[VOTE_FORBIDDEN];
	excluded = count[VOTE_REFUSED] > minority;
	update_no_quorum(l, waits && unable + denied > minority, now);
	l->lease.contest = contested(l);
	heard = count[VOTE_GRANTED] + count[VOTE_REFUSED] >= l->lease.quorum;
	split = l->lease.contest && heard;
	if (firm_refusals(l) > minority && change_slot(l, now))
		return LOCK_UNDECIDED;
	if (excluded && !l->lease.contest && !waits)
		return LOCK_BUSY;
	if ((split || (waits && excluded && heard)) && l->lease.ticket == 0)
		take_ticket(l, now);
	else if (split && over(l))
		return LOCK_BUSY;
	else if (split)
		yield_to_earlier(l, now);
	else if (denied > minority)
		return LOCK_DENIED;
	else if (!waits && (over(l) || count[VOTE_PENDING] == 0))
		return denied > 0 ? LOCK_DENIED : LOCK_UNREACHABLE;
	return LOCK_UNDECIDED;
}

void
lock_begin(struct lock *l, const struct owner *owner, int64_t wait_end_ms)
{
	l->lease.owner = owner;
	l->lease.begun = true;
	l->lease.wait_end_ms = wait_end_ms;
	if (l->lease.begun_ms == 0)
		l->lease.begun_ms = clock_now_ms();
	owner_details(owner, l->lease.details);
	l->proposal_us = clock_wall_us();
	/* One server has all slots before it, several have to be told. */
	l->lease.slot = l->lease.mode != LOCK_SLOTTED ?
	    1 :
	    l->lease.nservers == 1 ?
	    0 :
	    1 + (int)(l->proposal_us % l->lease.capacity);
	l->lease.phase = PHASE_ACQUIRE;
	l->phase_end_ms = clock_now_ms() + l->lease.node_timeout_ms;
	if (l->phase_end_ms < wait_end_ms)
		l->phase_end_ms = wait_end_ms;
}

/*
 * The wait is over.  What servers have said may be long ago, so those that
 * refused are asked for the last time.
 */
static void
last_call(struct lock *l, int64_t now)
{
	l->contest.last_called = true;
	l->contest.extended = false;
	l->phase_end_ms = now + l->lease.node_timeout_ms;
	for (int i = 0; i < l->lease.nservers; i++) {
		struct server *s = &l->servers[i];

		if (s->vote != VOTE_REFUSED)
			continue;
		s->vote = VOTE_PENDING;
		s->pace.next_ms = now;
		if (s->in_flight.kind == REQUEST_WAIT)
			s->in_flight.give_up_ms = now;
	}
}

enum lock_outcome
lock_outcome(struct lock *l)
{
	int64_t now = clock_now_ms();
	enum lock_outcome outcome;

	if (l->lease.wait_end_ms != 0 && now >= l->lease.wait_end_ms &&
	    !l->contest.last_called)
		last_call(l, now);
	outcome = judge_votes(l, now);
	if (outcome != LOCK_HELD)
		return outcome;
	l->lease.phase = PHASE_HOLD;
	l->lease.held = true;
	l->lease.waited_ms = now - l->lease.begun_ms;
	for (int i = 0; i < l->lease.nservers; i++) {
		struct server *s = &l->servers[i];

		/* From now on a silent connection is given up. */
		if (s->in_flight.kind != REQUEST_NONE &&
		    s->in_flight.give_up_ms == CLOCK_NEVER)
			s->in_flight.give_up_ms =
			    clock_now_ms() + l->lease.node_timeout_ms;
	}
	return outcome;
}
