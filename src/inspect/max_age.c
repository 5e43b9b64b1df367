/* The text is one line, because a monitor shows only one. */
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/escape.h"
#include "base/exit.h"
#include "base/json.h"
#include "inspect/max_age.h"
#include "inspect/members.h"
#include "inspect/probe.h"
#include "redis/error.h"

#define LINE (4 * (QUERY_WHY + OWNER_FIELD))

/* What the history says about the last success of a lock. */
struct verdict {
	int status;                     /* for the exit */
	const struct past_run *success; /* NULL: none is recorded */
	int64_t age_ms;                 /* since it began; -1: none */
	int failed;                     /* runs that began after it */
	int skipped;
};

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

static struct verdict
judge(const struct query *q, const struct lock_runs *l)
{
	const struct runs *runs = &l->runs;
	struct verdict v = { .status = query_status(q),
		.success = runs_last_success(runs),
		.age_ms = -1 };
	size_t end =
	    v.success == NULL ? runs->n : (size_t)(v.success - runs->run);

	for (size_t i = 0; i < end; i++) {
		v.failed += runs_has_failed(&runs->run[i]);
		v.skipped += counts_as_skip(&runs->run[i], v.success);
	}
	if (v.success != NULL) {
		v.age_ms = l->now_ms - v.success->since_ms;
		v.age_ms = v.age_ms > 0 ? v.age_ms : 0;
	}
	if (v.status == 0 &&
	    (v.success == NULL || v.age_ms > q->opt->max_age_ms))
		v.status = EXIT_TOO_OLD;
	return v;
}

/* Returns the word for the exit status. */
static const char *
state_word(int status, const char *ok, const char *overdue, const char *unknown)
{
	return status == 0 ? ok : status == EXIT_TOO_OLD ? overdue : unknown;
}

/* Prints "; since then 1 failed, 2 skipped", or nothing. */
static void
print_rest(const struct verdict *v)
{
	const char *before = v->success == NULL ? "; " : "; since then ";

	if (v->failed > 0) {
		printf("%s%d failed", before, v->failed);
		before = ", ";
	}
	if (v->skipped > 0)
		printf("%s%d skipped", before, v->skipped);
}

/* Prints why the first server that has failed did so. */
static void
print_unreachable(struct query *q)
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
	printf("too few servers answer: %s",
	    escape_text(safe, sizeof(safe), text, strlen(text)));
}

static void
print_success(const struct options *opt, const struct verdict *v)
{
	char host[4 * OWNER_FIELD], age[DURATION_TEXT];
	size_t len = strlen(opt->max_age);

	printf("last success %s ago on %s", duration_format(v->age_ms, age),
	    escape_text(host, sizeof(host), v->success->owner.host,
		strlen(v->success->owner.host)));
	if (v->status != 0) /* a bare number is seconds */
		printf(", more than %s%s", opt->max_age,
		    strchr("dhms", opt->max_age[len - 1]) == NULL ? "s" : "");
	print_rest(v);
}

static void
print_line(struct query *q, const struct lock_runs *l, const struct verdict *v)
{
	char name[LINE];

	printf("%s: %s: ",
	    escape_text(name, sizeof(name), l->name, strlen(l->name)),
	    state_word(v->status, "OK", "OVERDUE", "UNKNOWN"));
	if (v->status != 0 && v->status != EXIT_TOO_OLD)
		print_unreachable(q);
	else if (l->runs.n == 0)
		printf("no runs recorded in the last 30 days");
	else if (v->success == NULL) {
		printf("no success recorded");
		print_rest(v);
	} else
		print_success(q->opt, v);
	putchar('\n');
}

static void
print_json(const struct query *q, const struct lock_runs *l,
    const struct verdict *v)
{
	struct json j = { .out = stdout };
	const struct past_run *run = v->success;

	members_begin(&j);
	members_servers(&j, q);
	json_string(&j, "name", l->name);
	json_string(&j, "state",
	    state_word(v->status, "ok", "overdue", "unknown"));
	json_number(&j, "max_age_ms", q->opt->max_age_ms, 0);
	json_number(&j, "age_ms", v->age_ms, 0);
	if (run == NULL) {
		json_string(&j, "last_success", NULL);
	} else {
		json_object(&j, "last_success");
		json_string(&j, "token", run->owner.token);
		members_owner(&j, &run->owner);
		json_time(&j, "since", run->since_ms);
		json_number(&j, "waited_ms", run->waited_ms, 0);
		json_number(&j, "ran_ms", run->ran_ms, 0);
		json_end(&j);
	}
	json_number(&j, "failed", v->failed, 0);
	json_number(&j, "skipped", v->skipped, 0);
	json_end(&j);
}

int
max_age_check(struct history *h)
{
	const struct options *opt = h->query.opt;
	const struct lock_runs *l;
	struct verdict v;

	history_next(h, 1);
	l = &h->locks[0];
	v = judge(&h->query, l);
	if (v.status == 0 && opt->quiet)
		return 0;
	if (opt->json)
		print_json(&h->query, l, &v);
	else
		print_line(&h->query, l, &v);
	return v.status;
}
