/*
 * Selects among all recorded runs, so that --since, --until and --failed miss
 * none.  Keeps at most twice as many runs as --rows, however many locks there are.
 */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "inspect/run_list.h"

static bool
is_wanted(const struct options *opt, const struct lock_runs *l,
    const struct past_run *run)
{
	if (opt->since.kind != MOMENT_NONE &&
	    run->since_ms < moment_ms(&opt->since, l->now_ms))
		return false;
	if (opt->until.kind != MOMENT_NONE &&
	    run->since_ms > moment_ms(&opt->until, l->now_ms))
		return false;
	return !opt->failed || runs_has_failed(run) ||
	    run->ending == ENDED_SKIPPED;
}

static int
compare_rows(const void *a, const void *b)
{
	const struct run_row *x = a, *y = b;

	if (x->run.since_ms != y->run.since_ms)
		return x->run.since_ms > y->run.since_ms ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strcmp(x->run.owner.token, y->run.owner.token);
}

/* Keeps the first n rows. */
static void
cut(struct run_list *list, size_t n)
{
	while (list->n > n)
		free(list->row[--list->n].run.skip);
}

void
run_list_sort(struct run_list *list, const struct options *opt)
{
	if (list->n > 1)
		qsort(list->row, list->n, sizeof(*list->row), compare_rows);
	cut(list, (size_t)opt->rows);
}

/* Makes room for a row. */
static void
make_room(struct run_list *list, const struct options *opt)
{
	if (list->n == 2 * (size_t)opt->rows)
		run_list_sort(list, opt);
	if (list->n < list->room)
		return;
	list->room = 2 * list->room + 1;
	list->row = xreallocarray(list->row, list->room, sizeof(*list->row));
}

/* Returns how long COMMAND ran, or has run so far; -1: unknown. */
static int64_t
ran_ms(const struct lock_runs *l, const struct past_run *run)
{
	if (run->ending != ENDED_RUNNING)
		return run->ran_ms;
	return l->now_ms > run->since_ms ? l->now_ms - run->since_ms : 0;
}

static void
add_run(struct run_list *list, const struct query *q, const struct lock_runs *l,
    struct past_run *run)
{
	struct run_row *row;

	make_room(list, q->opt);
	list->found++;
	row = &list->row[list->n++];
	*row = (struct run_row){ .name = l->name,
		.number = l->number,
		.ran_ms = ran_ms(l, run),
		.run = *run };
	run->skip = NULL;
	for (int i = 0; i < q->nservers; i++)
		row->known[i] = l->logs[i].known;
}

void
run_list_add(struct run_list *list, struct history *h)
{
	for (size_t i = 0; i < h->nlocks; i++) {
		struct lock_runs *l = &h->locks[i];

		if (l->runs_from_ms > list->from_ms)
			list->from_ms = l->runs_from_ms;
		if (h->with_skips && l->skips_from_ms > list->from_ms)
			list->from_ms = l->skips_from_ms;
		if (l->now_ms > list->now_ms)
			list->now_ms = l->now_ms;
		for (size_t k = 0; k < l->runs.n; k++)
			if (is_wanted(h->query.opt, l, &l->runs.run[k]))
				add_run(list, &h->query, l, &l->runs.run[k]);
	}
}

void
run_list_release(struct run_list *list)
{
	cut(list, 0);
	free(list->row);
	list->row = NULL;
	list->room = 0;
}
