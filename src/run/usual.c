/*
 * An estimate for a user who waits: one server, one attempt, and no message
 * about a failure.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "inspect/runlog.h"
#include "run/usual.h"

static int
compare_ms(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Returns how long the median of the ended runs took; -1: there are none. */
static int64_t
median_ms(const struct runs *runs)
{
	int64_t *ran_ms = xcalloc(runs->n + 1, sizeof(*ran_ms)), median = -1;
	size_t n = 0;

	for (size_t i = 0; i < runs->n; i++)
		if (runs->run[i].ran_ms >= 0)
			ran_ms[n++] = runs->run[i].ran_ms;
	if (n > 0) {
		qsort(ran_ms, n, sizeof(*ran_ms), compare_ms);
		median = ran_ms[n / 2];
	}
	free(ran_ms);
	return median;
}

static void
reply_cb(void *arg, const struct reply *reply)
{
	struct usual *u = arg;
	struct runs runs = { 0 };

	runlog_read(&runs, 0, reply);
	u->median_ms = median_ms(&runs);
	runs_release(&runs);
	u->state = USUAL_DONE;
}

void
usual_init(struct usual *u, struct loop *loop, const struct options *opt)
{
	memset(u, 0, sizeof(*u));
	u->prefix = opt->settings.prefix;
	u->slots = opt->capacity;
	u->timeout_ms = opt->settings.node_timeout_ms;
	u->median_ms = -1;
	conn_init(&u->conn, loop, &opt->servers.address[0], reply_cb, u);
	u->conn.no_evalsha = true; /* the request is never repeated */
	if (conn_resolve(&u->conn) == -1)
		u->state = USUAL_DONE;
}

void
usual_release(struct usual *u)
{
	conn_release(&u->conn);
}

void
usual_begin(struct usual *u, const char *name)
{
	if (u->state != USUAL_IDLE)
		return;
	u->name = name;
	u->end_ms = clock_now_ms() + u->timeout_ms;
	u->state = USUAL_OPENING;
	conn_open(&u->conn);
}

void
usual_step(struct usual *u)
{
	if (u->state == USUAL_IDLE)
		return;
	conn_sweep(&u->conn);
	if (u->state == USUAL_OPENING && u->conn.state == CONN_READY) {
		u->state = USUAL_SENT;
		if (runlog_request(
			&u->conn, 0, u->prefix, u->name, u->slots, false) == -1)
			u->state = USUAL_DONE;
	}
	if (u->state == USUAL_DONE || clock_now_ms() >= u->end_ms)
		usual_end(u);
	if (u->conn.state == CONN_DOWN)
		u->state = USUAL_DONE;
}

void
usual_end(struct usual *u)
{
	if (u->state != USUAL_IDLE && u->conn.state != CONN_DOWN)
		conn_close(&u->conn, NULL);
	u->state = USUAL_DONE;
}

int64_t
usual_ms(const struct usual *u, const char *name)
{
	return u->name == name ? u->median_ms : -1;
}
