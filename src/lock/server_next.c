#include "base/clock.h"
#include "lock/grant.h"
#include "lock/notice.h"
#include "lock/server_next.h"
#include "protocol/lease.h"
#include "wire.h"

#define PACE_MS 20 /* average time between requests to a server */
#define BURST   16 /* requests allowed without a pause */
/*
 * The interval at which we refresh our place in a queue, plus or minus a tenth.
 * Shorter at its head, so that a grant that comes is young.
 */
#define REFRESH_MS      4000
#define HEAD_REFRESH_MS 1000
#define RAN_MS          1000 /* between questions for a success */
#define LATE_MS         100  /* Redis ends BLPOP that late */
#define FOREIGN_MS      25 /* first interval under a holder that wakes nobody */
#define FOREIGN_MAX_MS  250
#define WAIT_RETRY_MS   500  /* from an error to the next request of a waiter */
#define PAUSE_MAX_MS    3000 /* between connections that end at once */

/* Returns the kind of request that the intent requires now. */
static enum request_kind
wanted_kind(const struct server *s, int64_t now)
{
	const struct intent *l = s->intent;
	bool answered = server_has_voted(s);

	switch (l->phase) {
	case PHASE_ACQUIRE:
		if (!l->begun)
			return REQUEST_NONE;
		/* The connection must be in use, to show when it breaks. */
		if (s->first != NULL)
			return REQUEST_RAN;
		if (l->votes.no_quorum && answered && !server_names_success(s))
			return server_may_have_ours(s) ? REQUEST_LEAVE :
			    l->votes.asks_ran          ? REQUEST_RAN :
							 REQUEST_NONE;
		/* A renewal raises the server's counter to our fence. */
		if (s->vote == VOTE_GRANTED && s->fence < l->fence)
			return REQUEST_RENEW;
		if (s->vote == VOTE_GRANTED && l->votes.replicating)
			return s->replicas < l->replicas ? REQUEST_REPLICAS :
							   REQUEST_NONE;
		return s->vote == VOTE_PENDING ||
			(l->ticket != 0 && answered) || now < l->wait_end_ms ?
		    REQUEST_ACQUIRE :
		    REQUEST_NONE;
	case PHASE_HOLD:
		/*
		 * Another address has the key there.  A renewal cannot create
		 * or replace a key.
		 */
		if (s->key.state == KEY_OURS || s->first != NULL)
			return REQUEST_RENEW;
		if (s->queue.maybe && s->vote == VOTE_REFUSED)
			return REQUEST_LEAVE;
		/*
		 * A vote that comes late, or a missing key.  Only while the
		 * lock is held without this server, because otherwise it would
		 * hide that another run held the lock in between.
		 */
		return now < l->deadline_ms ? REQUEST_ACQUIRE : REQUEST_NONE;
	case PHASE_RELEASE:
		return server_may_have_ours(s) && !server_first_releases(s) ?
		    REQUEST_RELEASE :
		    REQUEST_NONE;
	}
	return REQUEST_NONE;
}

/*
 * Returns when the next request may be sent.  Even a server that replies at
 * once cannot make us send requests without pause.
 */
static int64_t
floor_ms(const struct server *s)
{
	return s->pace.paced_ms - BURST * PACE_MS;
}

/*
 * Whether a holder must leave the queue at once, because others would take it
 * for a candidate.
 */
static bool
leaves_queue(const struct server *s, enum request_kind kind)
{
	return s->intent->phase == PHASE_HOLD && s->queue.maybe &&
	    kind != REQUEST_ACQUIRE && s->conn.state == CONN_READY &&
	    s->vote != VOTE_UNAVAILABLE && s->vote != VOTE_FORBIDDEN;
}

/* Whether BLPOP may block the connection until the next acquire is due. */
static bool
may_block(const struct server *s, int64_t now)
{
	return s->intent->phase == PHASE_ACQUIRE && s->intent->ticket != 0 &&
	    s->pace.block_ms > now && s->vote == VOTE_REFUSED &&
	    s->conn.state == CONN_READY;
}

/*
 * Whether the request carries the start of the run.  A single server gets it
 * with the acquire.  Several get it later, so that a candidate leaves nothing in
 * the history: with a renewal, once, even if its reply is lost; a confirmation
 * carries it each time, and the script records it once.
 */
static bool
carries_start(const struct server *s, enum request_kind kind)
{
	const struct intent *l = s->intent;

	if (kind == REQUEST_ACQUIRE)
		return l->last && l->nservers == 1;
	return kind == REQUEST_RENEW && l->started && s->first == NULL &&
	    (s->key.unconfirmed_ms != 0 || !s->recorded);
}

/* Whether the acquire was first sent while the lock was held. */
static bool
first_sent_held(const struct server *s)
{
	return s->in_flight.first_sent_ms != 0 &&
		s->in_flight.first_kind == REQUEST_ACQUIRE ?
	    s->in_flight.heals :
	    s->intent->phase == PHASE_HOLD;
}

/* An acquire asks for the TTL, also if it heals. */
static int64_t
length_ms(const struct intent *l, enum request_kind kind, int64_t now)
{
	return kind == REQUEST_RENEW && l->grows ?
	    lease_length_ms(l->ttl_ms, l->max_ttl_ms, now - l->held_ms) :
	    l->ttl_ms;
}

struct next_request
server_next_request(const struct server *s, int64_t now)
{
	const struct intent *l = s->intent;
	struct next_request r = { .kind = wanted_kind(s, now),
		.due_ms = s->pace.next_ms,
		.ticket = l->ticket,
		.fence = l->fence };

	if (r.kind == REQUEST_NONE)
		r.due_ms = CLOCK_NEVER;
	else if (r.due_ms > now && leaves_queue(s, r.kind))
		r.due_ms = now;
	else if (r.due_ms > now && may_block(s, now)) {
		r.kind = REQUEST_WAIT;
		r.due_ms = now;
	}
	r.due_ms = clock_min_ms(r.due_ms, notice_due_ms(s, r.kind));
	if (r.due_ms < floor_ms(s))
		r.due_ms = floor_ms(s);
	r.heals = r.kind == REQUEST_ACQUIRE && first_sent_held(s);
	r.leaves =
	    r.kind == REQUEST_RENEW && l->phase == PHASE_HOLD && s->queue.maybe;
	r.starts = carries_start(s, r.kind);
	r.length_ms = length_ms(l, r.kind, now);
	return r;
}

void
server_next_now(struct server *s)
{
	s->pace.next_ms = clock_now_ms();
}

void
server_next_pause(struct server *s, int ms)
{
	s->pace.next_ms = clock_now_ms() + clock_jitter(ms);
}

void
server_next_not_before(struct server *s, int64_t ms)
{
	s->pace.block_ms = 0;
	s->pace.next_ms = ms;
}

/*
 * Returns the time until the next attempt to connect: short, so that a
 * restarted server is found soon, but long if it refuses our password.
 */
static int64_t
reopen_after_ms(const struct server *s)
{
	int64_t ttl_ms = s->intent->ttl_ms;
	int64_t retry_ms =
	    lease_retry_ms(s->key.unconfirmed_ms != 0 ? s->key.unconfirmed_ms :
							ttl_ms);

	if (s->conn.failure == REPLY_DENIED)
		return lease_renewal_ms(ttl_ms);
	return clock_min_ms(retry_ms, REOPEN_MS);
}

void
server_next_reopen(struct server *s)
{
	s->pace.next_ms = clock_now_ms() + reopen_after_ms(s);
}

void
server_next_granted(struct server *s, int64_t sent_ms)
{
	const struct intent *l = s->intent;

	if (l->phase == PHASE_ACQUIRE && l->votes.contest)
		server_next_pause(s, POLL_MS);
	else
		s->pace.next_ms = sent_ms +
		    (s->key.untrusted_since_ms == 0 ?
			    lease_renewal_ms(l->ttl_ms) :
			    lease_retry_ms(l->ttl_ms));
}

/* The confirmation leaves the queue, so it is due as soon as the lock is held. */
void
server_next_passed_on(struct server *s, int64_t length_ms)
{
	s->pace.next_ms = clock_now_ms() + lease_retry_ms(length_ms);
}

/*
 * Refused: decides when to send the next acquire, and until when BLPOP may
 * block before that.  The head of the queue asks as soon as the lease ends, or
 * at once if the vote is split.  Under a foreign holder, which wakes nobody, it
 * polls, or waits for the server's push.  The other waiters are woken.  But a
 * head that was woken may have died, so they ask when its time to answer is over:
 * that is no longer than its lease, which is taken to be as long as ours.
 */
static void
await_turn(struct server *s)
{
	const struct lock_state *v = &s->view;
	const struct intent *l = s->intent;
	int64_t now = clock_now_ms();
	int64_t ends = now +
	    (v->best_ms == PTTL_FREE ? clock_min_ms(GRANT_MS, l->ttl_ms) :
				       v->best_ms) +
	    1;
	bool wakes = v->owner.token[0] != '\0';
	int64_t refresh_ms = grant_is_possible(s) && !s->queue.waiter_ahead ?
	    HEAD_REFRESH_MS :
	    REFRESH_MS;

	s->pace.block_ms = 0;
	s->pace.next_ms = now + clock_jitter(POLL_MS);
	if (now >= l->wait_end_ms)
		return;
	if (server_names_success(s)) {
		s->pace.next_ms = now + REFRESH_MS;
		return;
	}
	/* The server put us into its queue by its own clock. */
	if (l->ticket != 0 && !s->queue.sent_ticket) {
		s->pace.next_ms = now;
		return;
	}
	if (!s->queue.waiter_ahead && (v->best_ms == PTTL_FREE || v->queued))
		return;
	if (!s->queue.waiter_ahead && !wakes) {
		s->pace.poll_ms = s->pace.poll_ms == 0 ?
		    FOREIGN_MS :
		    clock_min_ms(2 * s->pace.poll_ms, FOREIGN_MAX_MS);
		s->pace.next_ms = now + s->pace.poll_ms;
		if (notice_awaited(s))
			s->pace.next_ms = v->best_ms == PTTL_NONE ?
			    now + HEAD_REFRESH_MS :
			    clock_min_ms(now + HEAD_REFRESH_MS, ends);
		return;
	}
	s->pace.poll_ms = 0;
	s->pace.block_ms = now + refresh_ms - refresh_ms / 10 +
	    clock_wall_us() % (refresh_ms / 5);
	s->pace.next_ms = s->pace.block_ms + LATE_MS + l->node_timeout_ms;
	if ((!s->queue.waiter_ahead || v->queued || v->best_ms == PTTL_FREE) &&
	    v->best_ms != PTTL_NONE)
		s->pace.next_ms = clock_min_ms(s->pace.next_ms, ends);
}

void
server_next_refused(struct server *s, int64_t sent_ms)
{
	const struct intent *l = s->intent;

	if (l->phase == PHASE_ACQUIRE)
		await_turn(s);
	else if (!s->in_flight.heals && !s->view.taken && s->first == NULL)
		server_next_now(s); /* a missing key is put back at once */
	else
		s->pace.next_ms = sent_ms + lease_renewal_ms(l->ttl_ms);
}

/*
 * Returns after how long a failed request is sent again: within limits also where
 * the lease is long, unless the lock is held.
 */
static int64_t
retry_after_ms(const struct server *s)
{
	const struct intent *l = s->intent;
	int64_t retry_ms =
	    lease_retry_ms(s->key.unconfirmed_ms != 0 ? s->key.unconfirmed_ms :
							l->ttl_ms);

	return l->phase != PHASE_HOLD && retry_ms > WAIT_RETRY_MS ?
	    WAIT_RETRY_MS :
	    retry_ms;
}

/* Returns the longest pause: more would leave a long lease without its pushes. */
static int64_t
longest_pause_ms(const struct server *s)
{
	return clock_min_ms(retry_after_ms(s), PAUSE_MAX_MS);
}

/* Returns twice the pause, or the first one, up to the longest. */
static int64_t
doubled_ms(const struct server *s, int64_t ms, int64_t first_ms)
{
	return clock_min_ms(ms == 0 ? first_ms : 2 * ms, longest_pause_ms(s));
}

/* Returns the end of a pause, which the end of the wait cuts short. */
static int64_t
pause_end_ms(const struct server *s, int64_t ms)
{
	const struct intent *l = s->intent;
	int64_t now = clock_now_ms();

	return l->phase == PHASE_ACQUIRE && now < l->wait_end_ms ?
	    clock_min_ms(now + ms, l->wait_end_ms) :
	    now + ms;
}

void
server_next_ended(struct server *s)
{
	if (!s->conn.established)
		return; /* see server_next_reopen() and REOPEN_MS */
	if (clock_now_ms() - s->link.opened_ms >= longest_pause_ms(s))
		s->pace.pause_ms = 0;
	s->pace.open_ms = pause_end_ms(s, s->pace.pause_ms);
	s->pace.pause_ms = doubled_ms(s, s->pace.pause_ms, RETRY_MS);
}

void
server_next_later(struct server *s)
{
	s->pace.later_ms = doubled_ms(s, s->pace.later_ms, POLL_MS);
	s->pace.next_ms = pause_end_ms(s, clock_jitter(s->pace.later_ms));
}

void
server_next_replied(struct server *s)
{
	s->pace.later_ms = 0;
}

void
server_next_release(struct server *s)
{
	s->pace.open_ms = s->pace.pause_ms = s->pace.later_ms = 0;
	server_next_now(s);
}

void
server_next_failed(struct server *s, int64_t sent_ms)
{
	s->pace.next_ms = sent_ms + retry_after_ms(s);
}

void
server_next_ran(struct server *s, int64_t sent_ms)
{
	s->pace.next_ms = sent_ms + RAN_MS;
}

void
server_next_sent(struct server *s, enum request_kind kind, int64_t now)
{
	s->pace.paced_ms =
	    (s->pace.paced_ms > now ? s->pace.paced_ms : now) + PACE_MS;
	if (kind == REQUEST_RAN)
		s->pace.block_ms = 0; /* no BLPOP before the next one */
}

void
server_next_unsent(struct server *s)
{
	s->pace.block_ms = 0;
	server_next_pause(s, RETRY_MS);
}

void
server_next_again(struct server *s)
{
	s->pace.block_ms = s->pace.poll_ms = 0;
	server_next_release(s);
}
