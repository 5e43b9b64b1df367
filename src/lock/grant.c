#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/number.h"
#include "lock/grant.h"
#include "protocol/lease.h"
#include "protocol/lock_state.h"

bool
grant_is_possible(const struct server *s)
{
	const struct intent *l = s->intent;

	return l->phase == PHASE_ACQUIRE && l->nservers == 1 &&
	    l->mode == LOCK_EXCLUSIVE && l->last && l->replicas == 0 &&
	    l->once_per_ms == 0 && l->wait_end_ms != 0;
}

int64_t
grant_new_nonce(struct server *s)
{
	int64_t us = clock_now_ms() * 1000;

	s->grant.nonce = 0;
	if (!grant_is_possible(s))
		return 0;
	if (us <= s->grant.sent_nonce)
		us = s->grant.sent_nonce + 1;
	return s->grant.sent_nonce = us;
}

void
grant_expect(struct server *s, int64_t sent_ms)
{
	if (!grant_is_possible(s))
		return;
	s->grant.nonce = s->grant.sent_nonce;
	s->grant.sent_ms = sent_ms;
}

void
grant_forget(struct server *s)
{
	s->grant.nonce = 0;
}

/* Reads one number, and the blank or end behind it. */
static int
take_number(const char **p, size_t *len, int64_t max, int64_t *number)
{
	const char *blank = memchr(*p, ' ', *len);
	size_t n = blank != NULL ? (size_t)(blank - *p) : *len;

	if (number_parse(*p, n, max, number) == -1)
		return -1;
	n += blank != NULL;
	*p += n;
	*len -= n;
	return 0;
}

/* Reads a grant.  A later version may append words. */
static int
grant_parse(struct grant *g, const char *text, size_t len)
{
	return take_number(&text, &len, INT64_MAX, &g->nonce) == 0 &&
		take_number(&text, &len, FENCE_END - 1, &g->fence) == 0 &&
		take_number(&text, &len, DURATION_MAX_MS, &g->length_ms) == 0 &&
		g->fence > 0 ?
	    0 :
	    -1;
}

bool
grant_take(struct server *s, const char *element, size_t len, struct grant *g)
{
	int64_t nonce = s->grant.nonce;

	s->grant.nonce = 0;
	if (nonce == 0 || element == NULL || !grant_is_possible(s) ||
	    !server_past_restart_grace(s) ||
	    grant_parse(g, element, len) == -1 || g->nonce != nonce)
		return false;
	if (g->length_ms > s->intent->ttl_ms)
		g->length_ms = s->intent->ttl_ms;
	g->sent_ms = s->grant.sent_ms;
	g->valid_ms = g->sent_ms + lease_valid_ms(g->length_ms);
	if (g->valid_ms - clock_now_ms() < lease_start_ms(g->length_ms))
		return false;
	info("%s: %s: granted with the wake for %" PRId64 "ms, to be confirmed",
	    s->intent->name, s->conn.address.text, g->length_ms);
	return true;
}

int64_t
grant_give_up_ms(const struct server *s, int64_t now)
{
	int64_t length_ms = s->key.unconfirmed_ms;
	int64_t left_ms = s->valid_ms - lease_margin_ms(s->intent->ttl_ms) -
	    lease_retry_ms(length_ms) - now;
	int64_t ms = left_ms > 4 ? left_ms / 4 : 1;

	return now +
	    (ms < s->intent->node_timeout_ms ? ms : s->intent->node_timeout_ms);
}
