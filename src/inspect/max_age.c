/* A monitor shows one line, so everything is in it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/escape.h"
#include "base/exitcode.h"
#include "inspect/max_age.h"
#include "inspect/run_list.h"

#define LINE (4 * (QUERY_WHY + OWNER_FIELD))

/* The last success, and what came after it. */
struct record {
	const struct past_run *success; /* NULL: none */
	int failed;
};

static struct record
read_record(const struct lock_runs *l)
{
	struct record r = { 0 };

	for (size_t i = 0; i < l->runs.n && r.success == NULL; i++) {
		const struct past_run *run = &l->runs.run[i];

		if (run->ending == ENDED_EXITED && run->status == 0)
			r.success = run;
		r.failed += run_failed(run);
	}
	return r;
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
	struct record r = read_record(l);
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
	if (r.success == NULL) {
		printf("%s: no success recorded; %d failed\n", name, r.failed);
		return EXIT_TOO_OLD;
	}
	age_ms = l->now_ms - r.success->since_ms;
	fresh = age_ms <= opt->max_age_ms;
	if (fresh && opt->quiet)
		return 0;
	printf("%s: last success %s ago on %s", name,
	    duration_format(age_ms > 0 ? age_ms : 0, age),
	    escape_text(host, sizeof(host), r.success->owner.host,
		strlen(r.success->owner.host)));
	if (r.failed > 0)
		printf("; since then %d failed", r.failed);
	putchar('\n');
	return fresh ? 0 : EXIT_TOO_OLD;
}
