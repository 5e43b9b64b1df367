/*
 * Compares each server's numbers with those of the others.  Our own clock
 * judges nothing, because a host may boot in 1970.  A server whose numbers are
 * implausible has no vote.
 *
 * A quorum survives servers that crash, not servers that lie about their vote.
 * But one server's reply must not change what we request from the others.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "lock/lock_inside.h"
#include "protocol/quorum.h"

#define DAY_US INT64_C(86400000000)
/* How many acquisitions one server may have seen and another one not. */
#define STEPS INT64_C(1000000000)

static const char bad_time[] =
    "implausible clock, more than a day off the other servers' clocks";
static const char bad_ticket[] =
    "implausible ticket, more than a day ahead of the servers' clocks";
static const char bad_fence[] =
    "implausible fence, more than two days ahead of the servers' clocks "
    "and the other fences";

static int
ascending_cb(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Judges the servers' clocks: each must be within a day of the median or, for
 * an even number, of both middle ones, since of two that differ either may be
 * right.  Returns the later of the two middle ones.
 */
static int64_t
judge_times(struct lock *l)
{
	int64_t sorted[LOCK_SERVERS], low, high;
	int n = 0;

	for (const struct server *s = l->servers; s < l->end; s++)
		if (server_has_voted(s))
			sorted[n++] = s->numbers.ahead_us;
	if (n == 0)
		return 0;
	qsort(sorted, (size_t)n, sizeof(*sorted), ascending_cb);
	low = sorted[(n - 1) / 2];
	high = sorted[n / 2];
	for (struct server *s = l->servers; s < l->end; s++)
		if (server_has_voted(s) &&
		    (s->numbers.ahead_us > low + DAY_US ||
			s->numbers.ahead_us < high - DAY_US))
			s->numbers.odd = bad_time;
	return high;
}

/* A number must not exceed `most`, nor the majority's by more than slack. */
static void
judge_ahead(struct lock *l, const int64_t numbers[], int64_t most,
    int64_t slack, const char *odd)
{
	int64_t majority =
	    quorum_largest(numbers, l->intent.nservers, l->intent.quorum);

	if (most < majority + slack)
		most = majority + slack;
	for (int i = 0; i < l->intent.nservers; i++)
		if (numbers[i] > most)
			l->servers[i].numbers.odd = odd;
}

/*
 * When it is made, a fence is at most a day ahead of a server's clock, and a
 * ticket not at all.  If clocks were set back since, a majority has numbers far
 * ahead; fences then differ by at most the number of acquisitions.
 */
static void
judge_counters(struct lock *l, int64_t median_us)
{
	int64_t fences[LOCK_SERVERS] = { 0 }, tickets[LOCK_SERVERS] = { 0 };

	for (int i = 0; i < l->intent.nservers; i++) {
		const struct server *s = &l->servers[i];

		if (server_vote(s) == VOTE_GRANTED)
			fences[i] = s->fence;
		else if (server_vote(s) == VOTE_REFUSED &&
		    l->intent.ticket == 0)
			tickets[i] = s->view.ticket_us;
	}
	judge_ahead(l, fences, median_us + 2 * DAY_US, STEPS, bad_fence);
	judge_ahead(l, tickets, median_us + DAY_US, DAY_US, bad_ticket);
}

void
lock_trust_all(struct lock *l)
{
	for (struct server *s = l->servers; s < l->end; s++)
		s->numbers.odd = NULL;
}

void
lock_judge_numbers(struct lock *l)
{
	int64_t ahead_us;

	lock_trust_all(l);
	if (l->intent.nservers == 1)
		return;
	ahead_us = judge_times(l);
	judge_counters(l, ahead_us + clock_now_ms() * 1000);
}
