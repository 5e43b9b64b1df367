/* A monitor shows one line, so everything is in it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/escape.h"
#include "base/exitcode.h"
#include "inspect/max_age.h"

#define LINE (4 * (QUERY_WHY + OWNER_FIELD))

/* Counts the failed runs that began after the last success, if any. */
static int
count_failed(const struct runs *runs, const struct past_run *success)
{
	size_t end = success == NULL ? runs->n : (size_t)(success - runs->run);
	int n = 0;

	for (size_t i = 0; i < end; i++)
		n += run_failed(&runs->run[i]);
	return n;
}

/* Names the first server that has failed. */
static int
report_unreachable(const struct query *q, const char *name)
{
	char why[QUERY_WHY], safe[LINE];
	const struct query_server *s = q->servers;

	while (s->failure == REPLY_OK)
		s++;
	query_server_why(s, why);
	printf("%s: too few servers answer: %s\n", name,
	    escape_text(safe, sizeof(safe), why, strlen(why)));
	return query_status(q);
}

int
max_age_check(const struct history *h)
{
	const struct options *opt = h->query.opt;
	const struct lock_runs *l = &h->locks[0];
	const struct past_run *success = runs_last_success(&l->runs);
	int failed = count_failed(&l->runs, success);
	char name[LINE], host[4 * OWNER_FIELD], age[DURATION_TEXT];
	int64_t age_ms;
	bool fresh;

	escape_text(name, sizeof(name), l->name, strlen(l->name));
	if (query_status(&h->query) != 0)
		return report_unreachable(&h->query, name);
	if (l->runs.n == 0) {
		printf("%s: no runs recorded in the last 30 days\n", name);
		return EXIT_TOO_OLD;
	}
	if (success == NULL) {
		printf("%s: no success recorded; %d failed\n", name, failed);
		return EXIT_TOO_OLD;
	}
	age_ms = l->now_ms - success->since_ms;
	fresh = age_ms <= opt->max_age_ms;
	if (fresh && opt->quiet)
		return 0;
	printf("%s: last success %s ago on %s", name,
	    duration_format(age_ms > 0 ? age_ms : 0, age),
	    escape_text(host, sizeof(host), success->owner.host,
		strlen(success->owner.host)));
	if (failed > 0)
		printf("; since then %d failed", failed);
	putchar('\n');
	return fresh ? 0 : EXIT_TOO_OLD;
}
