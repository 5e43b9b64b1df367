/*
 * Finds the locks under a prefix by SCAN, on every server; in a cluster on each
 * of its masters.
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
#define SCAN_TIMEOUTS 20 /* node timeouts that SCAN may take in all */

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
			query_add_lock(q, s, name, len, slot > 0 ? slot : 1);
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
send_scan(struct query_server *s, size_t i)
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
scan_replied(struct query_server *s, size_t i, const struct reply *a)
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

void
scan_locks(struct query *q, const char *const wanted[])
{
	const struct options *opt = q->opt;

	query_forget_locks(q);
	for (int i = 0; i < q->nservers; i++)
		q->servers[i].bytes = q->servers[i].names = 0;
	for (int i = 0; i < opt->nnames; i++)
		query_add_lock(
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
	query_send(q, 1, send_scan, scan_replied);
	drop_failed(q);
	sort_locks(q);
}
