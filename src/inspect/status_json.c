/* A document of --status for programs. */
#include "base/json.h"
#include "inspect/status_json.h"

static void
json_holder(struct json *j, const struct lock_info *l, const struct holder *h)
{
	const struct owner *o = &h->owner;

	json_object(j, NULL);
	if (h->ours)
		json_string(j, "token", o->token);
	else
		json_bytes(j, "token", h->value, h->len);
	json_string(j, "host", h->ours ? o->host : NULL);
	json_number(j, "pid", h->ours ? o->pid : -1, 0);
	json_string(j, "user", h->ours ? o->user : NULL);
	json_string(j, "command", h->ours ? o->command : NULL);
	json_time(j, "since", h->ours ? o->since_ms : -1);
	json_number(j, "held_ms", holder_age_ms(l, h), 0);
	json_number(j, "ttl_ms", h->ttl_ms, 0);
	json_end(j);
}

static void
json_waiter(struct json *j, const struct server_view *o, const struct owner *w)
{
	json_object(j, NULL);
	json_string(j, "token", w->token);
	json_string(j, "host", w->host);
	json_number(j, "pid", w->pid, 0);
	json_number(j, "waiting_ms", owner_age_ms(w, o->now_us), 0);
	json_end(j);
}

/* The lease of a server is that of the last of its holders. */
static void
json_view(
    struct json *j, const struct query_server *s, const struct server_view *o)
{
	int64_t ttl_ms = -1;

	for (size_t i = 0; i < o->nholders; i++)
		if (i == 0 || o->holders[i].ttl_ms < 0 ||
		    (ttl_ms >= 0 && o->holders[i].ttl_ms > ttl_ms))
			ttl_ms = o->holders[i].ttl_ms;
	json_object(j, NULL);
	json_string(j, "server", s->conn.address.text);
	json_string(j, "state", state_names[o->state]);
	json_number(j, "ttl_ms", ttl_ms, 0);
	json_end(j);
}

static void
json_lock(struct json *j, const struct query *q, const struct lock_info *l)
{
	bool ours = l->nholders > 0 && l->holders[0].ours;
	bool shared = ours && l->sample->shared;

	json_object(j, NULL);
	json_string(j, "name", l->name);
	json_string(j, "state", state_names[l->state]);
	json_string(j, "mode", shared ? "shared" : ours ? "exclusive" : NULL);
	json_number(j, "ttl_ms", l->ttl_ms, 0);
	json_number(
	    j, "waiting", l->sample == NULL ? 0 : l->sample->waiting, 0);
	json_number(j, "fence", l->fence, 1);
	json_array(j, "holders");
	for (size_t i = 0; i < l->nholders; i++)
		json_holder(j, l, &l->holders[i]);
	json_end(j);
	json_array(j, "waiters");
	for (size_t i = 0; l->sample != NULL && i < l->sample->nwaiters; i++)
		json_waiter(j, l->sample, &l->sample->waiters[i]);
	json_end(j);
	json_array(j, "servers");
	for (int i = 0; i < q->nservers; i++)
		json_view(j, &q->servers[i], &l->views[i]);
	json_end(j);
	json_end(j);
}

void
status_json(FILE *out, const struct status *st)
{
	struct json j = { .out = out };

	json_array(&j, NULL);
	for (size_t i = 0; i < st->nlocks; i++)
		json_lock(&j, &st->query, &st->locks[i]);
	json_end(&j);
}
