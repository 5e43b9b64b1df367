/*
 * The lease: votes, deadline, acquire, renew, release.  This file knows no
 * hiredis and no process.  Callbacks only note what came; lock_step() decides
 * what is sent next, for each server by itself, one request on its way each.
 *
 * A release never overtakes its acquire: it is sent on the same connection,
 * behind it, whether or not the acquire has been answered.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "lock.h"
#include "log.h"
#include "scripts.h"

#define REOPEN_MS 200 /* between tries to reach a server that is down */
#define CANCEL_MS 50  /* to give back after a signal */
#define RETRY_MS  10  /* and up to as much again, by chance */

int64_t
lock_deadline_of(const int64_t valid_ms[], int n, int q)
{
	int64_t deadline = 0;

	for (int i = 0; i < n; i++) {
		int as_late = 0;

		for (int j = 0; j < n; j++)
			if (valid_ms[j] >= valid_ms[i])
				as_late++;
		if (as_late >= q && valid_ms[i] > deadline)
			deadline = valid_ms[i];
	}
	return deadline;
}

int64_t
lock_deadline_ms(const struct lock *l)
{
	int64_t valid_ms[LOOP_WATCHES];

	for (int i = 0; i < l->nservers; i++)
		valid_ms[i] = l->servers[i].valid_ms;
	return lock_deadline_of(valid_ms, l->nservers, l->quorum);
}

/*
 * All keys of a lock live in the Redis Cluster slot of the lock key: it is
 * their hash tag, unless it has one of its own.
 */
void
lock_keys(const char *prefix, const char *name, char key[LOCK_KEY],
    char fence_key[LOCK_KEY])
{
	const char *open, *close;
	bool tagged;

	snprintf(key, LOCK_KEY, "%s%s", prefix, name);
	open = strchr(key, '{');
	close = open == NULL ? NULL : strchr(open, '}');
	tagged = close != NULL && close > open + 1;
	snprintf(fence_key, LOCK_KEY, "%s%s%s%s:~fence", tagged ? "" : "{",
	    prefix, name, tagged ? "" : "}");
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
	v->now_ms = answer_int(a, 3);
	return 0;
}

static void
server_failed(struct server *s, enum verdict verdict, const char *why)
{
	if (s->lock->phase == PHASE_RELEASE)
		s->released = verdict;
	else
		s->verdict = verdict;
	snprintf(s->why, sizeof(s->why), "%s", why);
}

static void
server_nonsense(struct server *s, const struct answer *a)
{
	server_failed(s, VERDICT_UNABLE, "its answer makes no sense");
	s->next_ms = a->sent_ms + s->lock->ttl_ms / 10;
}

/* "Yours": the lease counts from when the question was sent. */
static void
server_yours(struct server *s, const struct answer *a)
{
	const struct lock *l = s->lock;

	s->ours = true;
	s->verdict = VERDICT_YES;
	s->valid_ms = a->sent_ms + l->ttl_ms - (l->ttl_ms / 100 + 2);
	s->next_ms = a->sent_ms + l->ttl_ms / 3;
}

static void
server_not_yours(struct server *s, const struct answer *a)
{
	s->ours = s->maybe_ours = false;
	s->verdict = VERDICT_NO;
	s->valid_ms = 0;
	s->next_ms = a->sent_ms + s->lock->ttl_ms / 3;
}

static void
acquire_answered(struct server *s, const struct answer *a)
{
	struct lock *l = s->lock;

	s->maybe_ours = true;
	if (answer_int(a, 0) == 1 && answer_int(a, 1) > 0) {
		server_yours(s, a);
		if (answer_int(a, 1) > l->fence)
			l->fence = answer_int(a, 1);
	} else if (lock_view_read(&s->view, a) == 0)
		server_not_yours(s, a);
	else
		server_nonsense(s, a);
}

static void
renew_answered(struct server *s, const struct answer *a)
{
	if (answer_int(a, 0) == 1) {
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
	s->maybe_ours = false;
	if (answer_int(a, 0) == 1 || s->releases > 1)
		s->released = VERDICT_YES;
	else if (lock_view_read(&s->view, a) == 0)
		s->released = VERDICT_NO;
	else
		server_nonsense(s, a);
}

/* Notes an answer.  One that belongs to an earlier phase changes nothing. */
static void
server_answer_cb(void *arg, const struct answer *a)
{
	struct server *s = arg;
	enum ask asked = (enum ask)a->tag;

	if (asked != s->asked)
		return;
	if (a->kind == ANSWER_NONE)
		return; /* server_down() sees to it */
	s->asked = ASK_NOTHING;
	s->give_up_ms = CLOCK_NEVER;
	if (a->kind != ANSWER_REPLY) {
		server_failed(s,
		    a->kind == ANSWER_DENIED ? VERDICT_DENIED : VERDICT_UNABLE,
		    a->text);
		s->next_ms = a->sent_ms + s->lock->ttl_ms / 10;
		/* A script may fail after its first write. */
		s->maybe_ours = asked != ASK_RELEASE;
		return;
	}
	s->reopen = true;
	if (asked == ASK_ACQUIRE)
		acquire_answered(s, a);
	else if (asked == ASK_RENEW)
		renew_answered(s, a);
	else
		release_answered(s, a);
}

/* What is to be asked of this server as things stand. */
static enum ask
server_wants(const struct server *s, int64_t now)
{
	const struct lock *l = s->lock;

	switch (l->phase) {
	case PHASE_ACQUIRE:
		return s->verdict == VERDICT_OPEN && l->id[0] != '\0' ?
		    ASK_ACQUIRE :
		    ASK_NOTHING;
	case PHASE_HOLD:
		if (s->ours)
			return ASK_RENEW;
		/*
		 * A vote that may come later, or a key to be put back: only
		 * while the lock is held without it, else it would hide that
		 * somebody else was in between.
		 */
		return now < lock_deadline_ms(l) ? ASK_ACQUIRE : ASK_NOTHING;
	case PHASE_RELEASE:
		return s->maybe_ours ? ASK_RELEASE : ASK_NOTHING;
	}
	return ASK_NOTHING;
}

static int
server_send(struct server *s, enum ask ask)
{
	const struct lock *l = s->lock;
	const char *argv[NODE_ARGS] = { l->key, l->fence_key, l->id };
	char ms[24], fence[24];
	const char *script;
	int argc = 3;

	switch (ask) {
	case ASK_ACQUIRE:
		script = script_acquire;
		snprintf(ms, sizeof(ms), "%" PRId64, l->ttl_ms);
		snprintf(fence, sizeof(fence), "%" PRId64, clock_wall_us());
		argv[argc++] = l->details;
		argv[argc++] = ms;
		argv[argc++] = fence;
		break;
	case ASK_RENEW:
		script = script_renew;
		snprintf(ms, sizeof(ms), "%" PRId64, l->ttl_ms);
		snprintf(fence, sizeof(fence), "%" PRId64, l->fence);
		argv[argc++] = ms;
		argv[argc++] = fence;
		break;
	case ASK_RELEASE:
		script = script_release;
		snprintf(ms, sizeof(ms), "%" PRId64, l->rest_ms);
		argv[argc++] = ms;
		s->releases++;
		break;
	default:
		return -1;
	}
	return node_eval(&s->node, (int)ask, script, 2, argc, argv);
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

	snprintf(why, sizeof(why), "no answer within %s",
	    duration_format(l->node_timeout_ms, text));
	note_failure(s, why);
	if (s->asked == ASK_ACQUIRE && node_connected(&s->node)) {
		/* It may be executed yet: its release must follow it here. */
		s->give_up_ms = CLOCK_NEVER;
		return;
	}
	node_close(&s->node, why);
}

/* A server that is being restarted is to be met as soon as it is back. */
static int64_t
reopen_after_ms(const struct lock *l)
{
	return l->ttl_ms / 10 < REOPEN_MS ? l->ttl_ms / 10 : REOPEN_MS;
}

/* The connection is gone, or could not be made. */
static void
server_down(struct server *s, int64_t now)
{
	const struct lock *l = s->lock;
	const struct node *n = &s->node;

	note_failure(s, n->why);
	if (s->asked == ASK_ACQUIRE && n->established)
		s->maybe_ours = true;
	s->asked = ASK_NOTHING;
	s->give_up_ms = CLOCK_NEVER;
	if (s->reopen || n->untried > 0) {
		s->reopen = false;
		s->next_ms = now;
	} else if (l->phase == PHASE_HOLD)
		s->next_ms = now + reopen_after_ms(l);
	else if (s->maybe_ours || n->again)
		s->next_ms = now + RETRY_MS + clock_wall_us() % RETRY_MS;
	else
		server_failed(s,
		    n->failure == ANSWER_DENIED ? VERDICT_DENIED :
						  VERDICT_UNABLE,
		    n->why);
}

static void
server_open(struct server *s, int64_t now)
{
	int64_t limit = s->lock->node_timeout_ms;

	/* Several addresses share the time that there is. */
	s->give_up_ms =
	    now + limit / (s->node.untried > 1 ? s->node.untried : 1);
	s->opened = true;
	node_open(&s->node);
}

/* One server's turn.  Returns when it wants the next one. */
static int64_t
server_step(struct server *s, int64_t now)
{
	struct lock *l = s->lock;
	enum ask ask;

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
	if (now < s->next_ms)
		return s->next_ms;
	if (s->node.state == NODE_DOWN) {
		server_open(s, now);
		if (s->node.state == NODE_DOWN)
			return now; /* judged in the next turn */
	}
	if (s->node.state == NODE_READY && server_send(s, ask) == 0) {
		s->asked = ask;
		if (node_connected(&s->node))
			s->give_up_ms = now + l->node_timeout_ms;
	}
	return s->give_up_ms;
}

int64_t
lock_step(struct lock *l)
{
	int64_t now = clock_now_ms(), wake = CLOCK_NEVER, t;

	for (int i = 0; i < l->nservers; i++) {
		t = server_step(&l->servers[i], now);
		if (t < wake)
			wake = t;
	}
	return wake;
}

int
lock_init(struct lock *l, struct loop *loop, const char *prefix,
    const char *name, const struct address *addresses, int naddresses,
    int64_t ttl_ms, int64_t node_timeout_ms)
{
	memset(l, 0, sizeof(*l));
	l->servers = calloc((size_t)naddresses, sizeof(*l->servers));
	if (l->servers == NULL)
		return -1;
	l->loop = loop;
	l->nservers = naddresses;
	l->quorum = naddresses / 2 + 1;
	l->ttl_ms = ttl_ms;
	l->node_timeout_ms = node_timeout_ms;
	lock_keys(prefix, name, l->key, l->fence_key);
	for (int i = 0; i < naddresses; i++) {
		struct server *s = &l->servers[i];

		s->lock = l;
		s->give_up_ms = CLOCK_NEVER;
		node_init(&s->node, loop, &addresses[i], server_answer_cb, s);
	}
	return 0;
}

int
lock_resolve(struct lock *l)
{
	int resolved = 0;

	for (int i = 0; i < l->nservers; i++) {
		struct server *s = &l->servers[i];

		if (node_resolve(&s->node) == 0)
			resolved++;
		else
			server_failed(s, VERDICT_UNABLE, s->node.why);
	}
	return resolved >= l->quorum ? 0 : -1;
}

void
lock_connect(struct lock *l)
{
	int64_t now = clock_now_ms();

	for (int i = 0; i < l->nservers; i++) {
		l->servers[i].node.untried = l->servers[i].node.nips;
		if (l->servers[i].verdict == VERDICT_OPEN)
			server_open(&l->servers[i], now);
	}
}

/*
 * Enough votes, enough refusals, or too few servers left that could make
 * either.
 */
static enum lock_outcome
acquire_outcome(struct lock *l, int64_t now)
{
	int count[VERDICT_DENIED + 1] = { 0 };
	int possible;

	if (l->cancelled)
		return LOCK_CANCELLED;
	for (int i = 0; i < l->nservers; i++)
		count[l->servers[i].verdict]++;
	if (count[VERDICT_YES] >= l->quorum) {
		if (lock_deadline_ms(l) - now >= l->ttl_ms / 2)
			return LOCK_HELD;
		l->slow = true;
		return LOCK_UNREACHABLE;
	}
	possible = count[VERDICT_YES] + count[VERDICT_OPEN];
	if (possible >= l->quorum && now < l->phase_end_ms)
		return LOCK_UNDECIDED;
	if (count[VERDICT_NO] > l->nservers - l->quorum)
		return LOCK_BUSY;
	return count[VERDICT_DENIED] > 0 ? LOCK_DENIED : LOCK_UNREACHABLE;
}

enum lock_outcome
lock_acquire(struct lock *l, const struct owner *owner)
{
	enum lock_outcome outcome;
	int64_t wake;

	owner_id(owner, 1, l->id);
	owner_details(owner, l->details);
	l->phase = PHASE_ACQUIRE;
	l->phase_end_ms = clock_now_ms() + l->node_timeout_ms;
	for (;;) {
		wake = lock_step(l);
		outcome = acquire_outcome(l, clock_now_ms());
		if (outcome != LOCK_UNDECIDED)
			break;
		loop_turn(
		    l->loop, wake < l->phase_end_ms ? wake : l->phase_end_ms);
	}
	if (outcome == LOCK_HELD)
		l->phase = PHASE_HOLD;
	else
		lock_release(l, 0);
	return outcome;
}

void
lock_cancel(struct lock *l)
{
	l->cancelled = true;
}

/*
 * Readies a server for its release.  An acquire that never left this host
 * needs none; one that did is followed on its connection.
 */
static bool
release_begin(struct server *s, int64_t now)
{
	if (s->asked == ASK_ACQUIRE) {
		if (node_connected(&s->node))
			s->maybe_ours = true;
		else
			node_close(&s->node, NULL);
	}
	s->asked = ASK_NOTHING;
	s->give_up_ms = CLOCK_NEVER;
	s->next_ms = now;
	s->releases = 0;
	s->released = VERDICT_OPEN;
	return s->maybe_ours;
}

enum lock_release_result
lock_release(struct lock *l, int64_t rest_ms)
{
	int64_t now = clock_now_ms(), wake;
	int count[VERDICT_DENIED + 1], needed = 0, answered;

	l->phase = PHASE_RELEASE;
	l->rest_ms = rest_ms;
	l->phase_end_ms = now + l->node_timeout_ms;
	/* The kernel delivers what is sent: nobody who interrupts us waits. */
	if (l->cancelled && l->node_timeout_ms > CANCEL_MS)
		l->phase_end_ms = now + CANCEL_MS;
	for (int i = 0; i < l->nservers; i++)
		if (release_begin(&l->servers[i], now))
			needed++;
	if (needed > l->quorum)
		needed = l->quorum;
	for (;;) {
		wake = lock_step(l);
		memset(count, 0, sizeof(count));
		for (int i = 0; i < l->nservers; i++)
			if (l->servers[i].releases > 0)
				count[l->servers[i].released]++;
		answered = count[VERDICT_YES] + count[VERDICT_NO] +
		    count[VERDICT_UNABLE] + count[VERDICT_DENIED];
		if (answered >= needed || clock_now_ms() >= l->phase_end_ms)
			break;
		loop_turn(
		    l->loop, wake < l->phase_end_ms ? wake : l->phase_end_ms);
	}
	if (count[VERDICT_NO] > l->nservers - l->quorum)
		return RELEASE_NOT_OURS;
	return count[VERDICT_YES] >= needed ? RELEASE_DONE : RELEASE_UNANSWERED;
}

void
lock_close(struct lock *l)
{
	for (int i = 0; i < l->nservers; i++) {
		node_finish(&l->servers[i].node);
		node_release(&l->servers[i].node);
	}
	free(l->servers);
}

const struct lock_view *
lock_view(const struct lock *l)
{
	for (int i = 0; i < l->nservers; i++)
		if (l->servers[i].verdict == VERDICT_NO ||
		    l->servers[i].released == VERDICT_NO)
			return &l->servers[i].view;
	return NULL;
}

char *
lock_why(const struct lock *l, char buf[LOCK_WHY])
{
	size_t used = 0;

	if (l->slow) {
		snprintf(buf, LOCK_WHY,
		    "the servers answered so slowly that "
		    "less than half of the lease was left");
		return buf;
	}
	buf[0] = '\0';
	for (int i = 0; i < l->nservers && used < LOCK_WHY; i++) {
		const struct server *s = &l->servers[i];

		enum verdict v =
		    l->phase == PHASE_RELEASE && s->releases > 0 && s->ours ?
		    s->released :
		    s->verdict;

		if (v == VERDICT_YES || v == VERDICT_NO)
			continue;
		used +=
		    (size_t)snprintf(buf + used, LOCK_WHY - used, "%s%s: %s",
			used > 0 ? "; " : "", s->node.address.text, s->why);
	}
	return buf;
}
