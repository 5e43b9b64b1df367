/*
 * Messages that may wake an operator at night: what happened, to which lock and
 * server, and what to do.
 */
#include <stdbool.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/log.h"
#include "config/advice.h"
#include "inspect/probe.h"
#include "inspect/status.h"
#include "protocol/acl.h"
#include "protocol/owner.h"
#include "protocol/lock_state.h"
#include "redis/error.h"
#include "run/nested.h"
#include "run/report.h"

#define QUESTION_MS 1000 /* what a user lacks */

#define CHECK_TEXT 1024

static const char stood_still[] =
    "the lease ran out while redlock-run was stopped or the machine slept";

void
report_acquired(const struct lock *l, int64_t took_ms)
{
	char text[LOCK_WHY];

	info("%s: acquired in %" PRId64 "ms, fence %" PRId64 ", from %s",
	    lock_name(l), took_ms, lock_fence(l), lock_agreed(l, false, text));
}

void
report_released(const struct lock *l, int64_t took_ms)
{
	char text[LOCK_WHY];

	info("%s: released in %" PRId64 "ms, on %s", lock_name(l), took_ms,
	    lock_agreed(l, true, text));
}

/*
 * Returns the word that tells a holder from a process of this host, perhaps
 * this one, that has the same pid by chance: as after the restart of a
 * container.
 */
static const char *
which(const struct owner *o)
{
	switch (status_owner_process(o)) {
	case PROCESS_EARLIER:
		return "an earlier ";
	case PROCESS_OTHER:
		return "another ";
	case PROCESS_NONE:
	case PROCESS_SAME:
		break;
	}
	return "";
}

/*
 * Without a refusal, writes why no renewal moved D.  Errors of a minority cannot
 * have prevented that, but a pause of ours can.
 */
static void
report_expiry(const struct lock *l, int64_t paused_ms, char *text, size_t size)
{
	char why[LOCK_WHY], pause[DURATION_TEXT];
	bool known = lock_why(l, why)[0] != '\0';

	if (paused_ms > 0 && lock_minority_fails(l))
		snprintf(text, size,
		    "redlock-run did not run for %s (stopped, asleep or "
		    "overloaded)%s%s",
		    duration_format(paused_ms, pause), known ? "; " : "", why);
	else
		snprintf(text, size, "renewals failed: %s",
		    known ? why : "no answer yet");
}

void
report_loss(const struct lock *l, int64_t paused_ms, char *text, size_t size)
{
	char who[OWNER_WHO], why[LOCK_WHY];
	const struct lock_state *view = lock_state(l);
	const char *server = lock_only_server(l);

	lock_why(l, why);
	if (lock_broken_by(l) != NULL)
		snprintf(text, size, "broken by %s (--break)",
		    lock_broken_by(l));
	else if (view == NULL)
		report_expiry(l, paused_ms, text, size);
	else if (server == NULL)
		snprintf(text, size, "no majority holds it any more: %s", why);
	else if (view->readers > 0 && lock_mode(l) == LOCK_SHARED)
		snprintf(text, size,
		    "our share is gone from %s; others still hold theirs",
		    server);
	else if (view->taken)
		snprintf(text, size, "it is now held by %s, according to %s",
		    owner_who(who, &view->owner, view->value, view->len),
		    server);
	else
		snprintf(text, size,
		    "its key is gone from %s (deleted, evicted, flushed, "
		    "or the server restarted without data)",
		    server);
}

/*
 * Returns what to do about a taken lock.  With several servers no one reply has
 * the writer of REASON_BEHIND.
 */
static const char *
busy_hint(const struct lock *l, const struct lock_state *v)
{
	const char *behind = "; readers queue behind a writer; -w waits too";
	const char *gave_up = "; readers queue behind a writer";
	bool busy;

	if (lock_mode(l) == LOCK_SHARED && v->readers > 0 && v->ahead)
		return lock_waits(l) ? gave_up : behind;
	if (v->ttl_ms < 0)
		return "; it has no expiry; if its owner is dead, delete the "
		       "key with redis-cli";
	if (lock_waits(l))
		return "";
	return nested_below(&v->owner, &busy) && !busy ?
	    "; it is the run that started us, as far as we can see: see \"Runs "
	    "inside runs\" in redlock-run(7)" :
	    "; -w waits for it";
}

/* Reports the holder, or the cooldown after it; waited begins the message. */
static void
report_holder(const struct lock *l, const struct lock_state *v,
    const char *waited)
{
	char who[OWNER_WHO], what[OWNER_WHAT], text[DURATION_TEXT];
	char held[DURATION_TEXT + 32] = "", lease[DURATION_TEXT + 16] = "";
	char waiting[32] = "", slots[40] = "";
	const struct owner *o = &v->owner;

	if (v->waiting > 0)
		snprintf(waiting, sizeof(waiting), ", %d waiting", v->waiting);
	if (v->ttl_ms >= 0)
		snprintf(lease, sizeof(lease), ", lease %s left",
		    duration_format(v->ttl_ms, text));
	if (o->in_cooldown) {
		notice(
		    "%s: %sin cooldown for another %s (--min-hold) after %s@%s (%s)%s%s",
		    lock_name(l), waited, duration_format(v->ttl_ms, text),
		    o->user, o->host, owner_what(what, o), waiting,
		    busy_hint(l, v));
		return;
	}
	if (v->readers > 1)
		snprintf(held, sizeof(held), " and %d other%s", v->readers - 1,
		    v->readers > 2 ? "s" : "");
	else if (o->token[0] != '\0')
		snprintf(held, sizeof(held), " for %s",
		    duration_format(owner_age_ms(o, v->now_us), text));
	if (lock_mode(l) == LOCK_SLOTTED)
		snprintf(slots, sizeof(slots), "all %d slots taken, one ",
		    lock_capacity(l));
	notice("%s: %s%sheld %sby %s%s%s%s%s%s", lock_name(l), waited, slots,
	    v->readers > 0 ? "shared " : "", which(o),
	    owner_who(who, o, v->value, v->len), held, lease, waiting,
	    busy_hint(l, v));
}

void
report_busy(const struct lock *l, int64_t waited_ms)
{
	const struct lock_state *v = lock_state(l);
	char waited[DURATION_TEXT + 24] = "", text[DURATION_TEXT];
	char period[DURATION_TEXT], pid[OWNER_PID];
	const struct owner *o;

	if (waited_ms > 0)
		snprintf(waited, sizeof(waited),
		    "gave up after %s: ", duration_format(waited_ms, text));
	if (v == NULL || !v->taken) {
		notice("%s: %sother runs are ahead in the queue%s",
		    lock_name(l), waited,
		    lock_waits(l) ? "" : "; -w waits for it");
		return;
	}
	o = &v->owner;
	if (v->reason == REASON_RAN) {
		notice("%s: ran %s ago on %s; --once-per %s", lock_name(l),
		    duration_format(owner_age_ms(o, v->now_us), text), o->host,
		    duration_format(lock_once_per_ms(l), period));
		return;
	}
	if (v->reason == REASON_BEHIND) {
		notice("%s: %sa writer is waiting (%s@%s pid %s) and readers "
		       "queue behind it%s",
		    lock_name(l), waited, o->user, o->host, owner_pid(pid, o),
		    lock_waits(l) ? "" : "; -w waits too");
		return;
	}
	report_holder(l, v, waited);
}

void
report_superseded(const struct lock *l)
{
	const struct lock_state *v = lock_state(l);
	char what[OWNER_WHAT];

	if (v == NULL || v->owner.token[0] == '\0')
		notice("%s: superseded by a later run", lock_name(l));
	else
		notice("%s: superseded by %s@%s (%s)", lock_name(l),
		    v->owner.user, v->owner.host, owner_what(what, &v->owner));
}

void
report_queue_full(const struct lock *l, int64_t waited_ms)
{
	const struct lock_state *v = lock_state(l);
	char waited[DURATION_TEXT + 24] = "", text[DURATION_TEXT];

	if (v == NULL)
		return;
	if (waited_ms > 0)
		snprintf(waited, sizeof(waited),
		    "gave up after %s: ", duration_format(waited_ms, text));
	notice("%s: %s%d run%s already (--max-waiting %d)", lock_name(l),
	    waited, v->waiting, v->waiting == 1 ? " waits" : "s wait",
	    lock_max_waiting(l));
}

void
report_other_mode(const struct lock *l)
{
	const struct lock_state *v = lock_state(l);
	char theirs[32] = "exclusively", ours[32] = "is exclusive";

	if (v == NULL)
		return;
	if (v->owner.slots > 1)
		snprintf(theirs, sizeof(theirs), "with --slots %d",
		    v->owner.slots);
	else if (v->readers > 0)
		snprintf(theirs, sizeof(theirs), "with --shared");
	if (lock_mode(l) == LOCK_SLOTTED)
		snprintf(ours, sizeof(ours), "uses --slots %d",
		    lock_capacity(l));
	else if (lock_mode(l) == LOCK_SHARED)
		snprintf(ours, sizeof(ours), "uses --shared");
	warn("%s: in use %s by %s@%s pid %d; this run %s; start every run of "
	     "this lock with the same --slots, or all without it",
	    lock_name(l), theirs, v->owner.user, v->owner.host,
	    (int)v->owner.pid, ours);
}

void
report_outlasting(const struct lock *l)
{
	const struct lock_state *v = lock_state(l);
	char longest[DURATION_TEXT], grace[DURATION_TEXT];

	if (v == NULL)
		return;
	warn("%s: %s@%s may hold it for %s, longer than our --restart-grace "
	     "of %s",
	    lock_name(l), v->owner.user, v->owner.host,
	    duration_format(owner_longest_ms(&v->owner), longest),
	    duration_format(lock_grace_ms(l), grace));
}

void
report_waiting(const struct lock *l)
{
	const struct lock_state *v = lock_state(l);
	char who[OWNER_WHO], what[OWNER_WHAT], why[LOCK_WHY];

	lock_why(l, why);
	if (lock_lacks_quorum(l) || v == NULL)
		notice("%s: waiting for the servers: %s", lock_name(l),
		    why[0] != '\0' ? why : "no answer yet");
	else if (!v->taken)
		notice("%s: waiting for our turn", lock_name(l));
	else if (v->owner.in_cooldown)
		notice("%s: waiting for the end of the cooldown (--min-hold) "
		       "after %s@%s (%s)",
		    lock_name(l), v->owner.user, v->owner.host,
		    owner_what(what, &v->owner));
	else
		notice("%s: waiting for %s%s", lock_name(l), which(&v->owner),
		    owner_who(who, &v->owner, v->value, v->len));
}

/* Writes "2nd of 3", or "" if our place is unknown. */
static char *
place(const struct lock_state *v, char text[48])
{
	int tens = v->place % 100 / 10, ones = v->place % 10;
	const char *suffix = tens == 1 ? "th" :
	    ones == 1                  ? "st" :
	    ones == 2                  ? "nd" :
	    ones == 3                  ? "rd" :
					 "th";

	text[0] = '\0';
	if (v->place > 0)
		snprintf(text, 48, "%d%s of %d", v->place, suffix,
		    v->waiting + 1);
	return text;
}

/* Writes "behind alice@web1 for 3m12s, last took 4m (deploy.sh)". */
static void
describe_holder(const struct lock_state *v, int64_t aged_ms, char *text,
    size_t size)
{
	char who[OWNER_WHO], what[OWNER_WHAT], age[DURATION_TEXT],
	    last[DURATION_TEXT];
	int64_t now_us = v->now_us + aged_ms * 1000;
	const struct owner *o = &v->owner;

	if (o->token[0] == '\0')
		snprintf(text, size, "behind %s",
		    owner_who(who, o, v->value, v->len));
	else if (o->in_cooldown)
		snprintf(text, size,
		    "in cooldown for another %s (--min-hold) after %s@%s (%s)",
		    duration_format(v->ttl_ms - aged_ms, age), o->user, o->host,
		    owner_what(what, o));
	else
		snprintf(text, size, "behind %s%s@%s for %s%s%s (%s)", which(o),
		    o->user, o->host,
		    duration_format(owner_age_ms(o, now_us), age),
		    v->last_ms > 0 ? ", last took " : "",
		    v->last_ms > 0 ? duration_format(v->last_ms, last) : "",
		    owner_what(what, o));
}

char *
report_wait(const struct lock *l, int64_t aged_ms, int64_t left_ms,
    char text[WAIT_TEXT])
{
	const struct lock_state *v = lock_state(l);
	char what[WAIT_TEXT - 256], where[48] = "", left[DURATION_TEXT];
	char why[LOCK_WHY], cut[1024];
	bool limited = left_ms != CLOCK_NEVER, latest = lock_is_latest(l);

	if (lock_lacks_quorum(l) || v == NULL) {
		lock_why(l, why);
		snprintf(what, sizeof(what), "waiting for the servers: %s",
		    why[0] != '\0' ? error_copy(cut, sizeof(cut), why) :
				     "no answer yet");
	} else {
		place(v, where);
		if (v->taken)
			describe_holder(v, aged_ms, what, sizeof(what));
		else
			snprintf(what, sizeof(what), "waiting for our turn");
	}
	snprintf(text, WAIT_TEXT, "%s%s%s%s%s%s%s", where,
	    where[0] != '\0' && (limited || latest) ? ", " : "",
	    limited ? "giving up in " : "",
	    limited ? duration_format(left_ms, left) : "",
	    !latest     ? "" :
		limited ? " or for a later run" :
			  "giving up for a later run",
	    where[0] != '\0' || limited || latest ? "; " : "", what);
	return text;
}

/* Writes the command that tells more, with the servers of the command line. */
static char *
advise_check(const struct options *opt, char text[CHECK_TEXT])
{
	const struct servers *s = &opt->servers;
	int n = s->place == PLACE_COMMAND_LINE ? s->n : 0;
	size_t used = 0;

	used = (size_t)snprintf(text, CHECK_TEXT, "; see redlock-run --check");
	for (int i = 0; i < n && used < CHECK_TEXT; i++)
		used += (size_t)snprintf(text + used, CHECK_TEXT - used,
		    " -r %s", s->address[i].text);
	return text;
}

/*
 * Reports what the user of the first server that denies something lacks.  The
 * question takes a second at most, because signals wait for its end.
 */
static void
report_denied(const struct options *opt, const struct lock *l, const char *why)
{
	const uint32_t needed = acl_needed(RIGHTS_ALL) |
	    (opt->replicas > 0 ? RIGHT_BIT(RIGHT_WAIT) : 0);
	struct options asking = *opt;
	char rule[ACL_TEXT], its[LOCK_WHY];
	struct query q;
	int i = 0;

	while (i < lock_servers(l) - 1 &&
	    !error_denies(lock_server_why(l, i, its)))
		i++;
	if (asking.settings.node_timeout_ms > QUESTION_MS)
		asking.settings.node_timeout_ms = QUESTION_MS;
	query_init(&q, &asking);
	probe_missing(&q, i, needed, rule);
	query_release(&q);
	warn("%s: not run: %s; allow it with: ACL SETUSER %s %s", lock_name(l),
	    why, address_user(&opt->servers.address[i]), rule);
}

void
report_failed(const struct options *opt, const struct lock *l)
{
	char why[LOCK_WHY], password[ADVICE_PASSWORD];
	const char *advice = opt->servers.hint;
	char ttl[DURATION_TEXT], check[CHECK_TEXT];
	bool left = lock_may_be_left(l);

	lock_why(l, why);
	if (error_denies(why)) {
		report_denied(opt, l, why);
		return;
	}
	advice_password(password, opt->settings.file.path, why);
	if (advice[0] == '\0' && password[0] == '\0' && why[0] != '\0' &&
	    !lock_was_slow(l))
		advice = advise_check(opt, check);
	warn("%s: not run: %s%s%s%s%s", lock_name(l),
	    why[0] != '\0' ? why : stood_still,
	    left ? "; the lock may be left for up to " : "",
	    left ? duration_format(opt->settings.ttl_ms, ttl) : "", advice,
	    password);
}
