/*
 * Looks and touches nothing: lists the locks, asks every server about each,
 * and believes in an owner only where a majority agrees.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "exitcode.h"
#include "lock.h"
#include "log.h"
#include "loop.h"
#include "node.h"
#include "owner.h"
#include "scripts.h"
#include "show.h"
#include "status.h"

enum { TAG_SCAN, TAG_ENTRY };

static void *
need(void *memory)
{
	if (memory == NULL)
		die(EXIT_OS, "%s", strerror(errno));
	return memory;
}

static void
source_fail(struct source *s, enum answer_kind kind, const char *why)
{
	s->failure = kind;
	snprintf(s->why, sizeof(s->why), "%s", why);
}

static void
add_entry(struct status *st, const char *name, size_t len)
{
	struct entry *e;

	st->entries = need(
	    realloc(st->entries, (st->nentries + 1) * sizeof(*st->entries)));
	e = &st->entries[st->nentries++];
	memset(e, 0, sizeof(*e));
	e->name = need(strndup(name, len));
}

/*
 * The name of the lock of which a key is a slot; the length is 0 if it is not
 * one.  Slot 1 is prefix and NAME, the others are that, in braces unless it has
 * a tag, and ":~2", ":~3", ...
 */
static const char *
name_in(const char *key, const char *prefix, size_t *len)
{
	const char *beside = strstr(key, ":~"), *name = key;
	bool braces;

	*len = 0;
	if (beside != NULL &&
	    (beside[2] == '\0' || beside[2 + strspn(beside + 2, "0123456789")]))
		return key;
	braces = beside != NULL && key[0] == '{' && beside[-1] == '}' &&
	    strncmp(key, prefix, strlen(prefix)) != 0;
	name += braces;
	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return key;
	name += strlen(prefix);
	*len = beside == NULL ? strlen(name) : (size_t)(beside - name) - braces;
	return name;
}

static void
scan_answered(struct source *s, const struct answer *a)
{
	const char *cursor = answer_string(a, 0, NULL);
	const struct answer keys = answer_sub(a, 1);
	const char *key, *name;
	size_t len, name_len;

	s->listing = false;
	if (cursor == NULL || strlen(cursor) >= sizeof(s->cursor)) {
		source_fail(s, ANSWER_UNABLE, "its answer makes no sense");
		return;
	}
	snprintf(s->cursor, sizeof(s->cursor), "%s", cursor);
	s->listed = strcmp(cursor, "0") == 0;
	for (size_t i = 0; i < answer_count(&keys); i++) {
		key = answer_string(&keys, i, &len);
		if (key == NULL || strlen(key) != len)
			continue;
		name = name_in(key, s->status->opt->prefix, &name_len);
		if (name_len > 0)
			add_entry(s->status, name, name_len);
	}
}

static void
read_waiters(struct opinion *o, const struct answer a)
{
	size_t n = answer_count(&a), len;
	const char *value;

	o->waiters = need(calloc(n + 1, sizeof(*o->waiters)));
	for (size_t i = 0; i < n; i++) {
		value = answer_string(&a, i, &len);
		if (value != NULL &&
		    owner_parse(&o->waiters[o->nwaiters], value, len) == 0)
			o->nwaiters++;
	}
}

static void
read_holders(struct opinion *o, const struct answer a)
{
	size_t n = answer_count(&a) / 2, len;
	const char *value;

	o->holders = need(calloc(n + 1, sizeof(*o->holders)));
	for (size_t i = 0; i < n; i++) {
		struct holder *h = &o->holders[o->nholders];

		if ((value = answer_string(&a, 2 * i, &len)) == NULL)
			continue;
		h->value = need(malloc(len + 1));
		memcpy(h->value, value, len);
		h->len = len;
		h->ours = owner_parse(&h->owner, value, len) == 0;
		h->ttl_ms = answer_int(&a, 2 * i + 1);
		o->nholders++;
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

static void
entry_answered(struct source *s, const struct answer *a)
{
	const struct status *st = s->status;
	struct entry *e = &st->entries[s->answered++];
	struct opinion *o = &e->opinions[s - st->sources];
	struct lock_view view;

	if (lock_view_read(&view, a) == -1) {
		source_fail(s, ANSWER_UNABLE, "its answer makes no sense");
		return;
	}
	o->known = true;
	o->now_us = view.now_us;
	o->fence = answer_int(a, 7);
	read_waiters(o, answer_sub(a, 8));
	o->waiting = (int)answer_int(a, 9);
	read_holders(o, answer_sub(a, 10));
	o->shared = view.readers > 0;
	o->state = state_of(o->holders, o->nholders, o->shared);
}

static void
answer_cb(void *arg, const struct answer *a)
{
	struct source *s = arg;

	s->end_ms = clock_now_ms() + s->status->opt->node_timeout_ms;
	if (a->kind == ANSWER_NONE)
		return; /* source_step() sees to it */
	if (a->kind != ANSWER_REPLY)
		source_fail(s, a->kind, a->text);
	else if (a->tag == TAG_SCAN)
		scan_answered(s, a);
	else
		entry_answered(s, a);
}

/* SCAN's pattern: the prefix to the letter, with anything around it. */
static void
send_scan(struct source *s)
{
	char pattern[2 * LOCK_NAME + 3], *to = pattern;
	const char *const argv[] = { "SCAN", s->cursor, "MATCH", pattern,
		"COUNT", "1000" };

	*to++ = '*';
	for (const char *p = s->status->opt->prefix; *p != '\0'; p++) {
		if (strchr("*?[]\\^-", *p) != NULL)
			*to++ = '\\';
		*to++ = *p;
	}
	*to++ = '*';
	*to = '\0';
	s->listing = node_command(&s->node, TAG_SCAN, 6, argv) == 0;
}

static int
send_entry(struct source *s)
{
	const struct status *st = s->status;
	const char *prefix = st->opt->prefix;
	const char *name = st->entries[s->asked].name;
	char key[LOCK_KEY], beside[LOCK_KEY], slots[12];
	const char *const argv[] = { key, beside, "", "", slots, "1" };

	lock_keys(key, beside, prefix, name);
	snprintf(slots, sizeof(slots), "%d", LOCK_SLOTS);
	return node_eval(&s->node, TAG_ENTRY, script_status, 2, 6, argv);
}

/* Does what is due on one server; true when it has nothing left to do. */
static bool
source_step(struct source *s)
{
	struct status *st = s->status;
	int64_t now = clock_now_ms();
	char text[DURATION_TEXT], why[NODE_WHY];

	node_sweep(&s->node);
	if (s->failure != ANSWER_REPLY)
		return true;
	if (now >= s->end_ms) {
		snprintf(why, sizeof(why), "no answer within %s",
		    duration_format(st->opt->node_timeout_ms, text));
		node_close(&s->node, why);
	}
	if (s->node.state == NODE_DOWN) {
		if (s->node.untried == 0) {
			source_fail(s, s->node.failure, s->node.why);
			return true;
		}
		s->listing = false;
		s->asked = s->answered;
		s->end_ms = now + st->opt->node_timeout_ms / s->node.untried;
		node_open(&s->node);
	}
	if (s->node.state != NODE_READY)
		return false;
	if (!st->reading) {
		if (!s->listed && !s->listing)
			send_scan(s);
		return s->listed;
	}
	while (s->asked < st->nentries && send_entry(s) == 0)
		s->asked++;
	return s->answered == st->nentries;
}

/* Turns the loop until every server has done its part or failed. */
static void
all_sources(struct status *st)
{
	int64_t wake;
	bool done;

	for (int i = 0; i < st->nsources; i++)
		st->sources[i].end_ms =
		    clock_now_ms() + st->opt->node_timeout_ms;
	for (;;) {
		done = true;
		wake = CLOCK_NEVER;
		for (int i = 0; i < st->nsources; i++) {
			struct source *s = &st->sources[i];

			if (source_step(s))
				continue;
			done = false;
			if (s->node.state == NODE_DOWN)
				wake = 0;
			else if (s->end_ms < wake)
				wake = s->end_ms;
		}
		if (done)
			return;
		loop_turn(&st->loop, wake);
	}
}

static int
compare_entries(const void *a, const void *b)
{
	return strcmp(
	    ((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* SCAN may name a key twice, and so do several servers. */
static void
sort_entries(struct status *st)
{
	size_t n = 0;

	if (st->nentries == 0)
		return;
	qsort(st->entries, st->nentries, sizeof(*st->entries), compare_entries);
	for (size_t i = 1; i < st->nentries; i++) {
		if (strcmp(st->entries[n].name, st->entries[i].name) == 0)
			free(st->entries[i].name);
		else
			st->entries[++n] = st->entries[i];
	}
	st->nentries = n + 1;
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
judge_holder(const struct status *st, struct entry *e,
    const struct opinion *said, const struct holder *h)
{
	int64_t ttl_ms[LOCK_SERVERS], fence = 0;
	const struct holder *same;
	struct holder *agreed;
	int n = 0;

	if (find_holder(e->holders, e->nholders, h) != NULL)
		return;
	for (int i = 0; i < st->nsources; i++) {
		const struct opinion *o = &e->opinions[i];

		same = find_holder(o->holders, o->nholders, h);
		if (same == NULL)
			continue;
		ttl_ms[n++] = same->ttl_ms < 0 ? CLOCK_NEVER : same->ttl_ms;
		if (h->ours && o->fence > fence)
			fence = o->fence;
	}
	if (n < st->quorum)
		return;
	e->holders =
	    need(realloc(e->holders, (e->nholders + 1) * sizeof(*e->holders)));
	agreed = &e->holders[e->nholders++];
	*agreed = *h;
	agreed->ttl_ms = lock_deadline_of(ttl_ms, n, st->quorum);
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
judge_entry(const struct status *st, struct entry *e)
{
	int free = 0;

	e->ttl_ms = -1;
	e->state = STATE_UNKNOWN;
	for (int i = 0; i < st->nsources; i++) {
		const struct opinion *o = &e->opinions[i];

		for (size_t j = 0; o->holders != NULL && j < o->nholders; j++)
			judge_holder(st, e, o, &o->holders[j]);
	}
	for (int i = 0; i < st->nsources && e->nholders == 0; i++) {
		const struct opinion *o = &e->opinions[i];

		if (o->known && o->nholders == 0 && ++free >= st->quorum)
			e->said = o;
	}
	if (e->said == NULL)
		return;
	e->state = state_of(e->holders, e->nholders, e->said->shared);
	if (e->nholders > 1)
		qsort(e->holders, e->nholders, sizeof(*e->holders),
		    compare_holders);
}

/* Says which servers failed; returns what that comes to. */
static int
report_failures(const struct status *st, int *failures)
{
	int failed = 0, result = EXIT_UNREACHABLE;

	for (int i = 0; i < st->nsources; i++) {
		const struct source *s = &st->sources[i];

		if (s->failure == ANSWER_REPLY)
			continue;
		failed++;
		warn("%s: %s%s", s->node.address.text, s->why,
		    st->opt->default_server ? " (the built-in default; -r or "
					      "REDLOCK_REDIS name another)" :
					      "");
		if (s->failure == ANSWER_DENIED)
			result = EXIT_REFUSED;
	}
	*failures = failed;
	return st->nsources - failed >= st->quorum ? 0 : result;
}

static void
sources_init(struct status *st)
{
	const struct options *opt = st->opt;

	st->nsources = opt->naddresses;
	st->quorum = opt->naddresses / 2 + 1;
	st->sources =
	    need(calloc((size_t)opt->naddresses, sizeof(*st->sources)));
	for (int i = 0; i < opt->naddresses; i++) {
		struct source *s = &st->sources[i];

		s->status = st;
		s->failure = ANSWER_REPLY;
		snprintf(s->cursor, sizeof(s->cursor), "0");
		node_init(
		    &s->node, &st->loop, &opt->addresses[i], answer_cb, s);
		if (node_resolve(&s->node) == -1)
			source_fail(s, ANSWER_NONE, s->node.why);
		s->node.untried = s->node.nips;
	}
}

static void
status_release(struct status *st)
{
	for (int i = 0; i < st->nsources; i++)
		node_release(&st->sources[i].node);
	for (size_t i = 0; i < st->nentries; i++) {
		struct entry *e = &st->entries[i];

		for (int j = 0; j < st->nsources; j++) {
			struct opinion *o = &e->opinions[j];

			for (size_t h = 0; h < o->nholders; h++)
				free(o->holders[h].value);
			free(o->holders);
			free(o->waiters);
		}
		free(e->holders);
		free(e->name);
		free(e->opinions);
	}
	free(st->sources);
	free(st->entries);
	loop_release(&st->loop);
}

/* Finds out all that there is to know; status_release() undoes it. */
static void
status_read(struct status *st, const struct options *opt)
{
	memset(st, 0, sizeof(*st));
	st->opt = opt;
	if (loop_init(&st->loop) == -1)
		die(EXIT_OS, "timerfd: %s", strerror(errno));
	sources_init(st);
	for (int i = 0; i < opt->nnames; i++)
		add_entry(st, opt->names[i], strlen(opt->names[i]));
	if (opt->nnames == 0)
		all_sources(st);
	st->reading = true;
	sort_entries(st);
	for (size_t i = 0; i < st->nentries; i++)
		st->entries[i].opinions = need(calloc(
		    (size_t)st->nsources, sizeof(*st->entries[i].opinions)));
	all_sources(st);
	for (size_t i = 0; i < st->nentries; i++)
		judge_entry(st, &st->entries[i]);
}

bool
status_holds(const struct options *opt, const char *token, int *limit)
{
	struct holder us = { .ours = true };
	const struct holder *h;
	struct status st;
	bool holds = true;

	snprintf(us.owner.token, sizeof(us.owner.token), "%s", token);
	status_read(&st, opt);
	for (size_t i = 0; i < st.nentries && holds; i++) {
		const struct entry *e = &st.entries[i];

		h = find_holder(e->holders, e->nholders, &us);
		holds = h != NULL;
		if (holds)
			*limit = e->said->shared ? 0 :
			    h->owner.slots > 0   ? h->owner.slots :
						   1;
	}
	status_release(&st);
	return holds;
}

int
status_run(const struct options *opt)
{
	struct status st;
	int result, failures;

	status_read(&st, opt);
	result = report_failures(&st, &failures);
	if (opt->json)
		show_json(&st);
	else if (failures < st.nsources) /* a minority may say something */
		show_table(&st);
	if (fflush(stdout) == EOF)
		die(EXIT_OS, "standard output: %s", strerror(errno));
	for (size_t i = 0; i < st.nentries && opt->nnames > 0; i++) {
		enum state state = st.entries[i].state;

		if (state == STATE_UNKNOWN &&
		    (result == 0 || result == EXIT_FREE))
			result = EXIT_UNREACHABLE;
		else if (state == STATE_FREE && result == 0)
			result = EXIT_FREE;
	}
	status_release(&st);
	return result;
}
