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

/* Sorts the youngest first, and servers without a success last. */
static int
compare(const void *a, const void *b)
{
	const struct success *x = *(const struct success *const *)a;
	const struct success *y = *(const struct success *const *)b;

	if ((x->age_ms < 0) != (y->age_ms < 0))
		return x->age_ms < 0 ? 1 : -1;
	return x->age_ms < y->age_ms ? -1 : x->age_ms > y->age_ms;
}

static bool
same(const struct success *a, const struct success *b)
{
	return a->age_ms < 0 ?
	    b->age_ms < 0 :
	    b->age_ms >= 0 && strcmp(a->owner.token, b->owner.token) == 0;
}

struct last_success
success_judge(const struct success *all, int n, int quorum)
{
	const struct success *sorted[LOCK_SERVERS], *later;
	struct last_success last = { .age_ms = INT64_MAX };
	int nknown = 0, enough = n - quorum + 1;

	for (int i = 0; i < n; i++)
		if (all[i].known)
			sorted[nknown++] = &all[i];
	qsort(sorted, (size_t)nknown, sizeof(sorted[0]), compare);
	if (nknown < enough)
		return last;
	if (sorted[enough - 1]->age_ms >= 0) {
		last.it = sorted[enough - 1];
		last.age_ms = last.it->age_ms;
	}
	/* The silent servers may have any success that another one has. */
	if (enough - (n - nknown) < 1)
		return last;
	later = sorted[enough - (n - nknown) - 1];
	last.least_ms = later->age_ms < 0 ? INT64_MAX : later->age_ms;
	last.certain = same(later, sorted[enough - 1]);
	return last;
}
