#include "protocol/lease.h"

static int64_t
at_most(int64_t ms, int64_t limit_ms)
{
	return ms < limit_ms ? ms : limit_ms;
}

int64_t
lease_valid_ms(int64_t length_ms)
{
	return length_ms - (length_ms / 100 + 2);
}

#define HELD_TO_LENGTH 10

int64_t
lease_length_ms(int64_t ttl_ms, int64_t longest_ms, int64_t held_ms)
{
	int64_t length_ms = at_most(held_ms / HELD_TO_LENGTH, longest_ms);

	return length_ms > ttl_ms ? length_ms : ttl_ms;
}

int64_t
lease_renewal_ms(int64_t ttl_ms)
{
	return ttl_ms / 3;
}

int64_t
lease_retry_ms(int64_t ttl_ms)
{
	return ttl_ms / 10;
}

int64_t
lease_start_ms(int64_t ttl_ms)
{
	return ttl_ms / 2;
}

/* A host with too much to do runs the guard late. */
#define MARGIN_MIN_MS 30
#define MARGIN_MAX_MS 100

int64_t
lease_margin_ms(int64_t ttl_ms)
{
	int64_t ms = at_most(ttl_ms / 50 + 5, MARGIN_MAX_MS);

	return ms > MARGIN_MIN_MS ? ms : MARGIN_MIN_MS;
}

int64_t
lease_kill_after_ms(int64_t ttl_ms, int64_t kill_after_ms)
{
	return at_most(kill_after_ms, ttl_ms / 3);
}

int64_t
lease_grant_kill_after_ms(int64_t length_ms, int64_t ttl_ms,
    int64_t kill_after_ms)
{
	return at_most(lease_kill_after_ms(ttl_ms, kill_after_ms),
	    length_ms / 10);
}

#define NODE_TIMEOUT_MIN_MS 50
#define NODE_TIMEOUT_MAX_MS 3000

/* A tenth of the lease within these limits. */
int64_t
lease_node_timeout_ms(int64_t ttl_ms)
{
	return ttl_ms < 10 * NODE_TIMEOUT_MIN_MS ?
	    NODE_TIMEOUT_MIN_MS :
	    at_most(ttl_ms / 10, NODE_TIMEOUT_MAX_MS);
}

const char *
lease_timeout_hint(int64_t ttl_ms, int64_t node_timeout_ms)
{
	return node_timeout_ms == ttl_ms / 10 &&
		node_timeout_ms < NODE_TIMEOUT_MAX_MS ?
	    " (a tenth of --ttl); raise --ttl or --node-timeout" :
	    "";
}
