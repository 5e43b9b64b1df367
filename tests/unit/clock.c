/*
 * The two clocks of the program.
 */
#include "../../src/base/clock.c"
#include "tap.h"

static int64_t
read_us(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void
clocks(void)
{
	int64_t before, now, last = 0;

	for (int i = 0; i < 1000; i++) {
		before = read_us(CLOCK_BOOTTIME) / 1000;
		now = clock_now_ms();
		CHECK(before <= now);
		CHECK(now <= read_us(CLOCK_BOOTTIME) / 1000);
		CHECK(now >= last);
		last = now;
	}
}

/* The wall clock may be set back at any moment: one of three is enough. */
static void
wall_clock(void)
{
	int64_t before, now;

	for (int i = 0; i < 3; i++) {
		before = read_us(CLOCK_REALTIME);
		now = clock_wall_us();
		if (before <= now && now <= read_us(CLOCK_REALTIME))
			return;
	}
	tap_fail("it is not what the system's clock says");
}

static const struct tap_test tests[] = {
	{ "the clock of leases is CLOCK_BOOTTIME in milliseconds", clocks },
	{ "the clock of fences is the wall clock in microseconds", wall_clock },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
