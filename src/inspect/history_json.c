/* A document of --history for programs. */
#include "base/json.h"
#include "inspect/history_json.h"

static void
json_run(struct json *j, const struct lock_runs *c, const struct past_run *run)
{
	const struct owner *o = &run->owner;

	json_object(j, NULL);
	json_string(j, "name", c->name);
	json_string(j, "token", o->token);
	json_string(j, "host", o->host);
	json_number(j, "pid", o->pid, 0);
	json_string(j, "user", o->user);
	json_string(j, "command", o->command);
	json_time(j, "since", run->since_ms);
	json_number(j, "waited_ms", run->waited_ms, 0);
	json_number(j, "ran_ms", lock_runs_ran_ms(c, run), 0);
	json_number(j, "status", run->status, 0);
	json_number(j, "signal", run->signal, 0);
	json_string(j, "ended", ending_names[run->ending]);
	json_end(j);
}

void
history_json(FILE *out, const struct history *h)
{
	struct json j = { .out = out };

	json_array(&j, NULL);
	for (size_t i = 0; i < h->nlocks; i++) {
		const struct lock_runs *c = &h->locks[i];

		for (size_t k = 0; k < lock_runs_shown(c); k++)
			json_run(&j, c, &c->runs.run[k]);
	}
	json_end(&j);
}
