/* --status as a document for programs. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "inspect/members.h"
#include "inspect/status_json.h"

static void
json_holder(struct json *j, const struct lock_info *l, const struct holder *h)
{
	json_object(j, NULL);
	if (h->ours)
		json_string(j, "token", h->owner.token);
	else
		json_bytes(j, "token", h->value, h->len);
	members_owner(j, h->ours ? &h->owner : NULL);
	json_number(j, "slot", h->slot, 1);
	json_time(j, "since", h->ours ? h->owner.since_ms : -1);
	json_number(j, "held_ms", status_holder_age_ms(l, h), 0);
	json_number(j, "ttl_ms", h->ttl_ms, 0);
	json_number(j, "max_ttl_ms", h->owner.ttl_ms, 1);
	json_bool(j, "overdue", status_holder_overdue(l, h));
	json_end(j);
}

static void
json_holders(struct json *j, const struct lock_info *l)
{
	if (l->state == STATE_UNKNOWN) {
		json_string(j, "holders", NULL);
		return;
	}
	json_array(j, "holders");
	for (size_t i = 0; i < l->nholders; i++)
		json_holder(j, l, &l->holders[i]);
	json_end(j);
}

static void
json_waiters(struct json *j, const struct server_view *v)
{
	if (v == NULL) {
		json_string(j, "waiters", NULL);
		return;
	}
	json_array(j, "waiters");
	for (size_t i = 0; i < v->nwaiters; i++) {
		const struct owner *w = &v->waiters[i];

		json_object(j, NULL);
		json_number(j, "position", (int64_t)i + 1, 0);
		json_string(j, "token", w->token);
		members_owner(j, w);
		json_number(j, "waiting_ms", owner_age_ms(w, v->now_us), 0);
		json_end(j);
	}
	json_end(j);
}

/* The lease on a server is that of its longest-lasting holder. */
static void
json_vote(struct json *j, const struct query_server *s,
    const struct server_view *o)
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

/* Returns the mode, or NULL for a lock that is free or another client's. */
static const char *
mode_of(const struct lock_info *l)
{
	if (l->nholders == 0 || !l->holders[0].ours)
		return NULL;
	return l->sample->shared ? "shared" :
	    status_slots(l) > 0  ? "slots" :
				   "exclusive";
}

static void
json_lock(struct json *j, const struct query *q, const struct lock_info *l)
{
	int slots = status_slots(l);

	json_object(j, NULL);
	json_string(j, "name", l->name);
	json_string(j, "state", state_names[l->state]);
	json_string(j, "mode", mode_of(l));
	json_number(j, "slots", slots, 1);
	json_number(j, "ttl_ms", l->ttl_ms, 0);
	json_number(j, "waiting", l->sample == NULL ? -1 : l->sample->waiting,
	    0);
	json_number(j, "fence", l->fence, 1);
	json_holders(j, l);
	json_waiters(j, l->sample);
	json_array(j, "votes");
	for (int i = 0; i < q->nservers; i++)
		json_vote(j, &q->servers[i], &l->views[i]);
	json_end(j);
	json_end(j);
}

/*
 * Whether the list of locks is known: listing all takes a majority; named locks
 * are always listed.
 */
static bool
is_list_known(const struct query *q)
{
	return q->opt->names.n > 0 || query_working(q) >= q->quorum;
}

void
status_json_begin(struct status_json *d)
{
	text_begin(&d->locks);
	json_elements(&d->j, d->locks.out);
}

void
status_json_add(struct status_json *d, const struct status *st)
{
	for (size_t i = 0; i < st->nlocks; i++)
		json_lock(&d->j, &st->query, &st->locks[i]);
}

void
status_json_end(FILE *out, struct status_json *d, const struct query *q)
{
	struct json j = { .out = out };
	char *locks = text_end(&d->locks);

	members_begin(&j);
	members_servers(&j, q);
	if (is_list_known(q)) {
		json_array(&j, "locks");
		fwrite(locks, 1, d->locks.len, out);
		json_end(&j);
	} else
		json_string(&j, "locks", NULL);
	json_end(&j);
	free(locks);
}
