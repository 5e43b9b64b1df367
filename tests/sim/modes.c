/*
 * Lives of locks in all modes: slots, readers and a writer, replicas, differing
 * fences, a predecessor that hands the lock over, and a cooldown.
 */
#include "life.h"

/* A life as in lives.c, but in this mode; judge() looks at D in all of it. */
static void
begin_mode(uint64_t seed, enum lock_mode mode, int slots, int replicas)
{
	next_world.mode = mode;
	next_world.slots = slots;
	next_world.replicas = replicas;
	begin_life(seed, 0);
	next_world.mode = LOCK_EXCLUSIVE;
	next_world.slots = 1;
	next_world.replicas = 0;
}

/* A life of servers that are quick and forget nothing. */
static void
begin_calm(uint64_t seed)
{
	begin_numbered(seed, 1 + (int)(seed % SERVERS), 1000, 100, 0);
	world.model = world.calm = true;
	world.chance = seed;
}

/* Another client has a key for up to that long. */
static void
occupy(struct holding *key, const char *who, int most_ms)
{
	key->until_ms = START + chance(most_ms);
	snprintf(key->value, sizeof(key->value), "%s", who);
}

/* How many servers have our value, under any key. */
static int
backing(void)
{
	int n = 0;

	for (int i = 0; i < world.lock.intent.nservers; i++) {
		bool there = false;

		for (int k = 0; k < SLOTS; k++)
			there = there ||
			    (held(&world.servers[i].key[k]) &&
				strstr(world.servers[i].key[k].value,
				    "TOKEN") != NULL);
		n += there;
	}
	return n;
}

/* The end of a life: whatever it was, nothing is left behind. */
static void
end_life(uint64_t seed)
{
	quiet();
	if (left_behind())
		tap_fail("in life %llu", (unsigned long long)seed);
}

/* Of all lives some got the lock, and some found it busy. */
static void
check_mixed(const int *count)
{
	CHECK(count[LOCK_HELD] > LIVES / 20);
	CHECK(count[LOCK_BUSY] > LIVES / 20);
}

static void
slots(void)
{
	int count[LOCK_CANCELLED + 1] = { 0 };

	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++) {
		bool common[SLOTS];

		begin_mode(seed, LOCK_SLOTTED, SLOTS, 0);
		for (int k = 0; k < SLOTS; k++)
			common[k] = chance(3) != 0;
		for (int i = 0; i < world.lock.intent.nservers; i++)
			for (int k = 0; k < SLOTS; k++)
				if (common[k] != (chance(8) == 0))
					occupy(&world.servers[i].key[k],
					    "rival", 3000);
		count[live(2000)]++;
		end_life(seed);
	}
	check_mixed(count);
}

static void
readers(void)
{
	int count[LOCK_CANCELLED + 1] = { 0 };

	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++) {
		int writers = 0, nservers;
		bool written = chance(2) == 0;
		enum lock_outcome outcome;

		begin_mode(seed, LOCK_SHARED, 1, 0);
		nservers = world.lock.intent.nservers;
		for (int i = 0; i < nservers; i++)
			if (written || chance(4) == 0) {
				occupy(&world.servers[i].key[0], "rival", 3000);
				world.servers[i].key[0].until_ms += 2000;
				writers++;
			}
		outcome = live(1000);
		count[outcome]++;
		CHECK(outcome != LOCK_HELD || 2 * writers < nservers);
		end_life(seed);
	}
	check_mixed(count);
}

static void
replicas(void)
{
	int count[LOCK_CANCELLED + 1] = { 0 };

	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++) {
		enum lock_outcome outcome;
		int replicated = 0;

		begin_mode(seed, LOCK_EXCLUSIVE, 1, 1);
		outcome = acquire();
		count[outcome]++;
		for (int i = 0; i < world.lock.intent.nservers; i++)
			replicated += world.servers[i].replicas > 0;
		if (outcome == LOCK_HELD) {
			CHECK(replicated >= world.lock.intent.quorum);
			CHECK(deadline() - now() >= 500);
			hold(now() + 1000);
			released(0);
		}
		lock_close(&world.lock);
	}
	CHECK(count[LOCK_HELD] > LIVES / 20);
	CHECK(count[LOCK_UNREACHABLE] > LIVES / 20);
}

/* The counters differ by up to a minute, and some are ahead of our clock. */
static void
differing_fences(void)
{
	int won = 0, written = 0;

	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++) {
		struct lock *l = &world.lock;
		int64_t before[SERVERS];
		int fenced = 0;

		begin_mode(seed, LOCK_EXCLUSIVE, 1, 0);
		for (int i = 0; i < l->intent.nservers; i++) {
			int64_t ahead_us = chance(60000000) - 20000000;

			before[i] = world.servers[i].fence =
			    clock_wall_us() + ahead_us;
		}
		if (acquire() == LOCK_HELD) {
			won++;
			for (int i = 0; i < l->intent.nservers; i++) {
				fenced +=
				    world.servers[i].fence == l->intent.fence;
				written += count(i, RENEW);
			}
			CHECK(fenced >= l->intent.quorum);
			CHECK(l->intent.fence > quorum_largest(before,
						    l->intent.nservers,
						    l->intent.quorum));
			hold(now() + 500);
			released(0);
		}
		lock_close(l);
	}
	CHECK(won > LIVES / 10);
	CHECK(written >
	    LIVES / 10); /* a vote behind the others is brought up */
}

/*
 * We wait behind a holder that gives the lock back: one server hands it to us,
 * several wake us.
 */
static void
handed_over_to_us(void)
{
	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++) {
		struct lock *l = &world.lock;
		int64_t before_us, over_ms;

		begin_calm(seed);
		over_ms = 300 + chance(2000);
		before_us = clock_wall_us() + chance(30000000);
		for (int i = 0; i < l->intent.nservers; i++) {
			struct made_up *m = &world.servers[i];

			occupy(&m->key[0], "predecessor", 1);
			m->key[0].until_ms = START + FOREVER;
			m->fence = before_us;
			happens(START + over_ms, HAND_OVER, i);
		}
		SAME_INT(acquire_until(START + 5000), LOCK_HELD);
		CHECK(now() >= over_ms && now() < over_ms + 250);
		CHECK(l->intent.fence > before_us);
		CHECK(deadline() - now() >= 500);
		hold(now() + 1500);
		CHECK(count(0, WAIT) > 0);
		CHECK(deadline() > now());
		released(0);
		lock_close(l);
	}
}

/*
 * A grant comes with the wake, or a part of it is lost: the wake, the
 * confirmation, a connection; or the server stalls.  judge() compares D with
 * the server's key in all of it.
 */
static void
grants_in_danger(void)
{
	int granted = 0, confirmed = 0;

	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++) {
		struct made_up *m = &world.servers[0];
		int over_ms;

		begin_numbered(seed, 1, seed % 2 == 0 ? 1000 : 20000, 100, 0);
		world.model = true;
		world.cuts = seed % 3 == 0;
		world.chance = seed;
		over_ms = 300 + chance(2000);
		occupy(&m->key[0], "predecessor", 1);
		m->key[0].until_ms = START + FOREVER;
		happens(START + over_ms, HAND_OVER, 0);
		for (int i = chance(3); i > 0; i--) {
			int64_t at_ms = START + over_ms + chance(300) - 100;

			happens(at_ms, FREEZE, 0)->ms = chance(6000);
		}
		if (acquire_until(START + 30000) == LOCK_HELD) {
			granted += locks_grant_ms(&world.locks) != 0;
			hold(now() + chance(8000));
			confirmed += locks_grant_ms(&world.locks) == 0 &&
			    deadline() > now();
			released(0);
		}
		lock_close(&world.lock);
	}
	CHECK(granted > LIVES / 4);
	CHECK(confirmed > LIVES / 4);
	CHECK(confirmed < LIVES);
}

static void
cooldowns(void)
{
	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++) {
		begin_calm(seed);
		SAME_INT(acquire(), LOCK_HELD);
		hold(now() + 100 + chance(1000));
		released(5000);
		lock_close(&world.lock);
		quiet();
		SAME_INT(backing(), 0);
		for (int i = 0; i < world.lock.intent.nservers; i++) {
			const struct holding *key = &world.servers[i].key[0];

			SAME_TEXT(key->value, "cooldown");
			CHECK(key->until_ms > world.now_ms + 4500);
		}
	}
}

/* We wait for a run, which succeeds or fails; of several each server knows. */
static void
once_per(void)
{
	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++) {
		bool succeeds = chance(2) == 0;
		int over_ms;

		next_world.once_per_ms = 60000;
		begin_calm(seed);
		next_world.once_per_ms = 0;
		over_ms = 300 + chance(2000);
		for (int i = 0; i < world.lock.intent.nservers; i++) {
			struct made_up *m = &world.servers[i];

			occupy(&m->key[0], "predecessor", 1);
			m->key[0].until_ms = START + FOREVER;
			m->succeeds = succeeds;
			happens(START + over_ms, HAND_OVER, i);
		}
		SAME_INT(acquire_until(START + 5000),
		    succeeds ? LOCK_BUSY : LOCK_HELD);
		CHECK(now() >= over_ms && now() < over_ms + 250);
		CHECK(!succeeds ||
		    lock_state(&world.lock)->reason == REASON_RAN);
		if (!succeeds)
			released(0);
		lock_close(&world.lock);
	}
}

/*
 * A lock is held, and on each server up to three other runs wait for it.  We join
 * them unless a majority counts two; then nothing of ours is left.
 */
static void
full_queues(void)
{
	int refused = 0;

	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++) {
		struct lock *l = &world.lock;
		int full = 0;

		next_world.max_waiting = 2;
		begin_calm(seed);
		next_world.max_waiting = 0;
		for (int i = 0; i < l->intent.nservers; i++) {
			struct made_up *m = &world.servers[i];

			occupy(&m->key[0], "predecessor", 1);
			m->key[0].until_ms = START + FOREVER;
			m->waiting = chance(4);
			full += m->waiting >= 2;
		}
		refused += full >= l->intent.quorum;
		SAME_INT(acquire_until(START + 500),
		    full >= l->intent.quorum ? LOCK_QUEUE_FULL : LOCK_BUSY);
		CHECK(full < l->intent.quorum || now() < 250);
		for (int i = 0; i < l->intent.nservers; i++)
			world.servers[i].reached = true;
		lock_close(l);
		end_life(seed);
	}
	CHECK(refused > LIVES / 4);
	CHECK(refused < LIVES * 3 / 4);
}

/*
 * Some servers have the success of a run that began up to two seconds ago, some
 * are held or cannot be reached; a run counts for a second, and we may wait.
 */
static void
forgotten_successes(void)
{
	int count[LOCK_CANCELLED + 1] = { 0 };

	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++) {
		struct lock *l = &world.lock;
		int64_t ran_ms, wait_end_ms = 0;
		enum lock_outcome outcome;

		next_world.once_per_ms = 1000;
		begin_life(seed, 0);
		next_world.once_per_ms = 0;
		world.cuts = seed % 2 == 0;
		ran_ms = START - chance(2000);
		for (int i = 0; i < l->intent.nservers; i++) {
			if (chance(2) == 0)
				world.servers[i].success_ms = ran_ms;
			if (chance(4) == 0)
				occupy(&world.servers[i].key[0], "rival", 1500);
		}
		if (chance(2) == 0)
			wait_end_ms = START + 700;
		outcome = live_until(wait_end_ms, 1000);
		count[outcome]++;
		quiet();
		/* A waiter's request that runs late may join the queue. */
		if (wait_end_ms == 0 && left_behind())
			tap_fail("in life %llu", (unsigned long long)seed);
	}
	CHECK(count[LOCK_HELD] > LIVES / 10);
	CHECK(count[LOCK_BUSY] > LIVES / 10);
}

/*
 * We wait with --latest for a holder, and a later run with it joins the queues of
 * all servers, of a few, or of none; one server of three or more may be down.
 */
static void
superseding(void)
{
	int count[LOCK_CANCELLED + 1] = { 0 };

	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++) {
		int n, quorum, down, joins = 0, over_ms, join_ms;
		enum lock_outcome outcome;

		next_world.latest = true;
		begin_calm(seed);
		next_world.latest = false;
		n = world.lock.intent.nservers;
		quorum = world.lock.intent.quorum;
		down = n > 2 && chance(2) == 0 ? chance(n) : -1;
		over_ms = 500 + chance(2000);
		join_ms = 300 + chance(2000);
		for (int i = 0; i < n; i++) {
			struct made_up *m = &world.servers[i];
			bool joined = chance(4) != 0;

			occupy(&m->key[0], "predecessor", 1);
			m->key[0].until_ms = START + FOREVER;
			happens(START + over_ms, HAND_OVER, i);
			if (i == down)
				m->connects = "refused";
			if (joined)
				happens(START + join_ms + chance(20), JOIN, i);
			joins += joined && i != down;
		}
		outcome = live_until(START + 5000, 1000);
		count[outcome]++;
		/* Too few have seen the later run, or it came too late. */
		if (joins + (down != -1) <= n - quorum ||
		    join_ms > over_ms + 250)
			SAME_INT(outcome, LOCK_HELD);
		/* A majority of those that are up has seen it long before. */
		if (joins >= quorum && join_ms + 250 < over_ms) {
			SAME_INT(outcome, LOCK_SUPERSEDED);
			CHECK(now() < over_ms);
		}
		end_life(seed);
	}
	CHECK(count[LOCK_HELD] > LIVES / 4);
	CHECK(count[LOCK_SUPERSEDED] > LIVES / 4);
	SAME_INT(count[LOCK_HELD] + count[LOCK_SUPERSEDED], LIVES);
}

static const struct tap_test tests[] = {
	{ "a slot is held on a majority, and given back on every server",
	    slots },
	{ "a reader holds the lock where a majority has no writer", readers },
	{ "a lock is held when the replicas of a majority have it", replicas },
	{ "the fence of a lock is on a majority, above those before it",
	    differing_fences },
	{ "a waiter gets the lock, with a higher fence, as soon as it is "
	  "given back",
	    handed_over_to_us },
	{ "no grant that comes with the wake counts longer than the server keeps it",
	    grants_in_danger },
	{ "--once-per runs after a failure and is refused after a success, at "
	  "once",
	    once_per },
	{ "--once-per never runs while a majority knows of a success",
	    forgotten_successes },
	{ "--max-waiting ends at once if a majority counts so many, and else waits",
	    full_queues },
	{ "a lock in cooldown stays held on every server, by nobody",
	    cooldowns },
	{ "--latest gives up once a later run waits, leaves nothing behind, and runs "
	  "if it has the lock first",
	    superseding },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
