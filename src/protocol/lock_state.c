/* Reads a script's reply.  A number that cannot be right makes it malformed. */
#include <limits.h>
#include <string.h>

#include "base/duration.h"
#include "protocol/key.h"
#include "protocol/lock_state.h"

static bool
read_number(const struct reply *a, enum lock_field field, long long min,
    long long max, int *number)
{
	long long n = reply_int(a, field);

	*number = n < min || n > max ? 0 : (int)n;
	return n >= min && n <= max;
}

/* Reads a fence, or a time of the server. */
static bool
read_us(const struct reply *a, enum lock_field field, int64_t *us)
{
	*us = reply_int(a, field);
	return *us >= 0 && *us < FENCE_END;
}

/* Reads a PTTL.  A lease longer than 3000 years counts as one of 3000 years. */
static bool
read_ttl(const struct reply *a, enum lock_field field, int64_t *ttl_ms)
{
	long long ms = reply_int(a, field);

	*ttl_ms = ms < DURATION_MAX_MS ? ms : DURATION_MAX_MS;
	return ms >= PTTL_FREE;
}

static void
read_holder(const struct reply *a, struct lock_state *st)
{
	const char *value = reply_string(a, FIELD_VALUE, &st->len);

	st->taken = value != NULL;
	if (!st->taken)
		st->len = 0;
	if (st->len > sizeof(st->value))
		st->len = sizeof(st->value);
	if (st->taken)
		memcpy(st->value, value, st->len);
	owner_parse(&st->owner, st->value, st->len);
}

static bool
read_refusal(const struct reply *a, struct lock_state *st)
{
	const char *by;
	size_t len = 0;
	int reason;

	read_holder(a, st);
	by = reply_string(a, FIELD_BROKEN, &len);
	owner_read_by(st->broken_by, by, len);
	st->queued = reply_int(a, FIELD_QUEUED) == 1;
	if (!read_number(a, FIELD_REASON, REASON_BUSY, REASON_FULL, &reason))
		return false;
	st->reason = (enum reason)reason;
	return reply_count(a) > FIELD_BEST_PTTL &&
	    read_ttl(a, FIELD_PTTL, &st->ttl_ms) &&
	    read_number(a, FIELD_READERS, 0, INT_MAX, &st->readers) &&
	    read_number(a, FIELD_BEST, 1, LOCK_SLOTS, &st->best) &&
	    read_ttl(a, FIELD_BEST_PTTL, &st->best_ms) &&
	    read_number(a, FIELD_WAITING, 0, INT_MAX, &st->waiting) &&
	    read_us(a, FIELD_TICKET, &st->ticket_us) &&
	    read_us(a, FIELD_LAST_RAN, &st->last_ms) &&
	    read_number(a, FIELD_PLACE, 0, INT_MAX, &st->place);
}

int
lock_state_read(struct lock_state *st, const struct reply *a)
{
	int granted;

	memset(st, 0, sizeof(*st));
	if (a->kind != REPLY_OK || reply_count(a) == 0 ||
	    !read_number(a, FIELD_GRANTED, 0, 1, &granted) ||
	    !read_us(a, FIELD_FENCE, &st->fence) ||
	    !read_number(a, FIELD_SLOT, 0, LOCK_SLOTS, &st->slot) ||
	    !read_us(a, FIELD_NOW, &st->now_us))
		return -1;
	st->granted = granted == 1;
	st->ahead = reply_int(a, FIELD_AHEAD) != 0;
	return st->granted || read_refusal(a, st) ? 0 : -1;
}
