/*
 * The arithmetic of the lease.
 */
#include "../../src/protocol/lease.c"
#include "tap.h"

/* The rows of LEASE in redlock-run(7). */
static void
margins(void)
{
	static const struct {
		int64_t ttl_ms, margin_ms;
	} rows[] = { { 200, 30 }, { 1000, 30 }, { 1250, 30 }, { 1300, 31 },
		{ 2000, 45 }, { 4750, 100 }, { 60000, 100 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		SAME_INT(lease_margin_ms(rows[i].ttl_ms), rows[i].margin_ms);
}

/* Otherwise a run would be stopped before it renews. */
static void
renewals_before_sigterm(void)
{
	for (int64_t ttl_ms = 200; ttl_ms < 100000; ttl_ms++)
		CHECK(lease_valid_ms(ttl_ms) - lease_margin_ms(ttl_ms) -
			lease_kill_after_ms(ttl_ms, INT64_MAX) >
		    lease_renewal_ms(ttl_ms) + lease_retry_ms(ttl_ms));
}

static const struct tap_test tests[] = {
	{ "SIGKILL comes 30 to 100 ms before the deadline", margins },
	{ "in every lease a renewal and a retry come before SIGTERM",
	    renewals_before_sigterm },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
