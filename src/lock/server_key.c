#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "lock/server_key.h"
#include "protocol/lease.h"
#include "redis/conn_why.h"

void
server_key_won(struct server *s, int64_t sent_ms, int64_t fence, int slot)
{
	if (s->key.state != KEY_OURS)
		s->key.granted_ms = clock_now_ms();
	s->key.state = KEY_OURS;
	s->key.confirmed_ms = sent_ms;
	s->key.unconfirmed_ms = 0;
	s->fence = fence;
	s->slot = slot;
	s->replicas = 0;
	s->vote = VOTE_GRANTED;
	s->view.reason = REASON_BUSY; /* drops an earlier reason */
}

/* The release that granted the lock recorded the end of its run, not our start. */
void
server_key_passed_on(struct server *s, const struct grant *g)
{
	server_key_won(s, g->sent_ms, g->fence, 1);
	s->key.unconfirmed_ms = g->length_ms;
	s->key.untrusted_since_ms = 0;
	s->valid_ms = g->valid_ms;
	s->key.voted_ms = g->sent_ms;
	s->queue.maybe = true;
	s->queue.waiter_ahead = false;
	s->recorded = false;
}

/*
 * Whether the server's vote counts.  Not if another address has the server's
 * vote.  Not if we set the key on a server that may have forgotten another
 * holder.  Not if we set it while the lock was held, until a majority is known
 * to have kept its keys past that moment.
 */
static bool
vote_trusted(const struct server *s)
{
	if (s->first != NULL || s->key.barred_ms > clock_now_ms())
		return false;
	return s->key.untrusted_since_ms == 0 ||
	    (server_past_restart_grace(s) &&
		(s->intent->phase == PHASE_ACQUIRE ||
		    s->intent->confirmed_ms > s->key.untrusted_since_ms));
}

void
server_key_trust(struct server *s, int64_t sent_ms, int64_t length_ms)
{
	const struct intent *l = s->intent;

	/* Once D has passed, no later reply brings the lock back. */
	if ((l->phase == PHASE_HOLD && clock_now_ms() >= l->deadline_ms) ||
	    !vote_trusted(s))
		return;
	if (s->key.untrusted_since_ms != 0)
		info("%s: %s: vote counts now", l->name, s->conn.address.text);
	s->key.untrusted_since_ms = 0;
	s->valid_ms = sent_ms + lease_valid_ms(length_ms);
	s->key.voted_ms = sent_ms;
	memcpy(s->key.run_id, s->conn.info.run_id, sizeof(s->key.run_id));
	s->key.born_ms = s->conn.info.born_ms;
}

void
server_key_distrusted(struct server *s)
{
	s->key.untrusted_since_ms = clock_now_ms();
}

void
server_key_duplicate(struct server *s)
{
	if (s->intent->phase == PHASE_ACQUIRE)
		s->vote = VOTE_PENDING;
	else if (s->key.untrusted_since_ms == 0)
		server_key_distrusted(s);
}

void
server_key_barred(struct server *s, int64_t until_ms)
{
	if (until_ms > s->key.barred_ms)
		s->key.barred_ms = until_ms;
}

void
server_key_lost(struct server *s, enum key_state left)
{
	if (left < s->key.state)
		s->key.state = left;
	s->valid_ms = s->key.untrusted_since_ms = s->key.unconfirmed_ms = 0;
	grant_forget(s);
}

void
server_key_refused(struct server *s, enum key_state left)
{
	server_key_lost(s, left);
	s->vote = VOTE_REFUSED;
}

void
server_key_yielded(struct server *s)
{
	server_key_refused(s, KEY_NONE);
	s->view.taken = false;
	s->view.reason = REASON_BUSY;
	s->queue.waiter_ahead = false;
}

void
server_key_gone(struct server *s)
{
	s->key.state = KEY_NONE;
	s->queue.maybe = false;
}

void
server_key_may_hold(struct server *s)
{
	if (s->key.state == KEY_NONE)
		s->key.state = KEY_MAYBE;
	s->queue.maybe = s->queue.maybe || server_queues(s);
}

void
server_key_unqueued(struct server *s)
{
	s->queue.maybe = false;
}

static void
set_vote(struct server *s, enum vote vote)
{
	if (s->intent->phase == PHASE_RELEASE)
		s->release.vote = vote;
	else
		s->vote = vote;
}

void
server_key_pending(struct server *s)
{
	set_vote(s, VOTE_PENDING);
}

void
server_key_failed(struct server *s, enum vote vote, const char *why)
{
	set_vote(s, vote);
	server_key_explain(s, why);
}

void
server_key_explain(struct server *s, const char *why)
{
	conn_why_failed(&s->conn, why, s->why);
}

void
server_key_released(struct server *s, enum vote vote, const char *why)
{
	s->release.vote = vote;
	if (vote == VOTE_REFUSED)
		s->valid_ms = 0;
	if (why != NULL)
		snprintf(s->why, sizeof(s->why), "%s", why);
}

void
server_key_viewed(struct server *s, const struct lock_state *st)
{
	struct lock_state old = s->view;

	s->view = *st;
	/* A --break that a renewal reported stays known after healing. */
	if (st->broken_by[0] == '\0')
		memcpy(s->view.broken_by, old.broken_by, sizeof(old.broken_by));
	/* Only the refusal that gave us the ticket has it. */
	if (st->last_ms == 0)
		s->view.last_ms = old.last_ms;
}

void
server_key_ahead(struct server *s, bool ahead)
{
	s->queue.waiter_ahead = ahead;
}

void
server_key_replicated(struct server *s, int replicas)
{
	s->replicas = replicas;
}

void
server_key_recorded(struct server *s, bool recorded)
{
	s->recorded = recorded;
}

void
server_key_again(struct server *s)
{
	server_key_lost(s, KEY_MAYBE);
	s->key.confirmed_ms = s->key.granted_ms = s->key.barred_ms = 0;
	s->vote = s->release.vote = VOTE_PENDING;
	s->recorded = s->queue.waiter_ahead = false;
	s->fence = 0;
	s->slot = s->replicas = 0;
	s->why[0] = '\0';
}
