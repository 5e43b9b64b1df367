#include "redis/conn_track.h"

static void
push_cb(void *arg, const char *key, size_t len)
{
	struct conn *c = arg;

	c->changed_cb(c->arg, key, len);
}

bool
conn_track_works(const struct conn *c)
{
	return c->state == CONN_READY &&
	    (c->tracking.state == TRACKING_ASKED ||
		c->tracking.state == TRACKING_WORKS);
}

bool
conn_track_possible(const struct conn *c)
{
	return c->state == CONN_READY && link_reads_pushes() &&
	    tracking_may_ask(&c->tracking, c->good);
}

void
conn_track(struct conn *c)
{
	const char *const *argv;
	int argc, tag;

	tracking_asked(&c->tracking);
	link_take_pushes(c->link, push_cb);
	for (int i = 0; i < TRACKING_REQUESTS; i++) {
		tag = tracking_request(i, &argv, &argc);
		if (link_send(c->link, tag, argc, argv, false) == -1)
			tracking_failed(&c->tracking);
	}
}
