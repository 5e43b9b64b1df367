/* Explains the servers' replies in words, for messages.  Changes nothing. */
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "lock/lock.h"
#include "lock/lock_inside.h"

#define COMPLAINT (CONN_WHY + OWNER_WHO)
#define AND_MORE  24

/*
 * The reason for which alone a majority is excluded, or REASON_BUSY.  A later run
 * may have excluded it together with servers that cannot be reached.
 */
static enum reason
main_reason(const struct lock *l)
{
	int n[REASON_FULL + 1] = { 0 };

	if (l->superseded)
		return REASON_SUPERSEDED;
	for (const struct server *s = l->servers; s < l->end; s++)
		if (server_vote(s) == VOTE_REFUSED)
			n[s->view.reason]++;
	for (int reason = REASON_MODE; reason <= REASON_FULL; reason++)
		if (n[reason] > l->intent.nservers - l->intent.quorum)
			return (enum reason)reason;
	return REASON_BUSY;
}

const struct lock_state *
lock_state(const struct lock *l)
{
	const struct lock_state *view = NULL;
	const enum reason reason = main_reason(l);
	int refusals = 0, most = 0;

	for (const struct server *s = l->servers; s < l->end; s++) {
		int telling = 2 * (s->view.reason == reason) + s->view.taken;

		if (s->numbers.odd != NULL ||
		    (s->vote != VOTE_REFUSED &&
			s->release.vote != VOTE_REFUSED))
			continue;
		refusals++;
		if (telling >= most) {
			most = telling;
			view = &s->view;
		}
	}
	/* While the lock is held, refusals of a minority explain nothing. */
	return l->intent.held &&
		refusals <= l->intent.nservers - l->intent.quorum ?
	    NULL :
	    view;
}

const char *
lock_broken_by(const struct lock *l)
{
	const char *by = NULL;
	int broken = 0;

	for (const struct server *s = l->servers; s < l->end; s++)
		if (s->view.broken_by[0] != '\0' && s->first == NULL) {
			by = s->view.broken_by;
			broken++;
		}
	return broken > l->intent.nservers - l->intent.quorum ? by : NULL;
}

/* Returns why the vote of a server does not count, or "" if it counts. */
static const char *
missing(const struct lock *l, const struct server *s, bool ending)
{
	if (!l->intent.held && s->fence < l->intent.fence)
		return "has not confirmed the fence";
	if (!ending && s->key.untrusted_since_ms != 0)
		return "lost the lock before; its vote does not count yet";
	if (l->intent.votes.replicating && s->replicas < l->intent.replicas)
		return "replicas have not confirmed the lock yet";
	return "";
}

/* Writes why the server refused. */
static void
explain_refusal(const struct lock *l, const struct server *s,
    char text[COMPLAINT])
{
	const struct lock_state *v = &s->view;
	char who[OWNER_WHO], ago[DURATION_TEXT];

	if (v->reason == REASON_RAN)
		snprintf(text, COMPLAINT, "ran %s ago on %s (--once-per)",
		    duration_format(owner_age_ms(&v->owner, v->now_us), ago),
		    v->owner.host);
	else if (v->reason == REASON_BEHIND)
		snprintf(text, COMPLAINT, "a writer is waiting (%s)",
		    owner_who(who, &v->owner, v->value, v->len));
	else if (v->reason == REASON_SUPERSEDED)
		snprintf(text, COMPLAINT, "a later run is waiting (%s)",
		    owner_who(who, &v->owner, v->value, v->len));
	else if (v->reason == REASON_FULL)
		snprintf(text, COMPLAINT, "%d run%s already (--max-waiting %d)",
		    v->waiting, v->waiting == 1 ? " waits" : "s wait",
		    l->intent.max_waiting);
	else if (v->taken)
		snprintf(text, COMPLAINT, "held by %s",
		    owner_who(who, &v->owner, v->value, v->len));
	else /* only a held lock can lose its key */
		snprintf(text, COMPLAINT, "%s",
		    l->intent.held ? "the lock's key is gone" : s->why);
}

/* Writes what is wrong with a server, or "".  Returns text. */
static char *
complaint(const struct lock *l, const struct server *s, char text[COMPLAINT])
{
	bool ending = l->intent.held && l->intent.phase == PHASE_RELEASE &&
	    (s->release.sent > 0 || s->key.state != KEY_NONE);
	enum vote vote = ending ? s->release.vote : s->vote;
	const char *why = s->why;

	if (s->first != NULL) {
		snprintf(text, COMPLAINT, "the same server as %.800s",
		    s->first->conn.address.text);
		return text;
	}
	if (s->numbers.odd != NULL && !ending)
		why = s->numbers.odd;
	else if (vote == VOTE_GRANTED)
		why = missing(l, s, ending);
	else if (vote == VOTE_REFUSED) {
		explain_refusal(l, s, text);
		return text;
	} else if (vote == VOTE_PENDING && ending && !s->release.failed &&
	    s->in_flight.kind == REQUEST_RELEASE &&
	    s->in_flight.give_up_ms != CLOCK_NEVER)
		why = "no answer yet"; /* rather than an earlier failure */
	snprintf(text, COMPLAINT, "%s", why);
	return text;
}

char *
lock_why(const struct lock *l, char buf[LOCK_WHY])
{
	char text[COMPLAINT], last[COMPLAINT] = "";
	size_t used = 0, more = 0;
	const char *reason;

	if (l->slow) {
		snprintf(buf, LOCK_WHY,
		    "the servers answered too slowly: less than half of "
		    "the lease was left; raise --ttl");
		return buf;
	}
	buf[0] = '\0';
	for (const struct server *s = l->servers; s < l->end; s++) {
		const char *name = s->conn.address.text;

		if (complaint(l, s, text)[0] == '\0')
			continue;
		reason = strcmp(text, last) == 0 ? "the same" : text;
		if (more > 0 ||
		    used + strlen(name) + strlen(reason) + AND_MORE > LOCK_WHY)
			more++;
		else
			used += (size_t)snprintf(buf + used, LOCK_WHY - used,
			    "%s%s: %s", used > 0 ? "; " : "", name, reason);
		snprintf(last, sizeof(last), "%s", text);
	}
	if (more > 0)
		snprintf(buf + used, LOCK_WHY - used, "; and %zu more", more);
	return buf;
}

bool
lock_may_be_left(const struct lock *l)
{
	for (const struct server *s = l->servers; s < l->end; s++)
		if (s->key.state != KEY_NONE &&
		    (s->in_flight.acquire != 0 ||
			(s->conn.state != CONN_READY && *s->conn.answered)))
			return true;
	return false;
}

bool
lock_minority_fails(const struct lock *l)
{
	char text[COMPLAINT];
	int failing = 0;

	for (const struct server *s = l->servers; s < l->end; s++)
		failing += complaint(l, s, text)[0] != '\0';
	return failing <= l->intent.nservers - l->intent.quorum;
}

int
lock_servers(const struct lock *l)
{
	return l->intent.nservers;
}

const char *
lock_server_url(const struct lock *l, int i)
{
	return l->servers[i].conn.address.text;
}

bool
lock_server_votes(const struct lock *l, int i)
{
	const struct server *s = &l->servers[i];

	return server_vote(s) == VOTE_GRANTED && s->key.untrusted_since_ms == 0;
}

char *
lock_server_why(const struct lock *l, int i, char buf[LOCK_WHY])
{
	char text[COMPLAINT];

	snprintf(buf, LOCK_WHY, "%s", complaint(l, &l->servers[i], text));
	return buf;
}

char *
lock_agreed(const struct lock *l, bool released, char buf[LOCK_WHY])
{
	size_t used = 0;

	buf[0] = '\0';
	for (const struct server *s = l->servers; s < l->end; s++)
		if ((released ? s->release.vote : server_vote(s)) ==
			VOTE_GRANTED &&
		    used < LOCK_WHY)
			used += (size_t)snprintf(buf + used, LOCK_WHY - used,
			    "%s%s", used > 0 ? ", " : "", s->conn.address.text);
	return buf;
}
