/* The result of a release, and how long to wait for it. */
#include "base/clock.h"
#include "lock/lock_inside.h"

#define STRAGGLE_MS 50 /* extra time for a release on a server that replied */

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
	for (const struct server *s = l->servers; s < l->end; s++)
		if (server_may_have_ours(s) && !release_sent(s))
			return false;
	return true;
}

/*
 * Returns when to stop waiting for the servers without a reply, once enough
 * have replied.  The kernel delivers the rest.  But a server that is running
 * may still lose its release: it drops our remaining requests when it cannot
 * write a reply, and after a broken connection the release must be sent again.
 * Behind the text of a script it always does, as conn_eval() explains.
 */
static int64_t
stragglers_end_ms(const struct lock *l)
{
	int64_t end_ms = 0, slowest_ms = -1, t;

	for (const struct server *s = l->servers; s < l->end; s++)
		if (s->slowest_ms > slowest_ms)
			slowest_ms = s->slowest_ms;
	for (const struct server *s = l->servers; s < l->end; s++) {
		if (s->release.vote != VOTE_PENDING || !server_may_have_ours(s))
			continue;
		if (!release_sent(s))
			t = l->release.begun_ms + STRAGGLE_MS;
		else if (s->release.behind_ms == CLOCK_NEVER)
			continue;
		else if (s->release.behind_text)
			t = l->phase_end_ms;
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

/*
 * Whether the lock was lost before the release: the one rule, with v_i = 0 for
 * the servers that refused it.  Connections show which addresses are two servers.
 * Those from when the release began count, because the release itself leaves some.
 */
static bool
was_lost(const struct lock *l)
{
	int64_t valid_ms[LOCK_SERVERS];

	for (int i = 0; i < l->intent.nservers; i++)
		valid_ms[i] = l->servers[i].release.vote == VOTE_REFUSED ?
		    0 :
		    l->release.valid_ms[i];
	return quorum_largest(valid_ms, l->intent.nservers, l->intent.quorum) <=
	    l->release.begun_ms;
}

/* Returns the present result; *decided is whether it is final. */
static enum lock_release_result
release_result(const struct lock *l, bool *decided)
{
	int yes = 0, counted = 0, answered = 0, needed = l->release.expected;

	if (needed > l->intent.quorum)
		needed = l->intent.quorum;
	for (const struct server *s = l->servers; s < l->end; s++) {
		if (s->release.sent == 0 || s->release.vote == VOTE_PENDING)
			continue;
		answered++;
		if (s->release.vote == VOTE_GRANTED) {
			yes++;
			counted += !l->intent.held || s->valid_ms > 0;
		}
	}
	*decided = true;
	if (l->intent.held && was_lost(l))
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
