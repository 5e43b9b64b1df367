/*
 * A refusal, or the answer of --status, as numbers that can be right; anything
 * else is a malformed reply.
 */
#include <limits.h>
#include <string.h>

#include "base/duration.h"
#include "protocol/key.h"
#include "protocol/state.h"

/* What PTTL says, where a lease without end is as good as one of 3000 years. */
static bool
read_ttl(const struct reply *a, size_t i, int64_t *ttl_ms)
{
	long long ms = reply_int(a, i);

	*ttl_ms = ms < DURATION_MAX_MS ? ms : DURATION_MAX_MS;
	return ms >= -2;
}

static bool
read_number(
    const struct reply *a, size_t i, long long min, long long max, int *number)
{
	long long n = reply_int(a, i);

	*number = n < min || n > max ? 0 : (int)n;
	return n >= min && n <= max;
}

int
lock_state_read(struct lock_state *v, const struct reply *a)
{
	const char *value;
	size_t len = 0;

	if (a->kind != REPLY_OK || reply_count(a) < 7 || reply_int(a, 0) != 0)
		return -1;
	value = reply_string(a, 1, &len);
	v->taken = value != NULL;
	v->len = len < sizeof(v->value) ? len : sizeof(v->value);
	if (v->taken)
		memcpy(v->value, value, v->len);
	v->now_us = reply_int(a, 3);
	v->queued = reply_int(a, 8) == 1;
	v->ticket_us = reply_int(a, 10);
	return read_ttl(a, 2, &v->ttl_ms) && read_ttl(a, 6, &v->best_ms) &&
		v->now_us >= 0 && v->now_us < FENCE_END && v->ticket_us >= 0 &&
		v->ticket_us < FENCE_END &&
		read_number(a, 4, 0, INT_MAX, &v->readers) &&
		read_number(a, 5, 1, LOCK_SLOTS, &v->best) &&
		read_number(a, 9, 0, INT_MAX, &v->waiting) ?
	    0 :
	    -1;
}
