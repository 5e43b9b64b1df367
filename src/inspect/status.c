/*
 * Merges the servers' replies about each lock.  A holder counts only if a
 * majority of all configured servers reports it, so one faulty server cannot
 * make up a holder or hide one.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "inspect/history.h"
#include "inspect/scan.h"
#include "inspect/status.h"
#include "process/proc.h"
#include "protocol/lock_state.h"
#include "protocol/owner.h"
#include "protocol/quorum.h"
#include "scripts.h"
#include "wire.h"

#define WAITERS_MAX 100 /* in one reply of status.lua */

static void
read_waiters(struct server_view *v, const struct reply a)
{
	size_t n = reply_count(&a), len;
	const char *value;

	n = n < WAITERS_MAX ? n : WAITERS_MAX;
	v->waiters = xcalloc(n, sizeof(*v->waiters));
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
	size_t n = reply_count(&a) / 3, len;
	long long slot;
	const char *value;

	v->holders = xcalloc(n, sizeof(*v->holders));
	for (size_t i = 0; i < n; i++) {
		struct holder *h = &v->holders[v->nholders];

		if ((value = reply_string(&a, 3 * i, &len)) == NULL)
			continue;
		h->value = xmalloc(len + 1);
		memcpy(h->value, value, len);
		h->len = len;
		h->ours = owner_parse(&h->owner, value, len) == 0;
		h->ttl_ms = reply_int(&a, 3 * i + 1);
		slot = reply_int(&a, 3 * i + 2);
		if (h->owner.slots > 0 && slot >= 1 && slot <= LOCK_SLOTS)
			h->slot = (int)slot;
		v->nholders++;
	}
}

const char *const state_names[] = { "unknown", "free", "held", "shared",
	"cooldown" };

/* Returns the state of a lock with these holders. */
static enum state
state_of(const struct holder *holders, size_t n, bool shared)
{
	size_t cooldown = 0;

	for (size_t i = 0; i < n; i++)
		cooldown += holders[i].owner.in_cooldown;
	return n == 0     ? STATE_FREE :
	    cooldown == n ? STATE_COOLDOWN :
	    shared        ? STATE_SHARED :
			    STATE_HELD;
}

static bool
lock_replied(struct query_server *s, size_t i, const struct reply *a)
{
	struct status *st = s->query->arg;
	struct lock_info *l = &st->locks[i];
	int server = (int)(s - s->query->servers);
	struct server_view *v = &l->views[server];
	struct lock_state state;
	const char *success;
	size_t len;

	if (query_server_error(s, a))
		return false;
	if (lock_state_read(&state, a) == -1 || state.granted)
		return query_server_malformed(s);
	v->known = true;
	v->fence = state.fence;
	v->now_us = state.now_us;
	read_waiters(v, reply_sub(a, FIELD_WAITERS));
	v->waiting = state.waiting;
	read_holders(v, reply_sub(a, FIELD_HOLDERS));
	v->shared = state.readers > 0;
	v->state = state_of(v->holders, v->nholders, v->shared);
	history_add_runs(&l->runs, server, reply_sub(a, FIELD_RUNS));
	history_add_skips(&l->runs, server, reply_sub(a, FIELD_SKIPS));
	success = reply_string(a, FIELD_SUCCESS, &len);
	success_read(&l->successes[server], success, len, state.now_us / 1000);
	return false;
}

static int
send_lock(struct query_server *s, size_t i)
{
	const struct status *st = s->query->arg;
	const struct lock_info *l = &st->locks[i];

	_Static_assert(METRICS_BRIEF == 0 && METRICS_ARGS == 1,
	    "the argument of its own");
	if (!st->with_runs)
		return query_read(s, i, &script_status, l->name, l->slots,
		    NULL);
	return query_read(s, i, &script_metrics, l->name, l->slots,
	    s->query->nservers == 1 ? "1" : "0");
}

static bool
same_holder(const struct holder *a, const struct holder *b)
{
	if (a->ours != b->ours)
		return false;
	if (a->ours)
		return strcmp(a->owner.token, b->owner.token) == 0 &&
		    a->owner.in_cooldown == b->owner.in_cooldown;
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

/* Returns the slot that quorum of n servers report; 0 if there is none. */
static int
agreed_slot(const int slots[], int n, int quorum)
{
	for (int i = 0; i < n; i++) {
		int same = 0;

		for (int j = i; j < n; j++)
			same += slots[j] == slots[i];
		if (same >= quorum)
			return slots[i];
	}
	return 0;
}

/*
 * Adds a holder that one server reports, if a majority reports it.  Its lease
 * is the q-th longest, since a majority keeps it that long.
 */
static void
judge_holder(const struct query *q, struct lock_info *l,
    const struct server_view *sample, const struct holder *h)
{
	int64_t ttl_ms[LOCK_SERVERS], fence = 0;
	const struct holder *same;
	struct holder *agreed;
	int n = 0, slots[LOCK_SERVERS];

	if (find_holder(l->holders, l->nholders, h) != NULL)
		return;
	for (int i = 0; i < q->nservers; i++) {
		const struct server_view *v = &l->views[i];

		same = find_holder(v->holders, v->nholders, h);
		if (same == NULL)
			continue;
		slots[n] = same->slot;
		ttl_ms[n++] = same->ttl_ms < 0 ? CLOCK_NEVER : same->ttl_ms;
		if (h->ours && v->fence > fence)
			fence = v->fence;
	}
	if (n < q->quorum)
		return;
	l->holders =
	    xreallocarray(l->holders, l->nholders + 1, sizeof(*l->holders));
	agreed = &l->holders[l->nholders++];
	*agreed = *h;
	agreed->slot = agreed_slot(slots, n, q->quorum);
	agreed->ttl_ms = quorum_largest(ttl_ms, n, q->quorum);
	if (agreed->ttl_ms == CLOCK_NEVER)
		agreed->ttl_ms = -1;
	if (l->nholders == 1 || agreed->ttl_ms < 0 ||
	    (l->ttl_ms >= 0 && agreed->ttl_ms > l->ttl_ms))
		l->ttl_ms = agreed->ttl_ms;
	if (fence > l->fence)
		l->fence = fence;
	l->sample = sample;
}

/* Sorts the oldest holder first. */
static int
compare_holders(const void *a, const void *b)
{
	const struct owner *x = &((const struct holder *)a)->owner;
	const struct owner *y = &((const struct holder *)b)->owner;

	return x->since_ms < y->since_ms ? -1 : x->since_ms > y->since_ms;
}

static void
judge_runs(const struct query *q, struct lock_info *l)
{
	int silent = 0;

	for (int i = 0; i < q->nservers; i++) {
		const struct server_view *v = &l->views[i];

		silent += !v->known;
		for (size_t j = 0; j < v->nholders; j++)
			if (v->holders[j].ours &&
			    !v->holders[j].owner.in_cooldown)
				runs_holds(&l->runs, i,
				    v->holders[j].owner.token);
	}
	runs_judge(&l->runs, q->nservers, q->quorum, silent);
}

static void
judge_lock(const struct query *q, struct lock_info *l)
{
	int free = 0;

	l->ttl_ms = -1;
	l->state = STATE_UNKNOWN;
	for (int i = 0; i < q->nservers; i++) {
		const struct server_view *v = &l->views[i];

		for (size_t j = 0; v->holders != NULL && j < v->nholders; j++)
			judge_holder(q, l, v, &v->holders[j]);
	}
	for (int i = 0; i < q->nservers && l->nholders == 0; i++) {
		const struct server_view *v = &l->views[i];

		if (v->known && v->nholders == 0 && ++free >= q->quorum)
			l->sample = v;
	}
	if (l->sample == NULL)
		return;
	l->state = state_of(l->holders, l->nholders, l->sample->shared);
	if (l->nholders > 1)
		qsort(l->holders, l->nholders, sizeof(*l->holders),
		    compare_holders);
}

static void
forget_locks(struct status *st)
{
	for (size_t i = 0; i < st->nlocks; i++) {
		struct lock_info *l = &st->locks[i];

		for (int j = 0; j < st->query.nservers; j++) {
			struct server_view *v = &l->views[j];

			for (size_t h = 0; h < v->nholders; h++)
				free(v->holders[h].value);
			free(v->holders);
			free(v->waiters);
		}
		runs_release(&l->runs);
		free(l->holders);
		free(l->successes);
		free(l->views);
	}
	free(st->locks);
	st->locks = NULL;
	st->nlocks = 0;
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
	forget_locks(st);
	query_release(&st->query);
}

void
status_list(struct status *st)
{
	static const char *const wanted[] = { "", NULL };
	static const char *const with_runs[] = { "", "runs", "skips", "success",
		NULL };

	forget_locks(st);
	scan_locks(&st->query, st->with_runs ? with_runs : wanted);
}

bool
status_next(struct status *st, size_t most)
{
	struct query *q = &st->query;
	const struct query_lock *listed;
	size_t n = query_next(q, most, &listed);

	if (n == 0)
		return false;
	forget_locks(st);
	st->locks = xcalloc(n, sizeof(*st->locks));
	st->nlocks = n;
	for (size_t i = 0; i < st->nlocks; i++) {
		st->locks[i].name = listed[i].name;
		st->locks[i].slots = listed[i].slots;
		st->locks[i].views =
		    xcalloc((size_t)q->nservers, sizeof(*st->locks[i].views));
		st->locks[i].successes = xcalloc((size_t)q->nservers,
		    sizeof(*st->locks[i].successes));
	}
	query_send(q, st->nlocks, send_lock, lock_replied);
	for (size_t i = 0; i < st->nlocks; i++) {
		judge_lock(q, &st->locks[i]);
		judge_runs(q, &st->locks[i]);
	}
	return true;
}

void
status_read(struct status *st)
{
	status_list(st);
	status_next(st, QUERY_ALL);
}

int64_t
status_holder_age_ms(const struct lock_info *l, const struct holder *h)
{
	if (l->sample == NULL || !h->ours || h->owner.in_cooldown)
		return -1;
	return owner_age_ms(&h->owner, l->sample->now_us);
}

/*
 * A renewal comes every third of --ttl.  The length that is due grows meanwhile
 * by a thirtieth of --ttl, if it grows.
 */
bool
status_holder_overdue(const struct lock_info *l, const struct holder *h)
{
	const struct owner *o = &h->owner;
	int64_t ttl_ms = o->lease_ms > 0 ? o->lease_ms : o->ttl_ms;
	int64_t due_ms = owner_lease_ms(o, status_holder_age_ms(l, h));
	int64_t grown_ms = due_ms > ttl_ms ? ttl_ms / 30 : 0;

	return h->ours && !o->in_cooldown &&
	    !owner_is_unconfirmed(h->value, h->len) && h->ttl_ms >= 0 &&
	    h->ttl_ms < due_ms - (ttl_ms - ttl_ms / 2) - grown_ms;
}

bool
status_holder_patient(const struct holder *h)
{
	return h->ours && !h->owner.in_cooldown && h->owner.lease_ms > 0 &&
	    h->ttl_ms > h->owner.lease_ms;
}

enum owner_process
status_owner_process(const struct owner *o)
{
	bool ourselves = o->pid == getpid();
	unsigned long long start = (unsigned long long)o->start_ticks;
	struct proc p;

	if (o->in_cooldown || o->pid <= 0 || !owner_on_this_host(o))
		return PROCESS_NONE;
	if (!procs_visible() || proc_read(o->pid, &p) == -1)
		return !ourselves && (kill(o->pid, 0) == 0 || errno == EPERM) ?
		    PROCESS_SAME :
		    PROCESS_NONE;
	if (start != 0 && p.start != start)
		return start < p.start ? PROCESS_EARLIER : PROCESS_OTHER;
	if (ourselves)
		return start != 0 ? PROCESS_OTHER : PROCESS_NONE;
	return p.running ? PROCESS_SAME : PROCESS_NONE;
}

int
status_slots(const struct lock_info *l)
{
	return l->nholders > 0 && l->holders[0].ours ?
	    l->holders[0].owner.slots :
	    0;
}

/*
 * Returns when the oldest holder acquired the lock; foreign values sort last.
 */
static int64_t
held_since(const struct lock_info *l)
{
	return l->nholders > 0 && l->holders[0].ours ?
	    l->holders[0].owner.since_ms :
	    INT64_MAX;
}

static int
compare_locks(const void *a, const void *b)
{
	static const int ranks[] = { [STATE_HELD] = 0,
		[STATE_SHARED] = 1,
		[STATE_COOLDOWN] = 2,
		[STATE_UNKNOWN] = 3,
		[STATE_FREE] = 4 };
	const struct lock_info *x = a, *y = b;
	int waiting = (y->sample == NULL ? 0 : y->sample->waiting) -
	    (x->sample == NULL ? 0 : x->sample->waiting);
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
	if (st->nlocks > 1)
		qsort(st->locks, st->nlocks, sizeof(*st->locks), compare_locks);
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
	for (size_t i = 0; i < st.nlocks && holds; i++) {
		const struct lock_info *l = &st.locks[i];

		h = find_holder(l->holders, l->nholders, &us);
		holds = h != NULL;
		if (!holds)
			break;
		*run = h->owner;
		*capacity = h->owner.slots > 0 ? h->owner.slots : 1;
		*mode = l->sample->shared ? LOCK_SHARED :
		    *capacity > 1         ? LOCK_SLOTTED :
					    LOCK_EXCLUSIVE;
	}
	status_release(&st);
	return holds;
}
