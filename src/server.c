/*
 * One server's part in the lock: what it was asked, what it said, what it is
 * to be asked next, one request on its way at a time.  Callbacks only note
 * what came; server_step() acts.  Knows no other server: what concerns them
 * all, D before anything, is lock.c's.
 *
 * A release never overtakes its acquire: it is sent on the same connection,
 * behind it, whether or not the acquire has been answered.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "lock.h"
#include "log.h"
#include "scripts.h"
#include "server.h"

#define REOPEN_MS 200 /* between tries to reach a server that is down */
#define RETRY_MS  10  /* between tries of an acquire that was cut */

#define REFRESH_MS     5000 /* of our place in a queue, give or take a tenth */
#define WAIT_RETRY_MS  500  /* after an error, while we wait */
#define LATE_MS        100  /* BLPOP's timeout comes that late */
#define FOREIGN_MS     25   /* at first, under a holder that wakes nobody */
#define FOREIGN_MAX_MS 250

/* Up to twice as long, so that several clients do not act as one. */
static int64_t
about(int64_t ms)
{
	return ms + clock_wall_us() % (ms + 1);
}

int
lock_view_read(struct lock_view *v, const struct answer *a)
{
	const char *value;
	size_t len = 0;

	if (a->kind != ANSWER_REPLY || answer_count(a) < 4)
		return -1;
	value = answer_string(a, 1, &len);
	v->taken = value != NULL;
	v->len = len < sizeof(v->value) ? len : sizeof(v->value);
	if (v->taken)
		memcpy(v->value, value, v->len);
	v->ttl_ms = answer_int(a, 2);
	v->now_us = answer_int(a, 3);
	v->queued = answer_int(a, 5) == 1;
	v->waiting = (int)answer_int(a, 6);
	return 0;
}

void
server_failed(struct server *s, enum verdict verdict, const char *why)
{
	if (s->lock->phase == PHASE_RELEASE)
		s->released = verdict;
	else
		s->verdict = verdict;
	snprintf(s->why, sizeof(s->why), "%s", why);
}

/* After an error.  A waiter has a wait to lose, not a lease. */
static int64_t
retry_after_ms(const struct server *s)
{
	const struct lock *l = s->lock;

	return l->phase == PHASE_ACQUIRE && l->ttl_ms > 10 * WAIT_RETRY_MS ?
	    WAIT_RETRY_MS :
	    l->ttl_ms / 10;
}

static void
server_nonsense(struct server *s, const struct answer *a)
{
	server_failed(s, VERDICT_UNABLE, "its answer makes no sense");
	s->next_ms = a->sent_ms + retry_after_ms(s);
}

/*
 * Whoever waits is in the queue.  Among several servers a vote may be split,
 * so whoever asks for one is a candidate, and in the queue as well, until it
 * has won or lost.
 */
static bool
joins(const struct server *s)
{
	return !s->heals && (s->lock->quorum > 1 || s->lock->wait_end_ms != 0);
}

/* An acquire has reached it, or may have. */
static void
server_may_have(struct server *s)
{
	s->maybe_ours = true;
	s->maybe_queued = s->maybe_queued || joins(s);
}

/* Whether it has been up for as long as any lease lasts. */
static bool
old_enough(const struct server *s)
{
	int64_t grace_ms = s->lock->grace_ms;

	/* Its own account is in whole seconds. */
	return grace_ms == 0 ||
	    (s->node.born_ms != 0 &&
		clock_now_ms() - s->node.born_ms >= grace_ms + 1000);
}

/* Whether it goes by another name as well, under which it votes already. */
static bool
junior(const struct server *s, const struct server *twin)
{
	return twin != NULL &&
	    (s->opened_ms > twin->opened_ms ||
		(s->opened_ms == twin->opened_ms && s > twin));
}

/*
 * A key that we made does not count, and proves nothing, on a server that may
 * have forgotten that it was another's; nor, when it was made while the lock
 * was held, until a majority is known to have kept its keys till after that.
 */
static bool
proven(const struct server *s)
{
	const struct server *twin = lock_twin(s->lock, s);

	return s->unproven_ms == 0 ||
	    (old_enough(s) && !junior(s, twin) &&
		(twin == NULL || twin->valid_ms <= clock_now_ms()) &&
		(s->lock->phase == PHASE_ACQUIRE ||
		    lock_kept_since(s->lock, s->unproven_ms)));
}

/* "Yours": the lease counts from when the question was sent. */
static void
server_yours(struct server *s, const struct answer *a)
{
	const struct lock *l = s->lock;
	int64_t now = clock_now_ms();

	if (!s->ours)
		s->won_ms = now;
	s->ours = s->maybe_ours = true;
	s->verdict = VERDICT_YES;
	s->yours_ms = a->sent_ms;
	s->next_ms = l->phase == PHASE_ACQUIRE && l->contest ?
	    now + about(POLL_MS) :
	    a->sent_ms + l->ttl_ms / (s->unproven_ms == 0 ? 3 : 10);
	/* Once D has passed, nothing that is heard later brings it back. */
	if ((l->phase == PHASE_HOLD && now >= lock_deadline_ms(l)) ||
	    !proven(s))
		return;
	if (s->unproven_ms != 0)
		info("%s: its vote counts now", s->node.address.text);
	s->unproven_ms = 0;
	s->valid_ms = a->sent_ms + l->ttl_ms - (l->ttl_ms / 100 + 2);
}

/*
 * Refused: when to ask again, and until when the server may keep us blocked
 * till then.  The head of the queue asks as soon as the lease ends, or the
 * vote is split; under a holder that is none of ours and wakes nobody, again
 * and again.
 */
static void
await_turn(struct server *s)
{
	const struct lock_view *v = &s->view;
	const struct lock *l = s->lock;
	int64_t now = clock_now_ms(), ends = now + v->ttl_ms + 1;
	struct owner holder;
	bool wakes = owner_parse(&holder, v->value, v->len) == 0;

	s->block_ms = 0;
	s->next_ms = now + about(POLL_MS);
	if (now >= l->wait_end_ms)
		return;
	if (s->earlier == 0 && (!v->taken || v->queued))
		return;
	if (s->earlier == 0 && !wakes) {
		s->poll_ms = s->poll_ms == 0 ? FOREIGN_MS : 2 * s->poll_ms;
		if (s->poll_ms > FOREIGN_MAX_MS)
			s->poll_ms = FOREIGN_MAX_MS;
		s->next_ms = now + s->poll_ms;
		return;
	}
	s->poll_ms = 0;
	s->block_ms = now + REFRESH_MS - REFRESH_MS / 10 +
	    clock_wall_us() % (REFRESH_MS / 5);
	s->next_ms = s->block_ms + LATE_MS + l->node_timeout_ms;
	if (s->earlier == 0 && v->ttl_ms >= 0 && ends < s->next_ms)
		s->next_ms = ends;
}

static void
server_not_yours(struct server *s, const struct answer *a)
{
	const struct lock *l = s->lock;

	if (s->ours)
		info("%s: the lock is not ours there any more",
		    s->node.address.text);
	s->ours = s->maybe_ours = false;
	s->verdict = VERDICT_NO;
	s->valid_ms = s->unproven_ms = 0;
	if (l->phase == PHASE_ACQUIRE)
		await_turn(s);
	else if (!s->heals && !s->view.taken)
		s->next_ms = 0; /* a key that is gone is put back at once */
	else
		s->next_ms = a->sent_ms + l->ttl_ms / 3;
}

/* It has made our key, but might have forgotten that it was another's. */
static void
say_young(struct server *s)
{
	int64_t age_ms = clock_now_ms() - s->node.born_ms;
	char age[DURATION_TEXT], rest[DURATION_TEXT], why[NODE_WHY];

	if (s->node.born_ms == 0) {
		snprintf(why, sizeof(why), "INFO: %.200s", s->node.info_error);
		server_failed(s, VERDICT_DENIED, why);
		return;
	}
	snprintf(why, sizeof(why),
	    "it started only %s ago and may have forgotten locks; it has no "
	    "vote for another %s (--restart-grace)",
	    duration_format(age_ms, age),
	    duration_format(s->lock->grace_ms + 1000 - age_ms, rest));
	server_failed(s, VERDICT_UNABLE, why);
}

static void
acquire_answered(struct server *s, const struct answer *a)
{
	const struct lock *l = s->lock;
	const struct server *twin = lock_twin(l, s);
	bool made = !s->ours; /* by this acquire, or by one like it */

	server_may_have(s);
	if (answer_int(a, 0) == 1 && answer_int(a, 1) > 0) {
		s->fence = answer_int(a, 1);
		s->earlier = (int)answer_int(a, 2);
		if (!old_enough(s) || (made && (s->heals || twin != NULL)))
			s->unproven_ms = clock_now_ms();
		if (made && twin != NULL && l->phase == PHASE_HOLD)
			warn("%s and %s are the same server; it has one vote",
			    s->node.address.text, twin->node.address.text);
		server_yours(s, a);
		if (l->phase == PHASE_ACQUIRE && !old_enough(s))
			say_young(s);
	} else if (lock_view_read(&s->view, a) == 0) {
		s->earlier = (int)answer_int(a, 4);
		server_not_yours(s, a);
	} else
		server_nonsense(s, a);
}

static void
renew_answered(struct server *s, const struct answer *a)
{
	s->heals = false;
	if (answer_int(a, 0) == 1) {
		if (s->unproven_ms == 0 && junior(s, lock_twin(s->lock, s)))
			s->unproven_ms = clock_now_ms();
		s->fence = answer_int(a, 1);
		s->maybe_queued = s->maybe_queued && !s->leaves;
		server_yours(s, a);
		info("%s: renewed in %" PRId64 "ms", s->node.address.text,
		    clock_now_ms() - a->sent_ms);
	} else if (lock_view_read(&s->view, a) == 0)
		server_not_yours(s, a);
	else
		server_nonsense(s, a);
}

static void
release_answered(struct server *s, const struct answer *a)
{
	/* Without COMMAND, or in the queue alone, nothing can be lost. */
	if (answer_int(a, 0) == 1 || s->releases > 1 || !s->maybe_ours ||
	    !s->lock->held)
		s->released = VERDICT_YES;
	else if (lock_view_read(&s->view, a) == 0) {
		s->released = VERDICT_NO;
		s->valid_ms = 0;
	} else
		server_nonsense(s, a);
	s->maybe_ours = s->maybe_queued = false;
}

/* Notes an answer, unless what was asked no longer matters. */
static void
server_answer_cb(void *arg, const struct answer *a)
{
	struct server *s = arg;
	enum ask asked = s->asked;
	int64_t took_ms = clock_now_ms() - a->sent_ms;

	if (asked == ASK_NOTHING || a->tag != s->sequence ||
	    a->kind == ANSWER_NONE)
		return; /* server_down() sees to a lost connection */
	s->asked = ASK_NOTHING;
	s->sent_ms = a->sent_ms;
	s->give_up_ms = CLOCK_NEVER;
	if (a->kind != ANSWER_REPLY) {
		server_failed(s,
		    a->kind == ANSWER_DENIED ? VERDICT_DENIED : VERDICT_UNABLE,
		    a->text);
		s->next_ms = a->sent_ms + retry_after_ms(s);
		/* A script may fail after its first write. */
		if (asked == ASK_ACQUIRE)
			server_may_have(s);
		else if (asked == ASK_RELEASE)
			s->maybe_ours = s->maybe_queued = false;
		return;
	}
	s->reopen = s->heard = true;
	if (took_ms > s->lock->slowest_ms)
		s->lock->slowest_ms = took_ms;
	switch (asked) {
	case ASK_ACQUIRE:
		acquire_answered(s, a);
		break;
	case ASK_WAIT:
		s->next_ms = 0;
		break;
	case ASK_RENEW:
		renew_answered(s, a);
		break;
	case ASK_LEAVE:
		s->maybe_queued = false;
		break;
	case ASK_RELEASE:
		release_answered(s, a);
		break;
	case ASK_NOTHING:
		break;
	}
}

void
server_init(struct server *s, struct lock *l, const struct address *address,
    bool ask_info)
{
	s->lock = l;
	s->give_up_ms = CLOCK_NEVER;
	s->try = 1;
	node_init(&s->node, l->loop, address, server_answer_cb, s);
	s->node.ask_info = ask_info;
}

/* What is to be asked of this server as things stand. */
static enum ask
server_wants(const struct server *s, int64_t now)
{
	const struct lock *l = s->lock;
	bool answered = s->verdict == VERDICT_YES || s->verdict == VERDICT_NO;

	switch (l->phase) {
	case PHASE_ACQUIRE:
		if (l->owner == NULL)
			return ASK_NOTHING;
		/* The fence's write-back: a renewal raises it to ours. */
		if (s->verdict == VERDICT_YES && s->fence < l->fence)
			return ASK_RENEW;
		return s->verdict == VERDICT_OPEN ||
			(l->ticket != 0 && answered) || now < l->wait_end_ms ?
		    ASK_ACQUIRE :
		    ASK_NOTHING;
	case PHASE_HOLD:
		if (s->ours)
			return ASK_RENEW;
		if (s->maybe_queued && s->verdict == VERDICT_NO)
			return ASK_LEAVE;
		/*
		 * A vote that may come later, or a key to be put back: only
		 * while the lock is held without it, else it would hide that
		 * somebody else was in between.
		 */
		return now < lock_deadline_ms(l) ? ASK_ACQUIRE : ASK_NOTHING;
	case PHASE_RELEASE:
		return s->maybe_ours || s->maybe_queued ? ASK_RELEASE :
							  ASK_NOTHING;
	}
	return ASK_NOTHING;
}

/*
 * Sends a script with up to six arguments behind those that all have.  Its
 * answer counts only while nothing else has been sent since.  At the end
 * whatever an attempt of ours has left is given back.
 */
static int
send_script(struct server *s, const char *script, const char *a, const char *b,
    const char *c, const char *d, const char *e, const char *f)
{
	const struct lock *l = s->lock;
	char id[OWNER_ID];
	unsigned int try = l->phase == PHASE_RELEASE ? 0 : s->try;
	const char *const argv[] = { l->key, l->fence_key, l->queue_key,
		l->beat_key, owner_id(l->owner, try, id), l->owner->token, a, b,
		c, d, e, f };
	int argc = 6;

	while (
	    argc < (int)(sizeof(argv) / sizeof(argv[0])) && argv[argc] != NULL)
		argc++;
	return node_eval(&s->node, ++s->sequence, script, 4, argc, argv);
}

/* On one server the lock is handed over; several could disagree to whom. */
static const char *
grant_text(const struct server *s, char text[24])
{
	snprintf(text, 24, "%d", s->lock->nservers == 1 ? GRANT_MS : 0);
	return text;
}

/*
 * A value is never used again once its release is sent: it could be executed
 * late, on a connection that we gave up.
 */
static int
send_release(struct server *s, bool leave)
{
	char rest[24], grant[24];

	snprintf(rest, sizeof(rest), "%" PRId64, s->lock->rest_ms);
	return send_script(s, script_release, rest, leave ? "1" : "0",
	    grant_text(s, grant), NULL, NULL, NULL);
}

/* To be woken, or to be told that it is time to ask again. */
static int
send_wait(struct server *s)
{
	int64_t ms = s->block_ms - clock_now_ms();
	char key[LOCK_KEY + OWNER_TOKEN], seconds[24];
	const char *const argv[] = { "BLPOP", key, seconds };

	snprintf(
	    key, sizeof(key), "%s%s", s->lock->wake_key, s->lock->owner->token);
	snprintf(seconds, sizeof(seconds), "%" PRId64 ".%03" PRId64, ms / 1000,
	    ms % 1000);
	return node_command(&s->node, ++s->sequence, 3, argv);
}

static int
server_send(struct server *s, enum ask ask)
{
	const struct lock *l = s->lock;
	char ttl[24], fence[24], ticket[24], heartbeat[24], grant[24];
	int64_t beat_ms = l->wait_end_ms != 0 ?
	    HEARTBEAT_MS :
	    BEAT_TIMEOUTS * l->node_timeout_ms;
	int sent;

	snprintf(ttl, sizeof(ttl), "%" PRId64, l->ttl_ms);
	switch (ask) {
	case ASK_ACQUIRE:
		s->heals = l->phase == PHASE_HOLD;
		snprintf(fence, sizeof(fence), "%" PRId64, l->proposal);
		snprintf(ticket, sizeof(ticket), "%" PRId64, l->ticket);
		snprintf(heartbeat, sizeof(heartbeat), "%" PRId64,
		    joins(s) ? beat_ms : 0);
		return send_script(s, script_acquire, l->details, ttl, fence,
		    ticket, heartbeat, grant_text(s, grant));
	case ASK_WAIT:
		return send_wait(s);
	case ASK_RENEW:
		s->leaves = l->phase == PHASE_HOLD && s->maybe_queued;
		snprintf(fence, sizeof(fence), "%" PRId64, l->fence);
		return send_script(s, script_renew, ttl, fence,
		    s->leaves ? "1" : "0", NULL, NULL, NULL);
	case ASK_LEAVE:
		sent = send_release(s, true);
		s->try++;
		return sent;
	case ASK_RELEASE:
		s->releases++;
		return send_release(s, true);
	case ASK_NOTHING:
		break;
	}
	return -1;
}

/* The attempt is over here; the next one has a value of its own. */
static void
give_back(struct server *s, bool leave)
{
	send_release(s, leave);
	s->asked = ASK_NOTHING;
	s->ours = s->maybe_ours = false;
	s->valid_ms = s->unproven_ms = 0;
	s->try++;
}

void
server_yield(struct server *s)
{
	if (s->node.state != NODE_READY)
		return; /* it is asked again when it is back */
	give_back(s, false);
	s->verdict = VERDICT_NO;
	s->view.taken = false;
	s->earlier = 0;
	s->next_ms = clock_now_ms() + about(POLL_MS);
}

/* Why it says nothing; while the lock is held, that is its last word. */
static void
note_failure(struct server *s, const char *why)
{
	if (s->lock->phase == PHASE_HOLD)
		server_failed(s, VERDICT_UNABLE, why);
	else
		snprintf(s->why, sizeof(s->why), "%s", why);
}

/* What was asked is not answered in time. */
static void
server_unanswered(struct server *s)
{
	const struct lock *l = s->lock;
	char text[DURATION_TEXT], why[NODE_WHY];

	if (s->asked == ASK_WAIT) {
		/* Nothing can be asked on a connection that is blocked. */
		node_close(&s->node, NULL);
		return;
	}
	snprintf(why, sizeof(why), "no answer within %s",
	    duration_format(l->node_timeout_ms, text));
	note_failure(s, why);
	if (s->asked == ASK_ACQUIRE && node_connected(&s->node)) {
		/* It may be executed yet: its release must follow it here. */
		if (l->phase != PHASE_HOLD && l->wait_end_ms == 0) {
			s->give_up_ms = CLOCK_NEVER;
			return;
		}
		give_back(s,
		    l->phase != PHASE_ACQUIRE ||
			clock_now_ms() >= l->wait_end_ms);
		node_finish(&s->node);
	}
	node_close(&s->node, why);
}

/*
 * A server that is being restarted is to be met as soon as it is back; one
 * that wants another password is not worth that.
 */
static int64_t
reopen_after_ms(const struct server *s)
{
	int64_t ttl_ms = s->lock->ttl_ms;

	if (s->node.failure == ANSWER_DENIED)
		return ttl_ms / 3;
	return ttl_ms / 10 < REOPEN_MS ? ttl_ms / 10 : REOPEN_MS;
}

/* The connection is gone, or could not be made. */
static void
server_down(struct server *s, int64_t now)
{
	const struct lock *l = s->lock;
	const struct node *n = &s->node;

	note_failure(s, n->why);
	if (s->asked == ASK_ACQUIRE && n->established)
		server_may_have(s);
	s->asked = ASK_NOTHING;
	s->give_up_ms = CLOCK_NEVER;
	if (s->reopen || n->untried > 0) {
		s->reopen = false;
		s->next_ms = now;
	} else if (l->phase == PHASE_HOLD)
		s->next_ms = now + reopen_after_ms(s);
	else if (s->maybe_ours || n->again ||
	    (l->phase == PHASE_RELEASE && s->maybe_queued))
		s->next_ms = now + about(RETRY_MS);
	else {
		server_failed(s,
		    n->failure == ANSWER_DENIED ? VERDICT_DENIED :
						  VERDICT_UNABLE,
		    n->why);
		s->next_ms = now + about(REOPEN_MS);
	}
}

void
server_open(struct server *s, int64_t now)
{
	int64_t limit = s->lock->node_timeout_ms;

	/* Several addresses share the time that there is. */
	s->give_up_ms =
	    now + limit / (s->node.untried > 1 ? s->node.untried : 1);
	s->opened = true;
	s->opened_ms = now;
	s->heard = false;
	node_open(&s->node);
}

/* One server's turn.  Returns when it wants the next one. */
int64_t
server_step(struct server *s, int64_t now)
{
	struct lock *l = s->lock;
	enum ask ask;
	bool leaving;

	node_sweep(&s->node);
	if (s->opened && s->node.state != NODE_DOWN && now >= s->give_up_ms)
		server_unanswered(s);
	if (s->opened && s->node.state == NODE_DOWN) {
		s->opened = false;
		server_down(s, now);
	}
	ask = server_wants(s, now);
	if (s->asked != ASK_NOTHING || ask == ASK_NOTHING)
		return s->opened ? s->give_up_ms : CLOCK_NEVER;
	/* A holder leaves the queue at once: others take it for a candidate. */
	leaving = l->phase == PHASE_HOLD && s->maybe_queued &&
	    ask != ASK_ACQUIRE && s->node.state == NODE_READY &&
	    s->verdict != VERDICT_UNABLE && s->verdict != VERDICT_DENIED;
	if (now < s->next_ms && !leaving) {
		if (l->phase != PHASE_ACQUIRE || l->ticket == 0 ||
		    s->block_ms <= now || s->verdict != VERDICT_NO ||
		    s->node.state != NODE_READY)
			return s->next_ms;
		ask = ASK_WAIT;
	}
	if (s->node.state == NODE_DOWN) {
		server_open(s, now);
		if (s->node.state == NODE_DOWN)
			return now; /* judged in the next turn */
	}
	if (s->node.state == NODE_READY && server_send(s, ask) == 0) {
		s->asked = ask;
		if (ask == ASK_WAIT)
			s->give_up_ms = s->next_ms;
		else if (node_connected(&s->node))
			s->give_up_ms = now + l->node_timeout_ms;
	}
	return s->give_up_ms;
}

bool
server_begin_release(struct server *s, int64_t now)
{
	if (s->asked == ASK_ACQUIRE) {
		if (node_connected(&s->node))
			server_may_have(s);
		else
			node_close(&s->node, NULL);
	} else if (s->asked == ASK_WAIT)
		node_close(&s->node, NULL); /* it is blocked */
	s->behind_ms = node_unanswered_ms(&s->node);
	s->asked = ASK_NOTHING;
	s->give_up_ms = CLOCK_NEVER;
	s->next_ms = now;
	s->releases = 0;
	s->released = VERDICT_OPEN;
	return s->maybe_ours || s->maybe_queued;
}
