/*
 * Lives of a lock among simulated servers, thousands of each kind, whose delays
 * and faults follow from a number.  At every moment D is compared with the
 * servers' keys.
 */
#include "life.h"

/* Another run holds some servers, and may be a candidate like us. */
static void
contenders(void)
{
	bool candidate = chance(3) == 0;
	int64_t ticket_us = clock_wall_us() + chance(200000) - 50000;
	int64_t beat_us = clock_wall_us() + 100000 + chance(400000);

	for (int i = 0; i < world.lock.intent.nservers; i++) {
		struct made_up *m = &world.servers[i];

		if (chance(4) == 0) {
			m->key[0].until_ms =
			    START + chance(chance(2) == 0 ? 200 : 2000);
			snprintf(m->key[0].value, sizeof(m->key[0].value), "%s",
			    candidate ? "candidate" : "rival");
		}
		if (candidate && chance(3) != 0)
			m->candidate = (struct waiter){ ticket_us, beat_us };
	}
}

/* One life of a lock among servers that forget nothing. */
static enum lock_outcome
live_among_the_faithful(uint64_t seed, bool cuts)
{
	begin_life(seed, 0);
	world.cuts = cuts;
	contenders();
	if (chance(4) == 0)
		happens(START + chance(120), CANCEL, 0);
	return live(3000);
}

#define LONGEST   2500  /* --max-ttl of some lives; the others have none */
#define LONG_LIFE 30000 /* and how long they last, at most */

/* Whether a renewal of this life has asked for more than the TTL. */
static bool
has_grown(void)
{
	for (int i = 0; i < world.nrequests; i++)
		if (requests[i].left && requests[i].label == RENEW &&
		    atoll(requests[i].args[RENEW_TTL]) > 1000)
			return true;
	return false;
}

/* With --max-ttl, for long enough to use it. */
static void
truth_of_long_leases(void)
{
	int held = 0, grown = 0;

	next_world.max_ttl_ms = LONGEST;
	for (uint64_t seed = 1; seed <= LIVES / 5 && tap_good; seed++) {
		begin_life(seed, 0);
		world.cuts = seed % 2 == 0;
		contenders();
		for (int i = chance(6); i > 0; i--)
			happens(START + chance(LONG_LIFE), FREEZE,
			    chance(world.lock.intent.nservers))
			    ->ms = chance(LONGEST);
		held += live(LONG_LIFE) == LOCK_HELD;
		grown += has_grown();
	}
	next_world.max_ttl_ms = 0;
	CHECK(held > LIVES / 50);
	CHECK(grown > LIVES / 100);
}

static void
truth(void)
{
	int count[LOCK_CANCELLED + 1] = { 0 };

	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++)
		count[live_among_the_faithful(seed, seed % 2 == 0)]++;
	for (int i = LOCK_HELD; i <= LOCK_CANCELLED; i++)
		if (i != LOCK_DENIED && i != LOCK_SAME_SERVER &&
		    i != LOCK_OTHER_MODE && i != LOCK_OUTLASTS &&
		    i != LOCK_SUPERSEDED && i != LOCK_QUEUE_FULL)
			CHECK(count[i] > LIVES / 100);
}

/* A waiter gives its votes back while it cannot reach a majority. */
static void
truth_of_waiters(void)
{
	int held = 0;

	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++) {
		begin_life(seed, 0);
		world.cuts = seed % 2 == 0;
		contenders();
		held += live_until(START + 700, 1000) == LOCK_HELD;
	}
	CHECK(held > LIVES / 4);
}

static void
no_ghost(void)
{
	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++) {
		live_among_the_faithful(seed, false);
		quiet();
		if (left_behind())
			tap_fail("in life %llu", (unsigned long long)seed);
	}
}

/*
 * One life among servers that restart empty, freeze, are cut off and lose keys
 * to people, while a rival takes what it can.  It may have been there before,
 * and servers may have forgotten that.
 */
static enum lock_outcome
live_dangerously(uint64_t seed, int64_t grace_ms)
{
	static const int what[] = { RESTART, RESTART, DELETE, DELETE, DELETE,
		FREEZE, DROP };
	static const int busy_ms[] = { 800, 1500, 5000 };
	int share, span_ms;

	begin_life(seed, grace_ms);
	world.cuts = seed % 4 == 0;
	world.faults = true;
	world.greed = 30 + chance(80);
	share = chance(3) == 0 ? 90 : 20;
	span_ms = busy_ms[chance(3)];
	if (next_world.max_ttl_ms != 0)
		span_ms = LONG_LIFE;
	for (int i = 0; i < world.lock.intent.nservers; i++) {
		struct made_up *m = &world.servers[i];

		m->connects = "now";
		if (chance(100) < share)
			m->key[0].until_ms = m->rival_ms =
			    START + 100 + chance(900);
		snprintf(m->key[0].value, sizeof(m->key[0].value), "rival");
		if (chance(4) == 0) {
			m->key[0].until_ms = 0;
			m->started_ms = START - chance(900);
		}
	}
	for (int i = chance(8); i >= 0; i--) {
		int64_t at_ms = START + chance(span_ms);
		int kind = what[chance(7)];
		int server = chance(world.lock.intent.nservers);
		int ms = chance(4) != 0 ? 60 : 1500;

		happens(at_ms, kind, server)->ms = chance(ms);
	}
	happens(START + chance(200), RIVAL, 0);
	return live(span_ms + 1000);
}

/* In how many lives among several servers two held the lock at once. */
static int
overlaps(int64_t grace_ms, int *held)
{
	int n = 0;

	for (uint64_t seed = 1; seed <= 2 * LIVES; seed++) {
		if (seed % SERVERS == 0)
			continue;
		*held += live_dangerously(seed, grace_ms) == LOCK_HELD;
		n += world.overlap_ms != 0;
	}
	return n;
}

/* The lease is 1000 ms, too. */
static void
one_holder(void)
{
	int held = 0;

	SAME_INT(overlaps(1000, &held), 0);
	CHECK(held > LIVES / 4);
	/* Without the grace, the same servers show the difference. */
	CHECK(overlaps(0, &held) > 0);
}

/* In how many lives with --max-ttl among several servers two held the lock. */
static int
patient_overlaps(int64_t grace_ms, int *held, int *grown)
{
	int n = 0;

	next_world.max_ttl_ms = LONGEST;
	for (uint64_t seed = 1; seed <= LIVES / 5; seed++) {
		if (seed % SERVERS == 0)
			continue;
		*held += live_dangerously(seed, grace_ms) == LOCK_HELD;
		*grown += has_grown();
		n += world.overlap_ms != 0;
	}
	next_world.max_ttl_ms = 0;
	return n;
}

static void
one_patient_holder(void)
{
	int held = 0, grown = 0;

	SAME_INT(patient_overlaps(LONGEST, &held, &grown), 0);
	CHECK(held > LIVES / 50);
	CHECK(grown > LIVES / 100);
	/* Without the grace, the same servers show the difference. */
	CHECK(patient_overlaps(0, &held, &grown) > 0);
}

/* Pushes at any time, true and false, from servers of which some have none. */
static void
push_often(void)
{
	static const char *const tracks[] = { NULL, NULL, NULL, "no",
		"closes" };

	for (int i = 0; i < world.lock.intent.nservers; i++)
		world.servers[i].tracks = tracks[chance(5)];
	for (int i = chance(60); i > 0; i--)
		happens(START + chance(3000), PUSH,
		    chance(world.lock.intent.nservers))
		    ->ms = chance(3);
}

static void
truth_of_pushes(void)
{
	int held = 0, tracked = 0, renewals = 0;

	next_world.pushes = true;
	for (uint64_t seed = 1; seed <= LIVES / 5 && tap_good; seed++) {
		begin_life(seed, 0);
		world.cuts = seed % 2 == 0;
		contenders();
		push_often();
		held += live_until(seed % 3 == 0 ? START + 700 : 0, 3000) ==
		    LOCK_HELD;
		for (int i = 0; i < world.lock.intent.nservers; i++) {
			tracked += world.servers[i].tracked;
			renewals += count(i, RENEW);
		}
	}
	next_world.pushes = false;
	CHECK(held > LIVES / 50);
	CHECK(tracked > LIVES / 50);
	/* A life lasts 1.5 s, and 5 renewals a second are due. */
	CHECK(renewals < LIVES / 5 * 3 * 20);
}

static void
one_holder_of_pushes(void)
{
	int held = 0;

	next_world.pushes = true;
	for (uint64_t seed = 1; seed <= LIVES / 5 && tap_good; seed++) {
		if (seed % SERVERS == 0)
			continue;
		held += live_dangerously(seed, 1000) == LOCK_HELD;
		SAME_INT(world.overlap_ms, 0);
	}
	next_world.pushes = false;
	CHECK(held > LIVES / 50);
}

/* The third of three or more servers lies, in a life like those above. */
static void
one_liar(void)
{
	int held = 0, lies = 0;

	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++) {
		if (seed % SERVERS < 2)
			continue;
		world_liar = true;
		held +=
		    (seed % 2 == 0 ? live_among_the_faithful(seed, true) :
				     live_dangerously(seed, 1000)) == LOCK_HELD;
		world_liar = false;
		lies += world.lies;
		SAME_INT(world.overlap_ms, 0);
		for (int i = 0; i < world.lock.intent.nservers; i++)
			CHECK(&world.servers[i] == world.liar ||
			    world.servers[i].fence <
				clock_wall_us() + INT64_C(172861000000));
	}
	CHECK(held > LIVES / 20);
	CHECK(lies > LIVES);
}

/* All servers but the liar are free, or all are another's. */
static void
liar_outvoted(void)
{
	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++) {
		bool is_free = chance(2) == 0;

		begin(3 + 2 * (int)(seed % 2), 1000, 100);
		world.model = world.calm = true;
		world.chance = seed;
		world.liar =
		    &world.servers[seed % (uint64_t)world.lock.intent.nservers];
		for (int i = 0; i < world.lock.intent.nservers; i++) {
			struct made_up *m = &world.servers[i];

			if (m == world.liar ? chance(2) == 0 : is_free)
				continue;
			m->key[0].until_ms = START + FOREVER;
			snprintf(m->key[0].value, sizeof(m->key[0].value),
			    "rival");
		}
		SAME_INT(acquire(), is_free ? LOCK_HELD : LOCK_BUSY);
		CHECK(now() < (is_free ? 100 : 450));
		if (is_free)
			released(0); /* the liar may deny its vote */
		lock_close(&world.lock);
	}
}

static const struct tap_test tests[] = {
	{ "in no life of a lock is the deadline later than the truth", truth },
	{ "in no life of a waiter is the deadline later than the truth",
	    truth_of_waiters },
	{ "no life of a lock leaves a value on a server that is reached",
	    no_ghost },
	{ "with the grace, servers that forget never let two hold the lock",
	    one_holder },
	{ "no lie of one server lets two hold the lock, or changes what the "
	  "others are asked for",
	    one_liar },
	{ "no lie of one server keeps us from what the others agree on",
	    liar_outvoted },
	{ "in no life with --max-ttl is the deadline later than the truth",
	    truth_of_long_leases },
	{ "with a grace as long as --max-ttl, two never hold the lock",
	    one_patient_holder },
	{ "in no life with pushes is the deadline later than the truth",
	    truth_of_pushes },
	{ "with the grace, servers that forget and push never let two hold the "
	  "lock",
	    one_holder_of_pushes },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
