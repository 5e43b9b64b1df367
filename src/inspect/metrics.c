/*
 * Reads the state and the runs of all locks.  Prints gauge by gauge, as the
 * format requires.  An unknown value has no sample, since a wrong 0 would be
 * worse.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/die.h"
#include "base/escape.h"
#include "base/exit.h"
#include "base/xalloc.h"
#include "inspect/metrics.h"
#include "inspect/report.h"
#include "inspect/status.h"
#include "protocol/key.h"
#include "redis/error.h"

#define SIGNAL_STATUS 128 /* added to a signal's number, as shells do */
#define TEXT          (ADDRESS_TEXT + LOCK_NAME) /* for either */
#define LABEL         (16 * TEXT + 1)
#define GAUGES        9 /* of a lock */

/* The values of a lock; known has a bit for each that has one. */
struct gauge_row {
	const char *name; /* owned by the query */
	uint32_t known;
	int64_t value[GAUGES];
};

struct metrics {
	struct status status;
	struct gauge_row *rows; /* one for each lock read so far */
	size_t nrows;
	int64_t *sent_us; /* when TIME was sent to each server */
	int64_t *rtt_us;  /* -1: unknown */
};

/* The data of a lock's gauges. */
struct gauge_lock {
	const struct lock_info *info;
	const struct past_run *ended;  /* the last to end, or NULL */
	const struct success *success; /* the last for certain, or NULL */
	const struct past_run *skip;   /* the last that was skipped, or NULL */
};

/* Stores the value and returns true, or returns false if it is unknown. */
typedef bool gauge_value_fn(const struct gauge_lock *, int64_t *value);

static bool
holders_value(const struct gauge_lock *s, int64_t *value)
{
	*value = (int64_t)s->info->nholders;
	return s->info->state != STATE_UNKNOWN;
}

static bool
waiters_value(const struct gauge_lock *s, int64_t *value)
{
	if (s->info->sample == NULL)
		return false;
	*value = s->info->sample->waiting;
	return true;
}

static bool
lease_value(const struct gauge_lock *s, int64_t *value)
{
	*value = s->info->ttl_ms;
	return s->info->nholders > 0 && *value >= 0;
}

static bool
held_value(const struct gauge_lock *s, int64_t *value)
{
	if (s->info->nholders == 0)
		return false;
	*value = status_holder_age_ms(s->info, &s->info->holders[0]);
	return *value >= 0;
}

static bool
start_value(const struct gauge_lock *s, int64_t *value)
{
	*value = s->ended == NULL ? -1 : s->ended->since_ms;
	return *value >= 0;
}

static bool
duration_value(const struct gauge_lock *s, int64_t *value)
{
	*value = s->ended == NULL ? -1 : s->ended->ran_ms;
	return *value >= 0;
}

static bool
status_value(const struct gauge_lock *s, int64_t *value)
{
	if (s->ended == NULL)
		return false;
	switch (s->ended->ending) {
	case ENDED_MAX_RUN:
		*value = EXIT_MAX_RUN;
		return true;
	case ENDED_LOST:
		*value = EXIT_LOST;
		return true;
	case ENDED_DIED:
		*value = -1;
		return true;
	case ENDED_EXITED:
	case ENDED_KILLED:
	case ENDED_NOT_RUN:
	case ENDED_OTHER:
		break;
	case ENDED_UNKNOWN:
	case ENDED_RUNNING:
	case ENDED_SKIPPED:
		return false;
	}
	*value = s->ended->signal >= 0 ? SIGNAL_STATUS + s->ended->signal :
					 s->ended->status;
	return *value >= 0;
}

static bool
success_value(const struct gauge_lock *s, int64_t *value)
{
	*value = s->success == NULL ? -1 : s->success->owner.since_ms;
	return *value >= 0;
}

static bool
skip_value(const struct gauge_lock *s, int64_t *value)
{
	*value = s->skip == NULL ? -1 : s->skip->since_ms;
	return *value >= 0;
}

static const struct gauge {
	const char *name;
	const char *help;
	bool seconds; /* the value is in ms */
	gauge_value_fn *value;
} gauges[GAUGES] = {
	{ "redlock_lock_holders", "Runs that hold the lock.", false,
	    holders_value },
	{ "redlock_lock_waiters", "Runs that wait for the lock.", false,
	    waiters_value },
	{ "redlock_lock_lease_seconds", "What is left of the lease.", true,
	    lease_value },
	{ "redlock_lock_held_seconds",
	    "For how long the oldest holder has held the lock.", true,
	    held_value },
	{ "redlock_last_run_start_timestamp_seconds",
	    "When the last run that has ended began.", true, start_value },
	{ "redlock_last_run_duration_seconds", "For how long that run ran.",
	    true, duration_value },
	{ "redlock_last_run_status",
	    "Its exit status; 128 plus the signal that killed it; -1 if it "
	    "never reported its end.",
	    false, status_value },
	{ "redlock_last_success_timestamp_seconds",
	    "When the last run that ended with status 0 began.", true,
	    success_value },
	{ "redlock_last_skip_timestamp_seconds",
	    "When the last run that did not get the lock was refused.", true,
	    skip_value },
};

/*
 * Writes text as the value of a label.  Backslashes are doubled before the rest
 * is escaped, so different names have different labels.
 */
static char *
escape_label(char label[LABEL], const char *text)
{
	char doubled[2 * TEXT + 1], safe[8 * TEXT + 1];
	size_t n = 0;

	for (; *text != '\0' && n + 2 < sizeof(doubled); text++) {
		if (*text == '\\')
			doubled[n++] = '\\';
		doubled[n++] = *text;
	}
	escape_text(safe, sizeof(safe), doubled, n);
	n = 0;
	for (const char *p = safe; *p != '\0' && n + 2 < LABEL; p++) {
		if (*p == '\\' || *p == '"')
			label[n++] = '\\';
		label[n++] = *p;
	}
	label[n] = '\0';
	return label;
}

static void
print_head(const char *name, const char *help)
{
	printf("# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

/* Whether the server has accepted us, and not fallen silent since then. */
static bool
is_up(const struct metrics *m, int server)
{
	return m->rtt_us[server] >= 0 &&
	    m->status.query.servers[server].failure != REPLY_LOST;
}

static void
print_servers(const struct metrics *m)
{
	const struct query *q = &m->status.query;
	char label[LABEL];

	print_head("redlock_server_up", "Whether the server replied.");
	for (int i = 0; i < q->nservers; i++)
		printf("redlock_server_up{server=\"%s\"} %d\n",
		    escape_label(label, q->servers[i].conn.address.text),
		    is_up(m, i));
	print_head("redlock_server_locks_listed",
	    "Whether the server listed its locks and their history.");
	for (int i = 0; i < q->nservers; i++)
		printf("redlock_server_locks_listed{server=\"%s\"} %d\n",
		    escape_label(label, q->servers[i].conn.address.text),
		    q->servers[i].failure == REPLY_OK);
	print_head("redlock_server_round_trip_seconds",
	    "The time from a request to its reply.");
	for (int i = 0; i < q->nservers; i++)
		if (m->rtt_us[i] >= 0)
			printf("redlock_server_round_trip_seconds"
			       "{server=\"%s\"} %" PRId64 ".%06" PRId64 "\n",
			    escape_label(label,
				q->servers[i].conn.address.text),
			    m->rtt_us[i] / 1000000, m->rtt_us[i] % 1000000);
}

static void
print_gauge(int number, const struct gauge_row rows[], size_t n)
{
	const struct gauge *g = &gauges[number];
	char label[LABEL];

	print_head(g->name, g->help);
	for (size_t i = 0; i < n; i++) {
		int64_t value = rows[i].value[number];

		if (!(rows[i].known >> number & 1))
			continue;
		printf("%s{lock=\"%s\"} ", g->name,
		    escape_label(label, rows[i].name));
		if (g->seconds)
			printf("%" PRId64 ".%03" PRId64 "\n", value / 1000,
			    value % 1000);
		else
			printf("%" PRId64 "\n", value);
	}
}

/* Returns the last success, or NULL if there is none or a later one may be. */
static const struct success *
last_success(const struct query *q, const struct lock_info *l)
{
	struct last_success last =
	    success_judge(l->successes, q->nservers, q->quorum);

	return last.certain ? last.it : NULL;
}

/* Keeps the values of the locks that were read last. */
static void
add_rows(struct metrics *m)
{
	size_t n = m->status.nlocks;

	m->rows = xreallocarray(m->rows, m->nrows + n, sizeof(*m->rows));
	for (size_t i = 0; i < n; i++) {
		const struct lock_info *l = &m->status.locks[i];
		struct gauge_row *row = &m->rows[m->nrows++];
		struct gauge_lock lock = { .info = l,
			.ended = runs_last_ended(&l->runs),
			.success = last_success(&m->status.query, l),
			.skip = runs_last_skip(&l->runs) };

		*row = (struct gauge_row){ .name = l->name };
		for (int g = 0; g < GAUGES; g++)
			if (gauges[g].value(&lock, &row->value[g]))
				row->known |= 1U << g;
	}
}

static int
send_time(struct query_server *s, size_t i)
{
	const char *const argv[] = { "TIME" };
	struct metrics *m = s->query->arg;

	m->sent_us[s - s->query->servers] = clock_now_us();
	return conn_command(&s->conn, (int)i, 1, argv);
}

static bool
time_replied(struct query_server *s, size_t i, const struct reply *a)
{
	struct metrics *m = s->query->arg;
	int server = (int)(s - s->query->servers);

	(void)i;
	/* The scripts show whether TIME alone is refused, or the user. */
	if (a->kind == REPLY_DENIED && !error_denies(a->text))
		query_server_fail(s, a->kind, a->text);
	else
		m->rtt_us[server] = clock_now_us() - m->sent_us[server];
	return false;
}

static void
read_servers(struct metrics *m)
{
	struct query *q = &m->status.query;

	m->sent_us = xcalloc((size_t)q->nservers, sizeof(*m->sent_us));
	m->rtt_us = xcalloc((size_t)q->nservers, sizeof(*m->rtt_us));
	for (int i = 0; i < q->nservers; i++)
		m->rtt_us[i] = -1;
	q->arg = m;
	query_send(q, 1, send_time, time_replied);
	q->arg = &m->status;
}

/* A server that is silent has its gauge; one that refuses explains itself. */
static void
report_unread(const struct metrics *m)
{
	const struct query *q = &m->status.query;

	for (int i = 0; i < q->nservers; i++)
		if (q->servers[i].failure != REPLY_LOST)
			report_server(&q->servers[i], true);
}

int
metrics_run(const struct options *opt)
{
	struct metrics m = { 0 };

	status_init(&m.status, opt);
	m.status.with_runs = true;
	/* First, since a server that does not list its locks is up. */
	read_servers(&m);
	status_list(&m.status);
	/* Of the locks only their values stay in memory. */
	while (status_next(&m.status, QUERY_WINDOW))
		add_rows(&m);
	report_unread(&m);
	print_servers(&m);
	if (query_status(&m.status.query) == 0)
		for (int g = 0; g < GAUGES; g++)
			print_gauge(g, m.rows, m.nrows);
	die_unless_flushed();
	free(m.sent_us);
	free(m.rtt_us);
	free(m.rows);
	status_release(&m.status);
	return 0;
}
