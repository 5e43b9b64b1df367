/*
 * The deadline, the renewals and the release of a lock. acquire.c acquires it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "lock/lock.h"
#include "lock/server_key.h"
#include "lock/server_next.h"
#include "protocol/quorum.h"

#define STRAGGLE_MS 50  /* extra time for a release on a server that replied */
#define CANCEL_MS   500 /* to reach the servers after a signal */

int64_t
lock_deadline_ms(const struct lock *l)
{
	int64_t valid_ms[LOCK_SERVERS] = { 0 };

	for (int i = 0; i < l->intent.nservers; i++)
		if (l->servers[i].numbers.odd == NULL &&
		    lock_counts_grant(l, &l->servers[i]))
			valid_ms[i] = l->servers[i].valid_ms;
	lock_drop_earlier(l, valid_ms);
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
	int64_t now = clock_now_ms(), wake = CLOCK_NEVER, t;

	for (int i = 0; i < l->intent.nservers; i++)
		l->intent.voted =
		    l->intent.voted || server_has_voted(&l->servers[i]);
	for (int i = 0; i < l->intent.nservers; i++) {
		struct server *s = &l->servers[i];

		t = server_step(s, now);
		if (t < wake)
			wake = t;
		if (l->intent.phase != PHASE_HOLD)
			extend_for(l, s);
	}
	return wake;
}

int
lock_init(
    struct lock *l, struct resolver *resolver, const struct lock_config *config)
{
	memset(l, 0, sizeof(*l));
	l->intent.nservers = config->naddresses;
	l->servers = calloc((size_t)l->intent.nservers, sizeof(*l->servers));
	if (l->servers == NULL)
		return -1;
	l->loop = resolver->loop;
	l->intent.proposal_us = &l->proposal_us;
	l->intent.name = config->name;
	l->intent.quorum = quorum_of(l->intent.nservers);
	l->intent.mode = config->mode;
	l->intent.capacity = config->capacity;
	l->intent.replicas = config->replicas;
	l->intent.ttl_ms = config->ttl_ms;
	l->intent.node_timeout_ms = config->node_timeout_ms;
	l->intent.grace_ms = config->grace_ms;
	l->intent.once_per_ms = config->once_per_ms;
	key_names(l->intent.key, l->intent.aux, config->prefix, config->name);
	for (int i = 0; i < l->intent.nservers; i++)
		server_init(&l->servers[i], &l->intent, resolver,
		    &config->addresses[i],
		    config->answered == NULL ? NULL : &config->answered[i],
		    refresh_cb, l);
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

int64_t
lock_once_per_ms(const struct lock *l)
{
	return l->intent.once_per_ms;
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
lock_lacks_quorum(const struct lock *l)
{
	return l->intent.no_quorum;
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

	for (int i = 0; i < l->intent.nservers; i++) {
		struct server *s = &l->servers[i];

		if (s->vote == VOTE_PENDING && s->conn.state == CONN_DOWN)
			server_open(s, now);
	}
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
	for (int i = 0; i < l->intent.nservers && l->intent.phase == PHASE_HOLD;
	     i++)
		if (l->servers[i].key.state == KEY_OURS)
			server_next_now(&l->servers[i]);
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
lock_cancel(struct lock *l)
{
	l->cancelled = true;
}

/*
 * Whether the release was sent to the server itself, not to a node on the way.
 */
static bool
release_sent(const struct server *s)
{
	return s->release.sent > 0 && s->conn.state == CONN_READY &&
	    conn_connected(&s->conn);
}

static bool
all_releases_sent(const struct lock *l)
{
	for (int i = 0; i < l->intent.nservers; i++) {
		const struct server *s = &l->servers[i];

		if (server_may_have_ours(s) && !release_sent(s))
			return false;
	}
	return true;
}

/*
 * Returns when to stop waiting for the servers without a reply, once enough
 * have replied.  The kernel delivers the rest.  But a server that is running
 * may still lose its release: it drops our remaining requests when it cannot
 * write a reply, and after a broken connection the release must be sent again.
 */
static int64_t
stragglers_end_ms(const struct lock *l)
{
	int64_t end_ms = 0, slowest_ms = -1, t;

	for (int i = 0; i < l->intent.nservers; i++)
		if (l->servers[i].slowest_ms > slowest_ms)
			slowest_ms = l->servers[i].slowest_ms;
	for (int i = 0; i < l->intent.nservers; i++) {
		const struct server *s = &l->servers[i];

		if (s->release.vote != VOTE_PENDING || !server_may_have_ours(s))
			continue;
		if (!release_sent(s))
			t = l->release.begun_ms + STRAGGLE_MS;
		else if (s->release.behind_ms == CLOCK_NEVER)
			continue;
		else if (s->link.replied)
			t = s->release.behind_ms + STRAGGLE_MS;
		else if (slowest_ms >= 0)
			t = s->link.opened_ms + 4 * slowest_ms + 2;
		else
			t = s->link.opened_ms + STRAGGLE_MS;
		if (t > end_ms)
			end_ms = t;
	}
	return end_ms < l->phase_end_ms ? end_ms : l->phase_end_ms;
}

void
lock_begin_release(struct lock *l, int64_t cooldown_ms, const char *end_record)
{
	int64_t now = clock_now_ms();

	l->intent.phase = PHASE_RELEASE;
	l->intent.insists = l->intent.held && !l->intent.again && !l->cancelled;
	l->intent.cooldown_end_ms = now + cooldown_ms;
	l->release.begun_ms = now;
	l->phase_end_ms = now + l->intent.node_timeout_ms;
	if (l->cancelled && l->intent.node_timeout_ms > CANCEL_MS)
		l->phase_end_ms = now + CANCEL_MS;
	l->release.expected = 0;
	if (l->intent.started)
		snprintf(l->intent.end_record, sizeof(l->intent.end_record),
		    "%s", end_record);
	for (int i = 0; i < l->intent.nservers; i++) {
		struct server *s = &l->servers[i];

		/*
		 * Without COMMAND, servers that were silent so far are not
		 * waited for.
		 */
		if (server_begin_release(s) &&
		    (l->intent.held || s->link.replied))
			l->release.expected++;
	}
}

/*
 * Returns the present result; *decided is whether it is final.  Whether we had
 * the lock until the release follows from the one rule, with v_i = 0 for
 * servers that refused the release.
 */
static enum lock_release_result
release_result(const struct lock *l, bool *decided)
{
	int yes = 0, counted = 0, answered = 0, needed = l->release.expected;

	if (needed > l->intent.quorum)
		needed = l->intent.quorum;
	for (int i = 0; i < l->intent.nservers; i++) {
		const struct server *s = &l->servers[i];

		if (s->release.sent == 0 || s->release.vote == VOTE_PENDING)
			continue;
		answered++;
		if (s->release.vote == VOTE_GRANTED) {
			yes++;
			counted += !l->intent.held || s->valid_ms > 0;
		}
	}
	*decided = true;
	if (l->intent.held && lock_deadline_ms(l) <= l->release.begun_ms)
		return RELEASE_NOT_OURS;
	*decided = counted >= needed || answered >= l->release.expected;
	return yes >= needed ? RELEASE_DONE : RELEASE_UNANSWERED;
}

enum lock_release_result
lock_release_result(const struct lock *l)
{
	bool decided;

	return release_result(l, &decided);
}

int64_t
lock_release_end_ms(const struct lock *l)
{
	int64_t soon_ms = l->release.begun_ms + STRAGGLE_MS, end_ms;
	bool decided;

	release_result(l, &decided);
	end_ms = decided ? stragglers_end_ms(l) : l->phase_end_ms;
	if (!l->cancelled)
		return end_ms;
	/*
	 * After a signal we wait until the releases are sent, not for replies.
	 */
	if (!all_releases_sent(l))
		return l->phase_end_ms;
	return end_ms < soon_ms ? end_ms : soon_ms;
}

void
lock_again(struct lock *l)
{
	l->intent.phase = PHASE_ACQUIRE;
	l->intent.begun = false;
	l->intent.again = l->intent.held = l->slow = l->intent.replicating =
	    false;
	l->contest.last_called = l->contest.extended = l->intent.contest =
	    l->intent.no_quorum = l->intent.asks_ran = false;
	l->contest.changes = 0;
	l->intent.fence = 0;
	l->contest.alone = NULL;
	lock_trust_all(l);
	for (int i = 0; i < l->intent.nservers; i++)
		server_again(&l->servers[i]);
}

void
lock_close(struct lock *l)
{
	for (int i = 0; i < l->intent.nservers; i++) {
		conn_finish(&l->servers[i].conn);
		conn_release(&l->servers[i].conn);
	}
	free(l->servers);
}
