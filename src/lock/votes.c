/*
 * Counts the votes and decides what follows from them.  Like lock.c it sees
 * only the servers' replies, not their requests.
 */
#include <string.h>

#include "lock/votes.h"
#include "protocol/lease.h"
#include "protocol/lock_state.h"

static bool
same_owner(const struct lock_state *a, const struct lock_state *b)
{
	if (a->readers > 0 && b->readers > 0)
		return true; /* the last of them may differ */
	if (a->owner.token[0] != '\0' && b->owner.token[0] != '\0')
		return strcmp(a->owner.token, b->owner.token) == 0;
	return a->len == b->len && memcmp(a->value, b->value, a->len) == 0;
}

/*
 * Whether the refusals do not mean "busy" yet: several owners split the votes,
 * or an owner is still in the queue and so a candidate like us.
 */
static bool
contested(const struct lock *l)
{
	const struct lock_state *first = NULL;

	if (l->intent.quorum == 1)
		return false; /* one vote cannot be split */
	for (const struct server *s = l->servers; s < l->end; s++) {
		const struct lock_state *v = &s->view;

		/*
		 * A recent success and a run that supersedes us are no
		 * candidates for our votes.
		 */
		if (server_vote(s) != VOTE_REFUSED || v->reason == REASON_RAN ||
		    v->reason == REASON_SUPERSEDED)
			continue;
		if (!v->taken || v->queued)
			return true;
		if (first != NULL && !same_owner(first, v))
			return true;
		first = v;
	}
	return false;
}

/* Returns how many refusals name this slot as free. */
static int
namings(const struct lock *l, int slot)
{
	int n = 0;

	for (const struct server *s = l->servers; s < l->end; s++)
		n += server_vote(s) == VOTE_REFUSED &&
		    s->view.best_ms == PTTL_FREE && s->view.best == slot;
	return n;
}

bool
votes_believe(const struct lock *l, const struct server *s, int64_t now)
{
	return l->contest.alone != s ||
	    now < l->contest.alone_ms + l->intent.node_timeout_ms;
}

/*
 * Returns another slot, the one that most servers name as free; 0 if there is
 * none.  Of more than two servers *lone is the only one that names it.
 */
static int
free_slot(const struct lock *l, int64_t now, const struct server **lone)
{
	int best = 0, most = 0;

	*lone = NULL;
	if (l->intent.mode != LOCK_SLOTTED || l->intent.nservers == 1)
		return 0;
	for (const struct server *s = l->servers; s < l->end; s++) {
		bool alone;
		int n;

		if (server_vote(s) != VOTE_REFUSED ||
		    s->view.best_ms != PTTL_FREE ||
		    s->view.best == l->intent.slot)
			continue;
		n = namings(l, s->view.best);
		alone = n == 1 && l->intent.nservers > 2;
		if (n > most && (!alone || votes_believe(l, s, now))) {
			most = n;
			best = s->view.best;
			*lone = alone ? s : NULL;
		}
	}
	return best;
}

/*
 * Whether a vote is older than the longest that we wait: for its own reply, and
 * for the connection and the reply of another server.
 */
static bool
vote_is_stale(const struct lock *l, int64_t now)
{
	int64_t most_ms = l->intent.node_timeout_ms;

	if (l->intent.nservers > 1)
		most_ms *= PHASE_TIMEOUTS;
	for (const struct server *s = l->servers; s < l->end; s++)
		if (server_vote(s) == VOTE_GRANTED &&
		    now > s->key.confirmed_ms + most_ms)
			return true;
	return false;
}

int64_t
votes_ticket(const struct lock *l)
{
	int64_t ticket = 1;

	for (const struct server *s = l->servers; s < l->end; s++)
		if (server_vote(s) == VOTE_REFUSED &&
		    s->view.ticket_us > ticket)
			ticket = s->view.ticket_us;
	return ticket;
}

static void
count_fenced(const struct lock *l, struct tally *t)
{
	t->fence = l->intent.fence;
	for (const struct server *s = l->servers; s < l->end; s++)
		if (server_vote(s) == VOTE_GRANTED && s->fence > t->fence)
			t->fence = s->fence;
	for (const struct server *s = l->servers; s < l->end; s++) {
		if (server_vote(s) != VOTE_GRANTED || s->fence != t->fence)
			continue;
		t->fenced++;
		t->replicated += s->replicas >= l->intent.replicas;
	}
}

/* Whether a value that we cannot read has the lock. */
static bool
is_unreadable(const struct lock_state *v)
{
	return v->reason == REASON_BUSY && v->taken && v->readers == 0 &&
	    v->owner.token[0] == '\0';
}

/*
 * Whether its holder or its cooldown may last longer than the grace, so that we
 * would take a server that has forgotten it for one that has not.
 */
static bool
outlasts(const struct intent *l, const struct lock_state *v)
{
	return l->nservers > 1 && l->grace_ms > 0 && v->taken &&
	    v->reason == REASON_BUSY &&
	    owner_longest_ms(&v->owner) > l->grace_ms;
}

struct tally
votes_count(const struct lock *l, int64_t now)
{
	const struct intent *w = &l->intent;
	int64_t grant_ms = lock_grant_ms(l);
	struct tally t = { .quorum = w->quorum,
		.minority = w->nservers - w->quorum,
		.contested = contested(l),
		.cancelled = l->cancelled,
		.same_server = lock_names_server_twice(l),
		.waits = now < w->wait_end_ms,
		.over = loop_seen_ms(l->loop) >= l->phase_end_ms,
		.extended = l->contest.extended,
		.has_ticket = w->ticket != 0,
		.half_left = lock_deadline_ms(l) - now >=
		    lease_start_ms(grant_ms != 0 ? grant_ms : w->ttl_ms),
		.stale = vote_is_stale(l, now) };

	for (const struct server *s = l->servers; s < l->end; s++) {
		enum vote vote = server_vote(s);

		t.granted += vote == VOTE_GRANTED;
		t.refused += vote == VOTE_REFUSED;
		t.pending += vote == VOTE_PENDING;
		t.forbidden += vote == VOTE_FORBIDDEN;
		t.unusable += vote == VOTE_FORBIDDEN ||
		    (vote == VOTE_UNAVAILABLE && s->numbers.odd == NULL);
		t.otherwise +=
		    vote == VOTE_REFUSED && s->view.reason == REASON_MODE;
		t.outlasting += vote == VOTE_REFUSED && outlasts(w, &s->view);
		t.ran += vote == VOTE_REFUSED && s->view.reason == REASON_RAN;
		t.superseded += vote == VOTE_REFUSED && w->latest &&
		    s->view.reason == REASON_SUPERSEDED;
		t.full += vote == VOTE_REFUSED && s->view.reason == REASON_FULL;
		t.firm += vote == VOTE_REFUSED && s->view.taken &&
		    !s->view.queued && s->view.reason != REASON_SUPERSEDED;
		t.unreadable += vote == VOTE_REFUSED && is_unreadable(&s->view);
	}
	count_fenced(l, &t);
	t.free_slot = free_slot(l, now, &t.lone_slot);
	/* Without waiting each slot is tried at most once. */
	if (!t.waits && l->contest.changes >= w->capacity)
		t.free_slot = 0;
	return t;
}

/*
 * Decides when a majority has granted its vote: the fence, the replicas or time
 * may be missing.
 */
static enum action
decide_majority(const struct tally *t)
{
	if (t->fenced < t->quorum)
		return t->over ? END_UNREACHABLE : WRITE_FENCE;
	if (t->replicated < t->quorum)
		return t->over && t->extended ? END_UNREACHABLE : ASK_REPLICAS;
	if (t->half_left)
		return HOLD_LOCK;
	return t->waits || (t->stale && !t->extended) ? ASK_AGAIN : END_SLOW;
}

/*
 * Whether there can be no majority as long as the later run waits.  A minority that
 * cannot be reached counts too: otherwise one vote of ours, and our places in the
 * queue, would keep the later run from a majority as well.
 */
static bool
is_superseded(const struct tally *t)
{
	return t->unusable <= t->minority &&
	    t->superseded + t->unusable > t->minority;
}

/*
 * Whether more replies may show that a majority counts as many waiters as
 * --max-waiting allows.  A ticket would take us into every queue.
 */
static bool
may_be_full(const struct tally *t)
{
	return t->full > 0 && t->full + t->pending >= t->quorum && !t->over;
}

enum action
votes_decide(const struct tally *t)
{
	bool answered = t->granted + t->refused >= t->quorum;
	bool excluded = t->refused > t->minority;
	bool split = t->contested && answered;

	if (t->cancelled)
		return END_CANCELLED;
	if (t->same_server)
		return END_SAME_SERVER;
	if (t->granted >= t->quorum)
		return decide_majority(t);
	if (t->otherwise > t->minority)
		return END_OTHERWISE;
	if (t->outlasting > t->minority)
		return END_OUTLASTED;
	if (t->ran > t->minority)
		return END_BUSY;
	if (is_superseded(t))
		return END_SUPERSEDED;
	/* A run with a ticket has joined, and stays. */
	if (t->full >= t->quorum && !t->has_ticket)
		return END_FULL;
	if (t->firm > t->minority && t->free_slot != 0)
		return CHANGE_SLOT;
	if (excluded && !t->contested && !t->waits)
		return END_BUSY;
	if ((split || (t->waits && excluded && answered)) && !t->has_ticket)
		return may_be_full(t) ? AWAIT_REPLIES : TAKE_TICKET;
	if (split)
		return t->over ? END_BUSY : YIELD_VOTES;
	if (t->forbidden > t->minority)
		return END_DENIED;
	if (!t->waits && (t->over || t->pending == 0))
		return t->forbidden > 0 ? END_DENIED : END_UNREACHABLE;
	return AWAIT_REPLIES;
}
