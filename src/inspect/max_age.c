/* Everything is in one line, because a monitor shows only one. */
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/escape.h"
#include "base/exit.h"
#include "inspect/max_age.h"
#include "inspect/probe.h"
#include "redis/error.h"

#define REST 48
#define LINE (4 * (QUERY_WHY + OWNER_FIELD))

/*
 * Whether the run was skipped for another reason than the last success itself.
 */
static bool
counts_as_skip(const struct past_run *run, const struct past_run *success)
{
	return run->skip != NULL &&
	    (success == NULL ||
		strcmp(run->skip->holder.token, success->owner.token) != 0);
}

/*
 * Counts the runs that began after the last success, if there is one: "1
 * failed, 2 skipped", or "".  Returns text.
 */
static char *
describe_rest(const struct runs *runs, const struct past_run *success,
    char text[REST])
{
	size_t end = success == NULL ? runs->n : (size_t)(success - runs->run);
	int failed = 0, skipped = 0;
	size_t used = 0;

	for (size_t i = 0; i < end; i++) {
		failed += runs_has_failed(&runs->run[i]);
		skipped += counts_as_skip(&runs->run[i], success);
	}
	text[0] = '\0';
	if (failed > 0)
		used = (size_t)snprintf(text, REST, "%d failed", failed);
	if (skipped > 0)
		snprintf(text + used, REST - used, "%s%d skipped",
		    used > 0 ? ", " : "", skipped);
	return text;
}

/* Reports the first server that has failed.  Returns the exit status. */
static int
report_unreachable(struct query *q, const char *name)
{
	char why[QUERY_WHY], rule[ACL_TEXT],
	    text[QUERY_WHY + ADDRESS_SECRET + ACL_TEXT + 40];
	char safe[4 * sizeof(text)];
	int i = 0;

	while (q->servers[i].failure == REPLY_OK)
		i++;
	query_server_why(&q->servers[i], why);
	if (error_denies(why))
		snprintf(text, sizeof(text),
		    "%s; allow it with: ACL SETUSER %s %s", why,
		    address_user(&q->servers[i].conn.address),
		    probe_missing(q, i, acl_asking(RIGHTS_ALL), rule));
	else
		snprintf(text, sizeof(text), "%s", why);
	printf("%s: too few servers answer: %s\n", name,
	    escape_text(safe, sizeof(safe), text, strlen(text)));
	return query_status(q);
}

int
max_age_check(struct history *h)
{
	const struct options *opt = h->query.opt;
	const struct lock_runs *l;
	const struct past_run *success;
	char name[LINE], host[4 * OWNER_FIELD], age[DURATION_TEXT], rest[REST];
	int64_t age_ms;
	bool fresh;

	history_next(h, 1);
	l = &h->locks[0];
	success = runs_last_success(&l->runs);
	escape_text(name, sizeof(name), l->name, strlen(l->name));
	if (query_status(&h->query) != 0)
		return report_unreachable(&h->query, name);
	describe_rest(&l->runs, success, rest);
	if (l->runs.n == 0) {
		printf("%s: no runs recorded in the last 30 days\n", name);
		return EXIT_TOO_OLD;
	}
	if (success == NULL) {
		printf("%s: no success recorded%s%s\n", name,
		    rest[0] != '\0' ? "; " : "", rest);
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
	printf("%s%s\n", rest[0] != '\0' ? "; since then " : "", rest);
	return fresh ? 0 : EXIT_TOO_OLD;
}
