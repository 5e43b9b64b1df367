/*
 * Looks and touches nothing by itself: who asks says what.  A connection that
 * is lost is opened again, at the next address if there is one, and what was
 * not answered on it is asked once more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "config/advice.h"
#include "base/xalloc.h"
#include "inspect/query.h"
#include "protocol/acl.h"
#include "protocol/key.h"
#include "protocol/quorum.h"
#include "redis/error.h"

/* What one server may tell us in a round: it may be broken, or an enemy. */
#define BYTES_MAX     (128 * 1024 * 1024)
#define NAMES_MAX     100000
#define SCAN_TIMEOUTS 20 /* node timeouts that SCAN may take in all */

void
query_server_fail(struct query_server *s, enum reply_kind kind, const char *why)
{
	s->failure = kind;
	conn_explain(&s->conn, why, s->why);
}

bool
query_server_error(struct query_server *s, const struct reply *a)
{
	if (a->kind != REPLY_OK)
		query_server_fail(s, a->kind, a->text);
	return a->kind != REPLY_OK;
}

void
query_server_malformed(struct query_server *s)
{
	query_server_fail(s, REPLY_ERROR, "its answer makes no sense");
}

static void
request_replied_cb(void *arg, const struct reply *a)
{
	struct query_server *s = arg;
	struct query *q = s->query;

	s->end_ms = clock_now_ms() + q->opt->node_timeout_ms;
	if (a->kind == REPLY_LOST || s->failure != REPLY_OK)
		return; /* query_server_step() sees to it */
	s->bytes += a->size;
	if (s->bytes > BYTES_MAX)
		query_server_fail(s, REPLY_ERROR,
		    "it has more to tell than fits in memory; -k names the "
		    "locks to ask about");
	else if (q->reply_cb(s, s->answered, a))
		s->asked = s->answered;
	else
		s->answered++;
}

/* Does what is due on one server; true when it has nothing left to do. */
static bool
query_server_step(struct query_server *s)
{
	struct query *q = s->query;
	int64_t now = clock_now_ms();
	char text[DURATION_TEXT], why[CONN_WHY];

	conn_sweep(&s->conn);
	if (s->failure != REPLY_OK || s->answered == q->questions)
		return true;
	if (now >= s->end_ms) {
		snprintf(why, sizeof(why), "no answer within %s",
		    duration_format(q->opt->node_timeout_ms, text));
		conn_close(&s->conn, why);
	}
	if (s->conn.state == CONN_DOWN) {
		if (s->conn.untried == 0) {
			query_server_fail(s, s->conn.failure, s->conn.why);
			return true;
		}
		s->asked = s->answered;
		s->end_ms = now + q->opt->node_timeout_ms / s->conn.untried;
		conn_open(&s->conn);
	}
	if (s->conn.state != CONN_READY)
		return false;
	/* In a cluster answers could overtake each other. */
	while (s->asked < q->questions &&
	    (s->asked == s->answered ||
		s->conn.address.kind != ADDRESS_CLUSTER) &&
	    q->ask_cb(s, s->asked) == 0)
		s->asked++;
	return false;
}

void
query_send(
    struct query *q, size_t n, query_send_cb *ask_cb, query_reply_cb *reply_cb)
{
	int64_t wake;
	bool done;

	q->questions = n;
	q->ask_cb = ask_cb;
	q->reply_cb = reply_cb;
	for (int i = 0; i < q->nservers; i++) {
		struct query_server *s = &q->servers[i];

		s->asked = s->answered = 0;
		s->end_ms = clock_now_ms() + q->opt->node_timeout_ms;
	}
	for (;;) {
		done = true;
		wake = CLOCK_NEVER;
		for (int i = 0; i < q->nservers; i++) {
			struct query_server *s = &q->servers[i];

			if (query_server_step(s))
				continue;
			done = false;
			if (s->conn.state == CONN_DOWN || s->conn.hop)
				wake = 0;
			else if (s->end_ms < wake)
				wake = s->end_ms;
		}
		if (done || q->stop)
			return;
		loop_turn(&q->loop, wake);
	}
}

static void
add_lock(struct query *q, const struct query_server *from, const char *name,
    size_t len, int slots)
{
	struct query_lock *to;

	/* Twice as much whenever a power of two is full. */
	if ((q->nlocks & (q->nlocks - 1)) == 0)
		q->locks = xreallocarray(
		    q->locks, 2 * q->nlocks + 1, sizeof(*q->locks));
	to = &q->locks[q->nlocks++];
	to->name = xstrndup(name, len);
	to->slots = slots;
	to->from = from;
}

static void
found_key(struct query_server *s, const char *key)
{
	struct query *q = s->query;
	const char *kind = "", *name;
	size_t len;
	int slot;

	name = key_name(key, q->opt->prefix, &len, &kind);
	if (len > LOCK_NAME)
		return;
	slot = key_slot(kind);
	for (const char *const *w = q->wanted; len > 0 && *w != NULL; w++)
		if (**w == '\0' ? slot > 0 : strcmp(kind, *w) == 0) {
			add_lock(q, s, name, len, slot > 0 ? slot : 1);
			s->names++;
		}
}

/* Ranges of slots, each with its first and last one, and its master. */
static void
read_masters(struct query_server *s, const struct reply *a)
{
	struct endpoint to;
	struct reply node;
	const char *host;
	long long port;
	int known;

	for (size_t r = 0; r < reply_count(a); r++) {
		const struct reply range = reply_sub(a, r);

		node = reply_sub(&range, 2);
		host = reply_string(&node, 0, NULL);
		port = reply_int(&node, 1);
		if (host == NULL || host[0] == '\0' || strcmp(host, "?") == 0)
			host = s->conn.at.host; /* it cannot say */
		if (strlen(host) >= sizeof(to.host) || port < 1 || port > 65535)
			continue;
		to.port = (int)port;
		snprintf(to.host, sizeof(to.host), "%s", host);
		for (known = 0; known < s->nmasters; known++)
			if (s->masters[known].port == to.port &&
			    strcmp(s->masters[known].host, to.host) == 0)
				break;
		if (known < s->nmasters)
			continue;
		s->masters = xreallocarray(
		    s->masters, (size_t)(s->nmasters + 1), sizeof(*s->masters));
		s->masters[s->nmasters++] = to;
	}
	if (s->nmasters == 0)
		query_server_malformed(s);
}

/*
 * SCAN's pattern: the prefix to the letter, with anything around it.  A cluster
 * is asked first who has keys, and then each of them.
 */
static int
ask_scan(struct query_server *s, size_t i)
{
	const char *const slots[] = { "CLUSTER", "SLOTS" };
	char pattern[2 * LOCK_NAME + 3], *to = pattern;
	const char *const argv[] = { "SCAN", s->cursor, "MATCH", pattern,
		"COUNT", "1000" };

	if (s->conn.address.kind == ADDRESS_CLUSTER) {
		if (s->nmasters == 0)
			return conn_command(&s->conn, (int)i, 2, slots);
		if (!conn_redirect(&s->conn, &s->masters[s->master]))
			return -1; /* it will be ready there */
	}
	*to++ = '*';
	for (const char *p = s->query->opt->prefix; *p != '\0'; p++) {
		if (strchr("*?[]\\^-", *p) != NULL)
			*to++ = '\\';
		*to++ = *p;
	}
	*to++ = '*';
	*to = '\0';
	return conn_command(&s->conn, (int)i, 6, argv);
}

/* Whether SCAN goes on: it has to come to an end, in time. */
static bool
scan_bounded(struct query_server *s)
{
	const struct query *q = s->query;
	char text[DURATION_TEXT], why[CONN_WHY];

	if (s->names > NAMES_MAX)
		snprintf(why, sizeof(why),
		    "it lists more than %d locks; -k names those to ask about",
		    NAMES_MAX);
	else if (clock_now_ms() > q->scan_end_ms)
		snprintf(why, sizeof(why),
		    "it has not listed all its keys within %s; -k names the "
		    "locks to ask about",
		    duration_format(
			SCAN_TIMEOUTS * q->opt->node_timeout_ms, text));
	else
		return true;
	query_server_fail(s, REPLY_ERROR, why);
	return false;
}

/* Whether it is one that can follow the last; "0" is the end. */
static bool
is_cursor(const struct query_server *s, const char *cursor)
{
	return cursor != NULL && cursor[0] != '\0' &&
	    strlen(cursor) < sizeof(s->cursor) &&
	    cursor[strspn(cursor, "0123456789")] == '\0' &&
	    (strcmp(cursor, "0") == 0 || strcmp(cursor, s->cursor) != 0);
}

static bool
scan_answered(struct query_server *s, size_t i, const struct reply *a)
{
	const char *cursor = reply_string(a, 0, NULL), *key;
	const struct reply keys = reply_sub(a, 1);
	size_t len;

	(void)i;
	if (query_server_error(s, a))
		return false;
	if (s->conn.address.kind == ADDRESS_CLUSTER && s->nmasters == 0) {
		read_masters(s, a);
		return s->nmasters > 0;
	}
	if (!is_cursor(s, cursor)) {
		query_server_malformed(s);
		return false;
	}
	snprintf(s->cursor, sizeof(s->cursor), "%s", cursor);
	for (size_t k = 0; k < reply_count(&keys); k++) {
		key = reply_string(&keys, k, &len);
		if (key != NULL && strlen(key) == len)
			found_key(s, key);
	}
	if (!scan_bounded(s))
		return false;
	return strcmp(cursor, "0") != 0 || ++s->master < s->nmasters;
}

/*
 * Drops what a server has named that failed then: the others need not be asked
 * about 100000 names that it has invented.
 */
static void
drop_failed(struct query *q)
{
	size_t n = 0;

	for (size_t i = 0; i < q->nlocks; i++) {
		if (q->locks[i].from->failure == REPLY_OK)
			q->locks[n++] = q->locks[i];
		else
			free(q->locks[i].name);
	}
	q->nlocks = n;
}

static int
compare_locks(const void *a, const void *b)
{
	return strcmp(((const struct query_lock *)a)->name,
	    ((const struct query_lock *)b)->name);
}

/* SCAN may name a key twice, and so do several servers, and slots. */
static void
sort_locks(struct query *q)
{
	struct query_lock *all = q->locks;
	size_t n = 0;

	if (q->nlocks == 0)
		return;
	qsort(all, q->nlocks, sizeof(*all), compare_locks);
	for (size_t i = 1; i < q->nlocks; i++) {
		if (strcmp(all[n].name, all[i].name) != 0) {
			all[++n] = all[i];
			continue;
		}
		if (all[i].slots > all[n].slots)
			all[n].slots = all[i].slots;
		free(all[i].name);
	}
	q->nlocks = n + 1;
}

static void
forget_locks(struct query *q)
{
	for (size_t i = 0; i < q->nlocks; i++)
		free(q->locks[i].name);
	free(q->locks);
	q->locks = NULL;
	q->nlocks = 0;
}

void
query_list_locks(struct query *q, const char *const wanted[])
{
	const struct options *opt = q->opt;

	forget_locks(q);
	for (int i = 0; i < q->nservers; i++)
		q->servers[i].bytes = q->servers[i].names = 0;
	for (int i = 0; i < opt->nnames; i++)
		add_lock(
		    q, NULL, opt->names[i], strlen(opt->names[i]), LOCK_SLOTS);
	if (opt->nnames > 0)
		return; /* in order, and each once */
	q->wanted = wanted;
	q->scan_end_ms =
	    clock_now_ms() + SCAN_TIMEOUTS * q->opt->node_timeout_ms;
	for (int i = 0; i < q->nservers; i++) {
		struct query_server *s = &q->servers[i];

		snprintf(s->cursor, sizeof(s->cursor), "0");
		s->nmasters = s->master = 0;
	}
	query_send(q, 1, ask_scan, scan_answered);
	drop_failed(q);
	sort_locks(q);
}

char *
query_server_why(const struct query_server *s, char buf[QUERY_WHY])
{
	snprintf(buf, QUERY_WHY, "%s: %s%s", s->conn.address.text, s->why,
	    s->query->opt->hint);
	return buf;
}

int
query_answering(const struct query *q)
{
	int working = 0;

	for (int i = 0; i < q->nservers; i++)
		working += q->servers[i].failure == REPLY_OK;
	return working;
}

int
query_report(const struct query *q, int *failures)
{
	int working = query_answering(q), result = EXIT_UNREACHABLE;
	char why[QUERY_WHY], rule[ACL_TEXT], password[ADVICE_PASSWORD];

	for (int i = 0; i < q->nservers; i++) {
		const struct query_server *s = &q->servers[i];

		if (s->failure == REPLY_OK)
			continue;
		warn("%s%s", query_server_why(s, why),
		    advice_password(password, q->opt, s->why));
		if (s->failure == REPLY_DENIED)
			result = EXIT_REFUSED;
		if (error_denies(s->why))
			warn("%s: the user needs %s", s->conn.address.text,
			    acl_text(rule, q->opt->prefix));
	}
	*failures = q->nservers - working;
	return working >= q->quorum ? 0 : result;
}

void
query_init(struct query *q, const struct options *opt)
{
	memset(q, 0, sizeof(*q));
	q->opt = opt;
	q->nservers = opt->naddresses;
	q->quorum = quorum_of(opt->naddresses);
	if (loop_init(&q->loop) == -1)
		die(EXIT_OS, "timerfd: %s", strerror(errno));
	q->servers = xcalloc((size_t)opt->naddresses, sizeof(*q->servers));
	for (int i = 0; i < opt->naddresses; i++) {
		struct query_server *s = &q->servers[i];

		s->query = q;
		s->failure = REPLY_OK;
		conn_init(&s->conn, &q->loop, &opt->addresses[i],
		    request_replied_cb, s);
		/*
		 * Many questions are on their way at a time, and a cluster's
		 * nodes do not share their scripts: none can be asked again.
		 */
		s->conn.no_evalsha = true;
		if (conn_resolve(&s->conn) == -1)
			query_server_fail(s, REPLY_LOST, s->conn.why);
	}
}

void
query_retry(struct query *q)
{
	for (int i = 0; i < q->nservers; i++) {
		struct query_server *s = &q->servers[i];

		/* What is still on its way would answer other questions. */
		if (s->failure != REPLY_OK)
			conn_close(&s->conn, NULL);
		s->failure = REPLY_OK;
		s->conn.untried = s->conn.nips > 0 ? s->conn.nips : 1;
	}
}

void
query_release(struct query *q)
{
	for (int i = 0; i < q->nservers; i++) {
		conn_release(&q->servers[i].conn);
		free(q->servers[i].masters);
	}
	forget_locks(q);
	free(q->servers);
	loop_release(&q->loop);
}
