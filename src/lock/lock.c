/*
 * The course of a lock: begin, hold, release, again.  Only this file changes the
 * intent, which all servers follow.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "lock/acquire.h"
#include "lock/lock.h"
#include "lock/lock_inside.h"
#include "lock/server_key.h"
#include "lock/server_next.h"
#include "protocol/quorum.h"

#define PROPOSAL_US 1000000 /* a proposed fence is renewed after that time */
#define CANCEL_MS   500     /* to reach the servers after a signal */

/* Stores the v_i of each server; 0 if its vote does not count. */
static void
store_counted(const struct lock *l, int64_t valid_ms[LOCK_SERVERS])
{
	for (int i = 0; i < l->intent.nservers; i++)
		valid_ms[i] = l->servers[i].numbers.odd == NULL &&
			lock_counts_vote(l, &l->servers[i]) ?
		    l->servers[i].valid_ms :
		    0;
	lock_drop_earlier(l, valid_ms);
}

int64_t
lock_deadline_ms(const struct lock *l)
{
	int64_t valid_ms[LOCK_SERVERS];

	store_counted(l, valid_ms);
	return quorum_largest(valid_ms, l->intent.nservers, l->intent.quorum);
}

/* Updates the parts of the lease that depend on all servers. */
static void
refresh_cb(void *arg, struct server *s)
{
	struct lock *l = arg;
	int64_t confirmed_ms[LOCK_SERVERS] = { 0 };

	for (int i = 0; i < l->intent.nservers; i++)
		if (l->servers[i].numbers.odd == NULL &&
		    l->servers[i].valid_ms > 0 &&
		    l->servers[i].key.untrusted_since_ms == 0)
			confirmed_ms[i] = l->servers[i].key.confirmed_ms;
	if (l->intent.phase != PHASE_RELEASE)
		lock_find_first(l, s);
	l->intent.deadline_ms = lock_deadline_ms(l);
	l->intent.confirmed_ms =
	    quorum_largest(confirmed_ms, l->intent.nservers, l->intent.quorum);
	/* A single server has chosen the slot. */
	if (l->intent.nservers == 1 && l->servers[0].slot != 0)
		l->intent.slot = l->servers[0].slot;
}

/*
 * A server that we kept waiting, or that gets its release once more, has a whole
 * node timeout from then on.
 */
static void
extend_for(struct lock *l, const struct server *s)
{
	int64_t end_ms = s->in_flight.excused_ms;

	if (l->intent.phase == PHASE_RELEASE && s->release.second_ms != 0)
		end_ms = s->release.second_ms + l->intent.node_timeout_ms;
	if (end_ms > l->phase_end_ms)
		l->phase_end_ms = end_ms;
}

int64_t
lock_step(struct lock *l)
{
	int64_t now = clock_now_ms(), wake = CLOCK_NEVER;

	for (const struct server *s = l->servers; s < l->end; s++)
		l->intent.voted = l->intent.voted || server_has_voted(s);
	for (struct server *s = l->servers; s < l->end; s++) {
		wake = clock_min_ms(wake, server_step(s, now));
		if (l->intent.phase != PHASE_HOLD)
			extend_for(l, s);
	}
	return wake;
}

/* After a long wait an old proposal may be less than a counter that was lost. */
static int64_t
propose_cb(void *arg)
{
	struct lock *l = arg;

	if (clock_wall_us() > l->proposal_us + PROPOSAL_US)
		l->proposal_us = clock_wall_us();
	return l->proposal_us;
}

int
lock_init(struct lock *l, struct resolver *resolver,
    const struct lock_config *config)
{
	memset(l, 0, sizeof(*l));
	l->intent.nservers = config->naddresses;
	l->servers = calloc((size_t)l->intent.nservers, sizeof(*l->servers));
	if (l->servers == NULL)
		return -1;
	l->end = l->servers + l->intent.nservers;
	l->loop = resolver->loop;
	l->asks = (struct server_asks){ refresh_cb, propose_cb, l };
	l->intent.name = config->name;
	l->intent.quorum = quorum_of(l->intent.nservers);
	l->intent.mode = config->mode;
	l->intent.capacity = config->capacity;
	l->intent.replicas = config->replicas;
	l->intent.max_waiting = config->max_waiting;
	l->intent.ttl_ms = config->ttl_ms;
	l->intent.max_ttl_ms = config->max_ttl_ms > config->ttl_ms ?
	    config->max_ttl_ms :
	    config->ttl_ms;
	l->intent.node_timeout_ms = config->node_timeout_ms;
	l->intent.grace_ms = config->grace_ms;
	l->intent.once_per_ms = config->once_per_ms;
	l->intent.latest = config->latest;
	key_names(l->intent.key, l->intent.aux, config->prefix, config->name);
	for (int i = 0; i < l->intent.nservers; i++)
		server_init(&l->servers[i], &l->intent, &l->asks, resolver,
		    &config->addresses[i],
		    config->answered == NULL ? NULL : &config->answered[i]);
	return 0;
}

const char *
lock_name(const struct lock *l)
{
	return l->intent.name;
}

enum lock_mode
lock_mode(const struct lock *l)
{
	return l->intent.mode;
}

int
lock_capacity(const struct lock *l)
{
	return l->intent.capacity;
}

int
lock_max_waiting(const struct lock *l)
{
	return l->intent.max_waiting;
}

int64_t
lock_once_per_ms(const struct lock *l)
{
	return l->intent.once_per_ms;
}

int64_t
lock_grace_ms(const struct lock *l)
{
	return l->intent.grace_ms;
}

const char *
lock_only_server(const struct lock *l)
{
	return l->intent.nservers == 1 ? l->servers[0].conn.address.text : NULL;
}

int64_t
lock_fence(const struct lock *l)
{
	return l->intent.fence;
}

int
lock_slot(const struct lock *l)
{
	return l->intent.slot;
}

int64_t
lock_longest_ms(const struct lock *l)
{
	int64_t longest_ms = l->intent.ttl_ms;

	for (const struct server *s = l->servers; s < l->end; s++)
		if (s->in_flight.longest_ms > longest_ms)
			longest_ms = s->in_flight.longest_ms;
	return longest_ms;
}

int64_t
lock_grant_ms(const struct lock *l)
{
	return l->intent.nservers == 1 ? l->servers[0].key.unconfirmed_ms : 0;
}

void
lock_drop_grant(struct lock *l)
{
	l->intent.phase = PHASE_ACQUIRE;
	l->intent.held = false;
	server_key_lost(&l->servers[0], KEY_MAYBE);
	server_ask_anew(&l->servers[0]);
}

bool
lock_waits(const struct lock *l)
{
	return l->intent.wait_end_ms != 0;
}

bool
lock_is_latest(const struct lock *l)
{
	return l->intent.latest;
}

bool
lock_lacks_quorum(const struct lock *l)
{
	return l->intent.votes.no_quorum;
}

bool
lock_was_slow(const struct lock *l)
{
	return l->slow;
}

void
lock_connect(struct lock *l)
{
	int64_t now = clock_now_ms();

	for (struct server *s = l->servers; s < l->end; s++)
		if (s->vote == VOTE_PENDING && s->conn.state == CONN_DOWN)
			server_open(s, now);
}

void
lock_begin(struct lock *l, const struct owner *owner, int64_t wait_end_ms,
    bool first, bool last)
{
	l->intent.last = last;
	if (!first) {
		l->intent.voted = true;
		lock_connect(l);
	}
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

/* What the votes mean for the requests to all servers. */
static void
follow(struct lock *l, enum action action, const struct tally *t, int64_t now)
{
	struct intent *w = &l->intent;

	if (action == TAKE_TICKET)
		w->ticket = votes_ticket(l);
	else if (action == CHANGE_SLOT)
		w->slot = t->free_slot;
	else if (action == ASK_REPLICAS)
		w->votes.replicating = true;
	else if (action == ASK_AGAIN)
		w->votes.replicating = false;
	else if (action == HOLD_LOCK) {
		w->phase = PHASE_HOLD;
		w->held = true;
		w->held_ms = now;
		w->waited_ms = now - w->begun_ms;
	}
}

/* There is no majority, so far. */
static void
note_minority(struct lock *l, const struct tally *t, int64_t now)
{
	struct intent *w = &l->intent;
	bool had_no_quorum = w->votes.no_quorum, asked_ran = w->votes.asks_ran;

	w->votes.replicating = false;
	w->votes.contest = t->contested;
	/* A success may count for hours yet. */
	w->votes.no_quorum = t->waits && t->unusable + t->ran > t->minority;
	w->votes.asks_ran = w->votes.no_quorum && t->ran > 0;
	acquire_without_quorum(l, w->votes.no_quorum != had_no_quorum);
	if (w->votes.asks_ran && !asked_ran)
		acquire_ask_ran(l, now);
}

enum lock_outcome
lock_outcome(struct lock *l)
{
	int64_t now = clock_now_ms();
	enum action action;
	struct tally t;

	if (l->intent.wait_end_ms != 0 && now >= l->intent.wait_end_ms &&
	    !l->contest.last_called)
		acquire_last_call(l, now);
	lock_judge_numbers(l);
	t = votes_count(l, now);
	if (t.granted >= t.quorum)
		l->intent.fence = t.fence;
	else
		note_minority(l, &t, now);
	if (acquire_give_way(l, &t, now)) {
		if (l->intent.ticket == 0) /* later, it would end the pause */
			l->intent.ticket = votes_ticket(l);
		return LOCK_UNDECIDED;
	}
	action = votes_decide(&t);
	follow(l, action, &t, now);
	return acquire_apply(l, action, &t, now);
}

void
lock_same_server(const struct lock *l, const char *urls[2])
{
	urls[0] = l->same[0];
	urls[1] = l->same[1];
}

void
lock_renew(struct lock *l)
{
	for (struct server *s = l->servers; s < l->end; s++)
		if (l->intent.phase == PHASE_HOLD && s->key.state == KEY_OURS)
			server_next_now(s);
}

void
lock_start(struct lock *l)
{
	l->intent.started = true;
	/* The renewal carries the start; for the last lock the acquire has. */
	if (!l->intent.last)
		lock_renew(l);
}

void
lock_grow(struct lock *l)
{
	l->intent.grows = true;
}

void
lock_unstart(struct lock *l)
{
	l->intent.started = false;
}

void
lock_skip(struct lock *l, enum lock_outcome outcome)
{
	if (outcome == LOCK_OTHER_MODE)
		l->intent.ending.skip = SKIP_MODE;
	else if (outcome == LOCK_QUEUE_FULL)
		l->intent.ending.skip = SKIP_QUEUE_FULL;
	else if (outcome == LOCK_BUSY)
		l->intent.ending.skip = lock_waits(l) ? SKIP_WAITED : SKIP_BUSY;
	else if (outcome == LOCK_SUPERSEDED) {
		l->intent.ending.skip = SKIP_SUPERSEDED;
		l->intent.ending.later = lock_state(l);
	}
}

void
lock_start_over(struct lock *l)
{
	l->intent.ending.again = true;
}

void
lock_cancel(struct lock *l)
{
	l->cancelled = true;
}

void
lock_begin_release(struct lock *l, int64_t cooldown_ms,
    const struct record *end)
{
	int64_t now = clock_now_ms();

	l->intent.phase = PHASE_RELEASE;
	l->intent.ending.insists =
	    l->intent.held && !l->intent.ending.again && !l->cancelled;
	l->intent.ending.cooldown_end_ms = now + cooldown_ms;
	l->release.begun_ms = now;
	l->phase_end_ms = now + l->intent.node_timeout_ms;
	if (l->cancelled && l->intent.node_timeout_ms > CANCEL_MS)
		l->phase_end_ms = now + CANCEL_MS;
	l->release.expected = 0;
	store_counted(l, l->release.valid_ms);
	l->intent.ending.end = l->intent.started ? end : NULL;
	for (struct server *s = l->servers; s < l->end; s++) {
		/*
		 * Without COMMAND, servers that were silent so far are not
		 * waited for.
		 */
		if (server_begin_release(s) &&
		    (l->intent.held || s->link.replied))
			l->release.expected++;
	}
}

void
lock_again(struct lock *l)
{
	l->intent.phase = PHASE_ACQUIRE;
	l->intent.begun = false;
	l->intent.ending.again = l->intent.held = l->slow = l->superseded =
	    l->intent.votes.replicating = false;
	l->contest.last_called = l->contest.extended = l->intent.votes.contest =
	    l->intent.votes.no_quorum = l->intent.votes.asks_ran = false;
	l->contest.changes = 0;
	l->intent.fence = 0;
	l->contest.alone = NULL;
	l->contest.give_way_ms = 0;
	lock_trust_all(l);
	for (struct server *s = l->servers; s < l->end; s++)
		server_again(s);
}

void
lock_close(struct lock *l)
{
	for (struct server *s = l->servers; s < l->end; s++) {
		conn_finish(&s->conn);
		conn_release(&s->conn);
	}
	free(l->servers);
}
