/*
 * Finds the locks under a prefix with SCAN, on every server; in a cluster on
 * each master.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/xalloc.h"
#include "inspect/scan.h"
#include "protocol/key.h"

#define NAMES_MAX     100000
#define SCAN_TIMEOUTS 20 /* node timeouts for the whole SCAN */
#define SCAN_PATTERN  (2 * LOCK_NAME + 3)

static void
found_key(struct query_server *s, const char *key)
{
	struct query *q = s->query;
	const char *kind = "", *name;
	size_t len;
	int slot;

	name = key_name(key, q->opt->settings.prefix, &len, &kind);
	if (len > LOCK_NAME)
		return;
	slot = key_slot(kind);
	for (const char *const *w = q->wanted; len > 0 && *w != NULL; w++)
		if (**w == '\0' ? slot > 0 : strcmp(kind, *w) == 0) {
			query_add_lock(q, s, name, len, slot > 0 ? slot : 1);
			s->scan.names++;
		}
}

static void
add_master(struct scan *scan, const char *host, int port)
{
	struct endpoint *to;

	for (int i = 0; i < scan->nmasters; i++)
		if (scan->masters[i].port == port &&
		    strcmp(scan->masters[i].host, host) == 0)
			return;
	scan->masters = xreallocarray(scan->masters, (size_t)scan->nmasters + 1,
	    sizeof(*scan->masters));
	to = &scan->masters[scan->nmasters++];
	to->port = port;
	snprintf(to->host, sizeof(to->host), "%s", host);
}

/* Reads ranges of hash slots: first and last slot, the master, its replicas. */
static void
read_masters(struct query_server *s, const struct reply *a)
{
	for (size_t r = 0; r < reply_count(a); r++) {
		const struct reply range = reply_sub(a, r);
		const struct reply node = reply_sub(&range, 2);
		const char *host = reply_string(&node, 0, NULL);
		long long port = reply_int(&node, 1);

		/* A node that does not know its own address omits it. */
		if (host == NULL || host[0] == '\0' || strcmp(host, "?") == 0)
			host = s->conn.at.host;
		if (strlen(host) < ADDRESS_HOST && port > 0 && port < 65536)
			add_master(&s->scan, host, (int)port);
	}
	if (s->scan.nmasters == 0)
		query_server_malformed(s);
}

/*
 * Writes SCAN's pattern: the prefix anywhere in a key, with wildcards escaped.
 */
static void
write_pattern(char pattern[SCAN_PATTERN], const char *prefix)
{
	char *to = pattern;

	*to++ = '*';
	for (const char *p = prefix; *p != '\0'; p++) {
		if (strchr("*?[]\\^-", *p) != NULL)
			*to++ = '\\';
		*to++ = *p;
	}
	*to++ = '*';
	*to = '\0';
}

/* Sends CLUSTER SLOTS first in a cluster, then SCAN to each master. */
static int
send_scan(struct query_server *s, size_t i)
{
	const char *const slots[] = { "CLUSTER", "SLOTS" };
	char pattern[SCAN_PATTERN];
	struct scan *scan = &s->scan;
	const char *const argv[] = { "SCAN", scan->cursor, "MATCH", pattern,
		"COUNT", "1000" };

	if (s->conn.address.kind == ADDRESS_CLUSTER) {
		if (scan->nmasters == 0)
			return conn_command(&s->conn, (int)i, 2, slots);
		if (!conn_redirect(&s->conn, &scan->masters[scan->master]))
			return -1; /* it becomes ready on that master */
	}
	write_pattern(pattern, s->query->opt->settings.prefix);
	return conn_command(&s->conn, (int)i, 6, argv);
}

/* Compares names, and those of one name by their servers. */
static int
compare_locks(const void *a, const void *b)
{
	const struct query_lock *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order != 0      ? order :
	    x->from != y->from ? (x->from < y->from ? -1 : 1) :
				 0;
}

/*
 * Sorts the locks and merges duplicates: SCAN may repeat keys, a lock has
 * several keys, and unless each server's locks are counted it may be on several
 * servers.
 */
static void
merge_locks(struct query *q, bool each_server)
{
	struct query_lock *all = q->locks;
	size_t n = 0;

	if (q->nlocks == 0)
		return;
	qsort(all, q->nlocks, sizeof(*all), compare_locks);
	for (size_t i = 1; i < q->nlocks; i++) {
		if (strcmp(all[n].name, all[i].name) != 0 ||
		    (each_server && all[n].from != all[i].from)) {
			all[++n] = all[i];
			continue;
		}
		if (all[i].slots > all[n].slots)
			all[n].slots = all[i].slots;
		free(all[i].name);
	}
	q->nlocks = n + 1;
}

/*
 * Whether the server lists more locks than we take.  Merges them only when it
 * has twice as many keys, or all, because sorting takes time.
 */
static bool
lists_too_many(struct query_server *s, bool all)
{
	struct query *q = s->query;

	if (s->scan.names <= (all ? NAMES_MAX : 2 * NAMES_MAX))
		return false;
	merge_locks(q, true);
	s->scan.names = 0;
	for (size_t i = 0; i < q->nlocks; i++)
		s->scan.names += q->locks[i].from == s;
	return s->scan.names > NAMES_MAX;
}

/*
 * Fails a server whose SCAN takes too long or finds too much; all is whether it
 * has ended.  Returns whether it did not.
 */
static bool
scan_bounded(struct query_server *s, bool all)
{
	const struct query *q = s->query;
	char text[DURATION_TEXT], why[CONN_WHY];

	if (lists_too_many(s, all))
		snprintf(why, sizeof(why),
		    "it lists more than %d locks; name some with -k",
		    NAMES_MAX);
	else if (clock_now_ms() > q->scan_end_ms)
		snprintf(why, sizeof(why),
		    "its keys were not all listed within %s; name locks with -k",
		    duration_format(SCAN_TIMEOUTS *
			    q->opt->settings.node_timeout_ms,
			text));
	else
		return true;
	query_server_fail(s, REPLY_ERROR, why);
	return false;
}

/* Whether cursor can follow the last one; "0" ends the SCAN. */
static bool
is_cursor(const struct query_server *s, const char *cursor)
{
	return cursor != NULL && cursor[0] != '\0' &&
	    strlen(cursor) < sizeof(s->scan.cursor) &&
	    cursor[strspn(cursor, "0123456789")] == '\0' &&
	    (strcmp(cursor, "0") == 0 || strcmp(cursor, s->scan.cursor) != 0);
}

static bool
scan_replied(struct query_server *s, size_t i, const struct reply *a)
{
	const char *cursor = reply_string(a, 0, NULL), *key;
	const struct reply keys = reply_sub(a, 1);
	bool all;
	size_t len;

	(void)i;
	if (query_server_error(s, a))
		return false;
	if (s->conn.address.kind == ADDRESS_CLUSTER && s->scan.nmasters == 0) {
		read_masters(s, a);
		return s->scan.nmasters > 0;
	}
	if (!is_cursor(s, cursor))
		return query_server_malformed(s);
	snprintf(s->scan.cursor, sizeof(s->scan.cursor), "%s", cursor);
	for (size_t k = 0; k < reply_count(&keys); k++) {
		key = reply_string(&keys, k, &len);
		if (key != NULL && strlen(key) == len)
			found_key(s, key);
	}
	if (strcmp(cursor, "0") == 0)
		s->scan.master++;
	all = strcmp(cursor, "0") == 0 && s->scan.master >= s->scan.nmasters;
	return scan_bounded(s, all) && !all;
}

/*
 * Drops the names from servers that failed during their SCAN, so that the
 * others get no requests about 100000 names that one server made up.
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

/*
 * Without locks no script is sent, and a user without EVAL would seem to see all.
 */
static int
send_eval(struct query_server *s, size_t i)
{
	char key[LOCK_KEY], aux[LOCK_KEY];
	const char *const argv[] = { "EVAL", "return 0", "1", key };

	key_names(key, aux, s->query->opt->settings.prefix, "none");
	return conn_command(&s->conn, (int)i, 4, argv);
}

static bool
eval_replied(struct query_server *s, size_t i, const struct reply *a)
{
	(void)i;
	query_server_error(s, a);
	return false;
}

void
scan_locks(struct query *q, const char *const wanted[])
{
	const struct options *opt = q->opt;

	query_forget_locks(q);
	q->wanted = wanted;
	q->scan_end_ms =
	    clock_now_ms() + SCAN_TIMEOUTS * q->opt->settings.node_timeout_ms;
	for (struct query_server *s = q->servers; s < q->end; s++) {
		s->bytes = s->kept = s->scan.names = 0;
		s->scan.nmasters = s->scan.master = 0;
		snprintf(s->scan.cursor, sizeof(s->scan.cursor), "0");
	}
	for (int i = 0; i < opt->names.n; i++)
		query_add_lock(q, NULL, opt->names.name[i],
		    strlen(opt->names.name[i]), LOCK_SLOTS);
	if (opt->names.n > 0)
		return; /* sorted and unique already */
	query_send(q, 1, send_scan, scan_replied);
	drop_failed(q);
	merge_locks(q, false);
	if (q->nlocks == 0)
		query_send(q, 1, send_eval, eval_replied);
}
