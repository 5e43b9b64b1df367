/* A ring: requests enter at the tail, and replies remove them at the head. */
#include "base/clock.h"
#include "redis/pending.h"

bool
pending_full(const struct pending *p)
{
	return p->tail - p->head == PENDING_MAX;
}

bool
pending_empty(const struct pending *p)
{
	return p->tail == p->head;
}

void
pending_add(struct pending *p, struct pending_request r)
{
	p->ring[p->tail++ % PENDING_MAX] = r;
}

struct pending_request
pending_take(struct pending *p)
{
	struct pending_request first = p->ring[p->head++ % PENDING_MAX];

	/* A connection with one request at a time touches one place only. */
	if (pending_empty(p))
		p->head = p->tail = 0;
	return first;
}

int64_t
pending_since_ms(const struct pending *p)
{
	return pending_empty(p) ? CLOCK_NEVER :
				  p->ring[p->head % PENDING_MAX].sent_ms;
}

int
pending_first_tag(const struct pending *p)
{
	return p->ring[p->head % PENDING_MAX].tag;
}
