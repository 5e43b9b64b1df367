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

/* What the servers tell about the last success of a lock. */
struct verdict {
	int status; /* for the exit */
	struct last_success last;
	const struct past_run *run; /* the success in the history, or NULL */
	int failed;                 /* runs that began after it */
	int skipped;
	bool all_failed; /* the records go back to it, so these are all */
	bool all_skipped;
};

/*
 * Whether the run was skipped for another reason than the last success itself.
 */
static bool
counts_as_skip(const struct past_run *run, const struct success *success)
{
	return run->skip != NULL &&
	    (success == NULL ||
		strcmp(run->skip->holder.token, success->owner.token) != 0);
}

/* Counts the runs that began after the last success, newest first. */
static void
count_since(struct verdict *v, const struct lock_runs *l)
{
	const struct success *success = v->last.it;
	int64_t since_ms =
	    success == NULL ? INT64_MIN : success->owner.since_ms;

	for (size_t i = 0; i < l->runs.n && v->run == NULL; i++) {
		const struct past_run *run = &l->runs.run[i];

		if (success != NULL &&
		    strcmp(run->owner.token, success->owner.token) == 0)
			v->run = run;
		else if (run->since_ms >= since_ms) {
			v->failed += runs_has_failed(run);
			v->skipped += counts_as_skip(run, success);
		}
	}
	/* Without a success all that the records may hold counts. */
	v->all_failed = l->runs_from_ms <= since_ms || v->run != NULL ||
	    (success == NULL && l->runs_from_ms <= l->now_ms - HISTORY_MS);
	v->all_skipped = l->skips_from_ms <= since_ms ||
	    (success == NULL && l->skips_from_ms <= l->now_ms - HISTORY_MS);
}

static int
judge_age(const struct query *q, const struct last_success *last)
{
	int status = query_status(q);

	if (status != 0)
		return status;
	return last->age_ms <= q->opt->max_age_ms ? 0 :
	    last->least_ms > q->opt->max_age_ms   ? EXIT_TOO_OLD :
						    EXIT_UNREACHABLE;
}

static struct verdict
judge(const struct query *q, const struct lock_runs *l)
{
	struct verdict v = { .last = success_judge(l->successes, q->nservers,
				 q->quorum) };

	v.status = judge_age(q, &v.last);
	count_since(&v, l);
	return v;
}

/* Returns the word for the exit status. */
static const char *
state_word(int status, const char *ok, const char *overdue, const char *unknown)
{
	return status == 0 ? ok : status == EXIT_TOO_OLD ? overdue : unknown;
}

static void
print_count(const char *before, int n, bool all, const char *what)
{
	printf("%s%s%d %s", before, all ? "" : "at least ", n, what);
}

/* Prints "; since then 1 failed, 2 skipped", or nothing. */
static void
print_rest(const struct verdict *v)
{
	const char *before = v->last.it == NULL ? "; " : "; since then ";

	if (v->failed > 0) {
		print_count(before, v->failed, v->all_failed, "failed");
		before = ", ";
	}
	if (v->skipped > 0)
		print_count(before, v->skipped, v->all_skipped, "skipped");
}

/* Returns the first server that has failed, or NULL. */
static struct query_server *
first_failed(struct query *q)
{
	for (struct query_server *s = q->servers; s < q->end; s++)
		if (s->failure != REPLY_OK)
			return s;
	return NULL;
}

/* Prints why the first server that has failed did so. */
static void
print_unreachable(struct query *q)
{
	char why[QUERY_WHY], rule[ACL_TEXT],
	    text[QUERY_WHY + ADDRESS_SECRET + ACL_TEXT + 40];
	char safe[4 * sizeof(text)];
	struct query_server *s = first_failed(q);

	printf("too few servers answer: ");
	if (s == NULL) {
		printf("a key of this lock has another type");
		return;
	}
	query_server_why(s, why);
	if (error_denies(why))
		snprintf(text, sizeof(text),
		    "%s; allow it with: ACL SETUSER %s %s", why,
		    address_user(&s->conn.address),
		    probe_missing(q, (int)(s - q->servers),
			acl_asking(RIGHTS_ALL), rule));
	else
		snprintf(text, sizeof(text), "%s", why);
	printf("%s", escape_text(safe, sizeof(safe), text, strlen(text)));
}

static void
print_success(const struct options *opt, const struct verdict *v)
{
	const struct owner *by = &v->last.it->owner;
	char host[4 * OWNER_FIELD], age[DURATION_TEXT];
	size_t len = strlen(opt->max_age);

	printf("last success %s ago on %s",
	    duration_format(v->last.age_ms, age),
	    escape_text(host, sizeof(host), by->host, strlen(by->host)));
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
	else if (v->last.it == NULL && l->runs.n == 0)
		printf("no runs recorded in the last 30 days");
	else if (v->last.it == NULL) {
		printf("no success recorded");
		print_rest(v);
	} else
		print_success(q->opt, v);
	putchar('\n');
}

/* A success has no message, version and wait; its run in the history has. */
static void
json_success(struct json *j, const struct verdict *v)
{
	struct owner owner = v->last.it->owner;

	if (v->run != NULL) {
		snprintf(owner.version, sizeof(owner.version), "%s",
		    v->run->owner.version);
		snprintf(owner.message, sizeof(owner.message), "%s",
		    v->run->owner.message);
	}
	json_object(j, "last_success");
	json_string(j, "token", owner.token);
	members_owner(j, &owner);
	json_time(j, "since", owner.since_ms);
	json_number(j, "waited_ms", v->run == NULL ? -1 : v->run->waited_ms, 0);
	json_number(j, "ran_ms", v->last.it->ran_ms, 0);
	json_end(j);
}

static void
print_json(const struct query *q, const struct lock_runs *l,
    const struct verdict *v)
{
	struct json j = { .out = stdout };
	bool certain = v->last.certain;

	members_begin(&j);
	members_servers(&j, q);
	json_string(&j, "name", l->name);
	json_string(&j, "state",
	    state_word(v->status, "ok", "overdue", "unknown"));
	json_number(&j, "max_age_ms", q->opt->max_age_ms, 0);
	json_number(&j, "age_ms",
	    certain && v->last.it != NULL ? v->last.age_ms : -1, 0);
	if (certain && v->last.it != NULL)
		json_success(&j, v);
	else
		json_string(&j, "last_success", NULL);
	json_number(&j, "failed", certain && v->all_failed ? v->failed : -1, 0);
	json_number(&j, "skipped", certain && v->all_skipped ? v->skipped : -1,
	    0);
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
	if (v.status == 0 && opt->quiet && !opt->json)
		return 0;
	if (opt->json)
		print_json(&h->query, l, &v);
	else
		print_line(&h->query, l, &v);
	return v.status;
}
