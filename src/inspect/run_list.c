/* Selects among all recorded runs, so that --since and --failed miss none. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "inspect/run_list.h"

static bool
is_wanted(const struct options *opt, const struct lock_runs *l,
    const struct past_run *run)
{
	if (opt->since_ms > 0 && run->since_ms < l->now_ms - opt->since_ms)
		return false;
	return !opt->failed || runs_has_failed(run) ||
	    run->ending == ENDED_SKIPPED;
}

static int
compare_rows(const void *a, const void *b)
{
	const struct run_row *x = a, *y = b;

	if (x->run->since_ms != y->run->since_ms)
		return x->run->since_ms > y->run->since_ms ? -1 : 1;
	if (x->lock != y->lock)
		return strcmp(x->lock->name, y->lock->name);
	return strcmp(x->run->owner.token, y->run->owner.token);
}

void
run_list_select(struct run_list *list, const struct history *h)
{
	const struct options *opt = h->query.opt;
	size_t most = 0;

	for (size_t i = 0; i < h->nlocks; i++)
		most += h->locks[i].runs.n;
	list->row = xcalloc(most + 1, sizeof(*list->row));
	list->n = 0;
	for (size_t i = 0; i < h->nlocks; i++) {
		const struct lock_runs *l = &h->locks[i];

		for (size_t k = 0; k < l->runs.n; k++)
			if (is_wanted(opt, l, &l->runs.run[k]))
				list->row[list->n++] =
				    (struct run_row){ l, &l->runs.run[k] };
	}
	if (list->n > 1)
		qsort(list->row, list->n, sizeof(*list->row), compare_rows);
	if (list->n > (size_t)opt->rows)
		list->n = (size_t)opt->rows;
}

void
run_list_release(struct run_list *list)
{
	free(list->row);
	list->row = NULL;
	list->n = 0;
}
