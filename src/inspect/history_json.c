/* --history as a document for programs. */
#include "base/json.h"
#include "inspect/history_json.h"
#include "inspect/members.h"

/*
 * Writes the holder that made the run skip, like "token" of a lock in --status.
 */
static void
json_held_by(struct json *j, const struct skip *s)
{
	bool ours;

	if (s == NULL || s->len == 0) {
		json_string(j, "held_by", NULL);
		return;
	}
	ours = s->holder.token[0] != '\0';
	json_object(j, "held_by");
	if (ours)
		json_string(j, "token", s->holder.token);
	else
		json_bytes(j, "token", s->value, s->len);
	members_owner(j, ours ? &s->holder : NULL);
	json_end(j);
}

static void
json_run(struct json *j, const struct run_row *r)
{
	const struct past_run *run = &r->run;
	const char *by = run->broken_by;

	json_object(j, NULL);
	json_string(j, "name", r->name);
	json_string(j, "token", run->owner.token);
	members_owner(j, &run->owner);
	json_number(j, "slot", run->slot, 1);
	json_time(j, "since", run->since_ms);
	json_number(j, "waited_ms", run->waited_ms, 0);
	json_number(j, "ran_ms", r->ran_ms, 0);
	json_number(j, "status", run->status, 0);
	json_number(j, "signal", run->signal, 0);
	json_string(j, "ended", record_ending_word(run->ending));
	json_string(j, "broken_by",
	    by[0] != '\0' && !run->released ? by : NULL);
	json_string(j, "released_by", run->released ? by : NULL);
	json_string(j, "reason",
	    run->skip == NULL ? NULL : record_skip_word(run->skip->reason));
	json_held_by(j, run->skip);
	json_end(j);
}

/*
 * Whether the list of locks is known: listing all takes a majority; the runs of
 * named locks come from the servers that reply.
 */
static bool
is_list_known(const struct query *q)
{
	return query_working(q) >= (q->opt->names.n > 0 ? 1 : q->quorum);
}

void
history_json(FILE *out, const struct history *h, const struct run_list *list)
{
	struct json j = { .out = out };
	bool known = query_status(&h->query) == 0;

	members_begin(&j);
	members_servers(&j, &h->query);
	if (!is_list_known(&h->query)) {
		json_string(&j, "runs", NULL);
		json_string(&j, "omitted", NULL);
		json_string(&j, "complete_since", NULL);
		json_end(&j);
		return;
	}
	json_array(&j, "runs");
	for (size_t i = 0; i < list->n; i++)
		json_run(&j, &list->row[i]);
	json_end(&j);
	json_number(&j, "omitted",
	    known ? (int64_t)(list->found - list->n) : -1, 0);
	json_time(&j, "complete_since",
	    known && list->from_ms > 0 ? list->from_ms : -1);
	json_end(&j);
}
