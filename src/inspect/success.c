#include <stdlib.h>
#include <string.h>

#include "inspect/success.h"
#include "protocol/record.h"

void
success_read(struct success *s, const char *value, size_t len, int64_t now_ms)
{
	struct record record;

	*s = (struct success){ .known = true, .age_ms = -1, .ran_ms = -1 };
	if (value == NULL || owner_parse(&s->owner, value, len) == -1)
		return;
	record_read(&record, value, len);
	s->ran_ms = record.ran_ms;
	/* As for --once-per, a start in the future is as far away. */
	s->age_ms = llabs(now_ms - s->owner.since_ms);
}

/* A server that replied, for sorting. */
struct reply_row {
	const struct success *it;
	int64_t age_ms; /* INT64_MAX: without a success */
};

/* Sorts the youngest first. */
static int
compare(const void *a, const void *b)
{
	const struct reply_row *x = a, *y = b;

	return x->age_ms < y->age_ms ? -1 : x->age_ms > y->age_ms;
}

static bool
same(const struct reply_row *a, const struct reply_row *b)
{
	return strcmp(a->it->owner.token, b->it->owner.token) == 0;
}

struct last_success
success_judge(const struct success *all, int n, int quorum)
{
	struct reply_row rows[LOCK_SERVERS] = { 0 };
	struct last_success last = { .age_ms = INT64_MAX };
	int known = 0, enough = n - quorum + 1, later;

	for (int i = 0; i < n; i++)
		if (all[i].known)
			rows[known++] = (struct reply_row){ &all[i],
				all[i].age_ms < 0 ? INT64_MAX : all[i].age_ms };
	qsort(rows, (size_t)known, sizeof(rows[0]), compare);
	if (known < enough)
		return last;
	last.age_ms = rows[enough - 1].age_ms;
	if (last.age_ms < INT64_MAX)
		last.it = rows[enough - 1].it;
	/* The silent servers may have any success that another one has. */
	later = enough - (n - known) - 1;
	if (later < 0)
		return last;
	last.least_ms = rows[later].age_ms;
	last.certain = same(&rows[later], &rows[enough - 1]);
	return last;
}
