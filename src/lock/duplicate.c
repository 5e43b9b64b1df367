/*
 * Two addresses that lead to one server have one vote: a virtual IP that moved,
 * or a server that copies another's run_id.
 *
 * The server's vote belongs to one of them, the first.  The other has no vote,
 * is not trusted from the moment at which both are known, and counts again only
 * after the v_i of the first.  Two that are one server from the start are a
 * mistake in the command line.
 *
 * A restarted server has another run_id, so D counts a vote from before the
 * restart and one from after it as if they could be of one server.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "lock/lock_inside.h"
#include "lock/server_key.h"

static bool
same_run(const char a[INFO_RUN_ID], const char b[INFO_RUN_ID])
{
	return a[0] != '\0' && strcmp(a, b) == 0;
}

/* A new connection that finds the same server changes nothing. */
static void
identify(struct server *s)
{
	const char *run_id = s->conn.info.run_id;

	if (run_id[0] == '\0' || same_run(run_id, s->identity.run_id))
		return;
	s->identity.at_start =
	    s->link.at_start && s->identity.run_id[0] == '\0';
	memcpy(s->identity.run_id, run_id, sizeof(s->identity.run_id));
	s->identity.since_ms = s->link.opened_ms;
	s->identity.warned = false;
}

static bool
has_trusted_vote(const struct server *s, int64_t now)
{
	return s->key.untrusted_since_ms == 0 && s->valid_ms > now;
}

/* Whether the vote of their server belongs to a rather than to b. */
static bool
precedes(const struct server *a, const struct server *b, int64_t now)
{
	bool a_ready = a->conn.state == CONN_READY;
	bool b_ready = b->conn.state == CONN_READY;
	bool a_votes = has_trusted_vote(a, now);

	if (a_votes != has_trusted_vote(b, now))
		return a_votes;
	if (!a_votes && a_ready != b_ready)
		return a_ready;
	if (a->identity.since_ms != b->identity.since_ms)
		return a->identity.since_ms < b->identity.since_ms;
	return a < b;
}

static void
warn_once(const struct lock *l, struct server *s)
{
	if (!s->identity.warned)
		warn("%s: %s and %s are the same server and have one vote "
		     "together",
		    l->intent.name, s->conn.address.text,
		    s->first->conn.address.text);
	s->identity.warned = true;
}

/* Whether the command line names the server of s twice. */
static bool
is_mistake(const struct lock *l, const struct server *s)
{
	return l->intent.phase == PHASE_ACQUIRE && s->first != NULL &&
	    s->identity.at_start && s->first->identity.at_start;
}

/* Takes from s what it has of a vote.  Its v_i, if any, is of another server. */
static void
take_vote(const struct lock *l, struct server *s, int64_t now)
{
	warn_once(l, s);
	server_key_duplicate(s);
	/* It would take wakes from the first. */
	server_end_wait(s, now);
}

void
lock_find_first(struct lock *l, struct server *s)
{
	int64_t now = clock_now_ms();

	identify(s);
	s->first = NULL;
	for (const struct server *other = l->servers; other < l->end; other++) {
		if (other == s ||
		    !same_run(other->identity.run_id, s->identity.run_id) ||
		    !precedes(other, s, now))
			continue;
		if (s->first == NULL || precedes(other, s->first, now))
			s->first = other;
		server_key_barred(s, other->valid_ms);
	}
	if (s->first != NULL && !is_mistake(l, s))
		take_vote(l, s, now);
}

bool
lock_names_server_twice(const struct lock *l)
{
	for (const struct server *s = l->servers; s < l->end; s++)
		if (is_mistake(l, s))
			return true;
	return false;
}

bool
lock_counts_vote(const struct lock *l, const struct server *s)
{
	for (const struct server *other = l->servers; other < l->end; other++)
		if (other != s && same_run(other->key.run_id, s->key.run_id) &&
		    (other->valid_ms > s->valid_ms ||
			(other->valid_ms == s->valid_ms && other < s)))
			return false;
	return true;
}

/*
 * Whether the server that granted v_i of s may have granted that of other before
 * it restarted.  A connection to the server that did shows that it did not.
 */
static bool
may_be_earlier(const struct server *s, const struct server *other)
{
	return s->key.run_id[0] != '\0' && other->key.run_id[0] != '\0' &&
	    !same_run(s->key.run_id, other->key.run_id) &&
	    s->key.born_ms >= other->key.voted_ms &&
	    !(other->conn.state == CONN_READY &&
		same_run(other->conn.info.run_id, other->key.run_id));
}

/*
 * A restart changes the run_id.  Of all other addresses only one may have led to
 * that server, so it takes the vote of one: the one that lasts longest.
 */
void
lock_drop_earlier(const struct lock *l, int64_t valid_ms[])
{
	for (int i = 0; i < l->intent.nservers; i++) {
		int most = i;

		for (int k = 0; k < l->intent.nservers && valid_ms[i] > 0; k++)
			if (k != i && valid_ms[k] > 0 &&
			    may_be_earlier(&l->servers[i], &l->servers[k]) &&
			    (most == i || valid_ms[k] > valid_ms[most]))
				most = k;
		if (most != i)
			valid_ms[most] = 0;
	}
}
