/*
 * The first report covers all servers.  Afterwards the first loss and the first
 * return of each server are messages.  Further changes of a server that comes
 * and goes are reported with -v.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "run/degraded.h"

void
degraded_init(struct degraded *d, const char *names, int64_t begin_ms,
    int64_t settle_ms)
{
	*d = (struct degraded){
		.names = names, .begin_ms = begin_ms, .settle_ms = settle_ms
	};
}

/* Returns the first lock that the server does not hold, or NULL. */
static const struct lock *
lacking(struct locks *ls, int server)
{
	for (int i = 0; i < locks_count(ls); i++)
		if (!lock_server_votes(locks_at(ls, i), server))
			return locks_at(ls, i);
	return NULL;
}

static void
begin(struct degraded *d, struct locks *ls, int n)
{
	char text[LOCK_WHY] = "", why[LOCK_WHY];
	const struct lock *l;
	size_t used = 0;
	int holding = 0;

	d->begun = true;
	for (int i = 0; i < n; i++) {
		l = lacking(ls, i);
		d->server[i].down = d->server[i].loss_reported = l != NULL;
		holding += l == NULL;
		if (l == NULL || used >= sizeof(text))
			continue;
		lock_server_why(l, i, why);
		used += (size_t)snprintf(text + used, sizeof(text) - used,
		    "%s%s: %s", used > 0 ? "; " : "", lock_server_url(l, i),
		    why[0] != '\0' ? why : "no answer yet");
	}
	if (holding < n)
		notice("%s: held on only %d of %d servers: %s", d->names,
		    holding, n, text);
}

static int
count_up(const struct degraded *d, int n)
{
	int up = 0;

	for (int i = 0; i < n; i++)
		up += !d->server[i].down;
	return up;
}

/*
 * Reports that the server has lost lock l or, if l is NULL, has all locks
 * again.
 */
static void
report(struct degraded *d, const struct lock *l, int server, const char *url,
    int n)
{
	int up = count_up(d, n);
	char text[LOCK_WHY + 64], why[LOCK_WHY];
	bool *reported = l != NULL ? &d->server[server].loss_reported :
				     &d->server[server].return_reported;

	if (l != NULL)
		snprintf(text, sizeof(text), ": %s",
		    lock_server_why(l, server, why));
	else
		snprintf(text, sizeof(text), " is back");
	if (*reported)
		info("%s: %s%s; %d of %d servers hold the lock", d->names, url,
		    text, up, n);
	else
		notice("%s: %s%s; %d of %d servers hold the lock", d->names,
		    url, text, up, n);
	*reported = true;
}

/* Judges one server.  Returns when its change is worth a report. */
static int64_t
judge_server(struct degraded *d, struct locks *ls, int i, int n, int64_t now_ms)
{
	const struct lock *l = lacking(ls, i);
	int64_t *changed_ms = &d->server[i].changed_ms;

	if ((l != NULL) == d->server[i].down) {
		*changed_ms = 0;
		return CLOCK_NEVER;
	}
	if (*changed_ms == 0)
		*changed_ms = now_ms;
	if (now_ms < *changed_ms + d->settle_ms)
		return *changed_ms + d->settle_ms;
	*changed_ms = 0;
	d->server[i].down = l != NULL;
	report(d, l, i, lock_server_url(locks_at(ls, 0), i), n);
	return CLOCK_NEVER;
}

int64_t
degraded_step(struct degraded *d, struct locks *ls, int64_t now_ms)
{
	int n = lock_servers(locks_at(ls, 0));
	int64_t wake = CLOCK_NEVER;

	if (n == 1)
		return CLOCK_NEVER;
	if (now_ms < d->begin_ms)
		return d->begin_ms;
	if (!d->begun)
		begin(d, ls, n);
	for (int i = 0; i < n; i++)
		wake = clock_min_ms(wake, judge_server(d, ls, i, n, now_ms));
	return wake;
}
