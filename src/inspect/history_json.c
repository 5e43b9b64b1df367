/* A document of --history for programs. */
#include "base/json.h"
#include "inspect/history_json.h"
#include "inspect/members.h"

static void
json_run(struct json *j, const struct lock_runs *c, const struct past_run *run)
{
	const struct owner *o = &run->owner;

	json_object(j, NULL);
	json_string(j, "name", c->name);
	json_string(j, "token", o->token);
	members_owner(j, o);
	json_time(j, "since", run->since_ms);
	json_number(j, "waited_ms", run->waited_ms, 0);
	json_number(j, "ran_ms", lock_runs_ran_ms(c, run), 0);
	json_number(j, "status", run->status, 0);
	json_number(j, "signal", run->signal, 0);
	json_string(j, "ended", ending_names[run->ending]);
	json_end(j);
}

/*
 * Which locks there are takes a majority; the runs of named ones are put
 * together from the servers that reply.
 */
static bool
is_list_known(const struct query *q)
{
	return query_working(q) >= (q->opt->names.n > 0 ? 1 : q->quorum);
}

void
history_json(FILE *out, const struct history *h)
{
	struct json j = { .out = out };

	json_object(&j, NULL);
	members_servers(&j, &h->query);
	if (!is_list_known(&h->query)) {
		json_string(&j, "runs", NULL);
		json_end(&j);
		return;
	}
	json_array(&j, "runs");
	for (size_t i = 0; i < h->nlocks; i++) {
		const struct lock_runs *c = &h->locks[i];

		for (size_t k = 0; k < lock_runs_shown(c); k++)
			json_run(&j, c, &c->runs.run[k]);
	}
	json_end(&j);
	json_end(&j);
}
