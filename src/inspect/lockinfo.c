/*
 * Looks and touches nothing: lists the locks, asks every server about each,
 * and believes in an owner only where a majority agrees.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "inspect/lockinfo.h"
#include "process/signals.h"
#include "protocol/key.h"
#include "protocol/owner.h"
#include "protocol/quorum.h"
#include "protocol/state.h"
#include "scripts.h"

#define WAITERS_MAX 100 /* that status.lua tells of */

static void
read_waiters(struct server_view *v, const struct reply a)
{
	size_t n = reply_count(&a), len;
	const char *value;

	n = n < WAITERS_MAX ? n : WAITERS_MAX;
	v->waiters = xcalloc(n + 1, sizeof(*v->waiters));
	for (size_t i = 0; i < n; i++) {
		value = reply_string(&a, i, &len);
		if (value != NULL &&
		    owner_parse(&v->waiters[v->nwaiters], value, len) == 0)
			v->nwaiters++;
	}
}

static void
read_holders(struct server_view *v, const struct reply a)
{
	size_t n = reply_count(&a) / 2, len;
	const char *value;

	v->holders = xcalloc(n + 1, sizeof(*v->holders));
	for (size_t i = 0; i < n; i++) {
		struct holder *h = &v->holders[v->nholders];

		if ((value = reply_string(&a, 2 * i, &len)) == NULL)
			continue;
		h->value = xmalloc(len + 1);
		memcpy(h->value, value, len);
		h->len = len;
		h->ours = owner_parse(&h->owner, value, len) == 0;
		h->ttl_ms = reply_int(&a, 2 * i + 1);
		v->nholders++;
	}
}

/* What holders have in common. */
static enum state
state_of(const struct holder *holders, size_t n, bool shared)
{
	size_t resting = 0;

	for (size_t i = 0; i < n; i++)
		resting += holders[i].owner.resting;
	return n == 0    ? STATE_FREE :
	    resting == n ? STATE_REST :
	    shared       ? STATE_SHARED :
			   STATE_HELD;
}

static bool
entry_answered(struct query_server *s, size_t i, const struct reply *a)
{
	struct status *st = s->query->arg;
	struct server_view *v = &st->entries[i].views[s - s->query->servers];
	struct lock_state view;

	if (query_server_error(s, a))
		return false;
	v->fence = reply_int(a, 7);
	if (lock_state_read(&view, a) == -1 || v->fence < 0 ||
	    v->fence >= FENCE_END) {
		query_server_malformed(s);
		return false;
	}
	v->known = true;
	v->now_us = view.now_us;
	read_waiters(v, reply_sub(a, 8));
	v->waiting = view.waiting;
	read_holders(v, reply_sub(a, 10));
	v->shared = view.readers > 0;
	v->state = state_of(v->holders, v->nholders, v->shared);
	return false;
}

static int
ask_entry(struct query_server *s, size_t i)
{
	const struct status *st = s->query->arg;
	char key[LOCK_KEY], aux[LOCK_KEY], slots[12];
	const char *const argv[] = { key, aux, "", "", slots, "1" };

	lock_keys(key, aux, s->query->opt->prefix, st->entries[i].name);
	snprintf(slots, sizeof(slots), "%d", st->entries[i].slots);
	return conn_eval(&s->conn, (int)i, &script_status, 2, 6, argv);
}

static bool
same_holder(const struct holder *a, const struct holder *b)
{
	if (a->ours != b->ours)
		return false;
	if (a->ours)
		return strcmp(a->owner.token, b->owner.token) == 0 &&
		    a->owner.resting == b->owner.resting;
	return a->len == b->len && memcmp(a->value, b->value, a->len) == 0;
}

static const struct holder *
find_holder(const struct holder *holders, size_t n, const struct holder *h)
{
	for (size_t i = 0; i < n; i++)
		if (same_holder(&holders[i], h))
			return &holders[i];
	return NULL;
}

/* One that a server knows is one if a majority says so, as long as that says. */
static void
judge_holder(const struct query *q, struct entry *e,
    const struct server_view *said, const struct holder *h)
{
	int64_t ttl_ms[LOCK_SERVERS], fence = 0;
	const struct holder *same;
	struct holder *agreed;
	int n = 0;

	if (find_holder(e->holders, e->nholders, h) != NULL)
		return;
	for (int i = 0; i < q->nservers; i++) {
		const struct server_view *v = &e->views[i];

		same = find_holder(v->holders, v->nholders, h);
		if (same == NULL)
			continue;
		ttl_ms[n++] = same->ttl_ms < 0 ? CLOCK_NEVER : same->ttl_ms;
		if (h->ours && v->fence > fence)
			fence = v->fence;
	}
	if (n < q->quorum)
		return;
	e->holders =
	    xreallocarray(e->holders, e->nholders + 1, sizeof(*e->holders));
	agreed = &e->holders[e->nholders++];
	*agreed = *h;
	agreed->ttl_ms = quorum_largest(ttl_ms, n, q->quorum);
	if (agreed->ttl_ms == CLOCK_NEVER)
		agreed->ttl_ms = -1;
	if (e->nholders == 1 || agreed->ttl_ms < 0 ||
	    (e->ttl_ms >= 0 && agreed->ttl_ms > e->ttl_ms))
		e->ttl_ms = agreed->ttl_ms;
	if (fence > e->fence)
		e->fence = fence;
	e->said = said;
}

/* Who has had it longest comes first. */
static int
compare_holders(const void *a, const void *b)
{
	const struct owner *x = &((const struct holder *)a)->owner;
	const struct owner *y = &((const struct holder *)b)->owner;

	return x->since_ms < y->since_ms ? -1 : x->since_ms > y->since_ms;
}

static void
judge_entry(const struct query *q, struct entry *e)
{
	int free = 0;

	e->ttl_ms = -1;
	e->state = STATE_UNKNOWN;
	for (int i = 0; i < q->nservers; i++) {
		const struct server_view *v = &e->views[i];

		for (size_t j = 0; v->holders != NULL && j < v->nholders; j++)
			judge_holder(q, e, v, &v->holders[j]);
	}
	for (int i = 0; i < q->nservers && e->nholders == 0; i++) {
		const struct server_view *v = &e->views[i];

		if (v->known && v->nholders == 0 && ++free >= q->quorum)
			e->said = v;
	}
	if (e->said == NULL)
		return;
	e->state = state_of(e->holders, e->nholders, e->said->shared);
	if (e->nholders > 1)
		qsort(e->holders, e->nholders, sizeof(*e->holders),
		    compare_holders);
}

static void
forget_entries(struct status *st)
{
	for (size_t i = 0; i < st->nentries; i++) {
		struct entry *e = &st->entries[i];

		for (int j = 0; j < st->query.nservers; j++) {
			struct server_view *v = &e->views[j];

			for (size_t h = 0; h < v->nholders; h++)
				free(v->holders[h].value);
			free(v->holders);
			free(v->waiters);
		}
		free(e->holders);
		free(e->views);
	}
	free(st->entries);
	st->entries = NULL;
	st->nentries = 0;
}

void
status_init(struct status *st, const struct options *opt)
{
	memset(st, 0, sizeof(*st));
	query_init(&st->query, opt);
	st->query.arg = st;
}

void
status_release(struct status *st)
{
	forget_entries(st);
	query_release(&st->query);
}

void
status_read(struct status *st)
{
	static const char *const wanted[] = { "", NULL };
	struct query *q = &st->query;

	forget_entries(st);
	query_list_locks(q, wanted);
	st->nentries = q->nlocks;
	st->entries = xcalloc(st->nentries + 1, sizeof(*st->entries));
	for (size_t i = 0; i < st->nentries; i++) {
		st->entries[i].name = q->locks[i].name;
		st->entries[i].slots = q->locks[i].slots;
		st->entries[i].views =
		    xcalloc((size_t)q->nservers, sizeof(*st->entries[i].views));
	}
	query_send(q, st->nentries, ask_entry, entry_answered);
	for (size_t i = 0; i < st->nentries; i++)
		judge_entry(q, &st->entries[i]);
}

/* When the first of its holders took it; those that do not say come last. */
static int64_t
held_since(const struct entry *e)
{
	return e->nholders > 0 && e->holders[0].ours ?
	    e->holders[0].owner.since_ms :
	    INT64_MAX;
}

static int
compare_entries(const void *a, const void *b)
{
	static const int ranks[] = { [STATE_HELD] = 0,
		[STATE_SHARED] = 1,
		[STATE_REST] = 2,
		[STATE_UNKNOWN] = 3,
		[STATE_FREE] = 4 };
	const struct entry *x = a, *y = b;
	int waiting = (y->said == NULL ? 0 : y->said->waiting) -
	    (x->said == NULL ? 0 : x->said->waiting);
	int64_t x_ms, y_ms;

	if (waiting != 0)
		return waiting;
	if (x->state != y->state)
		return ranks[x->state] - ranks[y->state];
	x_ms = held_since(x);
	y_ms = held_since(y);
	return x_ms != y_ms ? (x_ms < y_ms ? -1 : 1) : strcmp(x->name, y->name);
}

void
status_sort(struct status *st)
{
	if (st->nentries > 1)
		qsort(st->entries, st->nentries, sizeof(*st->entries),
		    compare_entries);
}

bool
status_holds(const struct options *opt, const char *token, struct owner *run,
    enum lock_mode *mode, int *capacity)
{
	struct holder us = { .ours = true };
	const struct holder *h;
	struct status st;
	bool holds = true;

	snprintf(us.owner.token, sizeof(us.owner.token), "%s", token);
	status_init(&st, opt);
	status_read(&st);
	for (size_t i = 0; i < st.nentries && holds; i++) {
		const struct entry *e = &st.entries[i];

		h = find_holder(e->holders, e->nholders, &us);
		holds = h != NULL;
		if (!holds)
			break;
		*run = h->owner;
		*capacity = h->owner.slots > 0 ? h->owner.slots : 1;
		*mode = e->said->shared ? LOCK_SHARED :
		    *capacity > 1       ? LOCK_SLOTTED :
					  LOCK_EXCLUSIVE;
	}
	status_release(&st);
	return holds;
}
