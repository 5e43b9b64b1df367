/* The common parts of the lives of a lock: begin, hold and end. */
#ifndef LIFE_H
#define LIFE_H

#include "world.h"

#define LIVES 5000

static bool world_liar; /* the lives to come are lived beside one */

/* Everything that was sent is executed in the end. */
static inline void
quiet(void)
{
	struct event e;

	while (take_event(&e, CLOCK_NEVER)) {
		if (e.at_ms > world.now_ms)
			world.now_ms = e.at_ms;
		if (e.kind == EXECUTE)
			executed(&world.servers[e.server], &e);
	}
}

/* Whether a server that could be told has something of ours still. */
static inline bool
left_behind(void)
{
	for (int i = 0; i < SERVERS; i++) {
		const struct made_up *m = &world.servers[i];
		bool there = m->us.ticket_us != 0;

		for (int k = 0; k < SLOTS; k++)
			there = there ||
			    (held(&m->key[k]) &&
				strstr(m->key[k].value, "TOKEN") != NULL);
		if (m->reached && there)
			return true;
	}
	return false;
}

/* Servers as they may be: slow, stalled, refusing, at the end of bad cables. */
static inline void
begin_life(uint64_t seed, int64_t grace_ms)
{
	static const char *const connects[] = { "now", "now", "now+20",
		"now+90", "refused now", "never", "refused+3 now+10" };

	begin_numbered(seed, 1 + (int)(seed % SERVERS), 1000, 100, grace_ms);
	world.model = true;
	world.chance = seed;
	if (world_liar)
		world.liar = &world.servers[2];
	for (int i = 0; i < world.lock.intent.nservers; i++) {
		struct made_up *m = &world.servers[i];

		m->connects = connects[chance(7)];
		m->greeting_ms = chance(4) == 0 ? chance(50) : 0;
		m->skew_us = chance(100000);
	}
}

/* On how many servers a success keeps us out. */
static inline int
successes(void)
{
	int n = 0;

	for (int i = 0; i < world.lock.intent.nservers; i++)
		n += ran_lately(&world.servers[i],
		    world.lock.intent.once_per_ms);
	return n;
}

/* Every vote is for the slot that COMMAND gets. */
static inline void
check_slot(void)
{
	int slot = lock_slot(&world.lock);

	CHECK(slot >= 1 && slot <= SLOTS);
	for (int i = 0; i < world.lock.intent.nservers; i++)
		if (server_vote(&world.lock.servers[i]) == VOTE_GRANTED)
			SAME_INT(world.lock.servers[i].slot, slot);
}

/*
 * Takes the lock, waiting until wait_end_ms, holds it for up to so long, gives
 * it back.
 */
static inline enum lock_outcome
live_until(int64_t wait_end_ms, int hold_ms)
{
	enum lock_outcome outcome = acquire_until(wait_end_ms);

	if (outcome == LOCK_HELD) {
		CHECK(successes() <=
		    world.lock.intent.nservers - world.lock.intent.quorum);
		CHECK(deadline() - now() >= 500);
		if (world.lock.intent.mode == LOCK_SLOTTED)
			check_slot();
		if (world.lock.intent.max_ttl_ms > world.lock.intent.ttl_ms)
			locks_grow(&world.locks);
		hold(now() + chance(hold_ms));
		released(0);
	}
	for (int i = 0; i < world.lock.intent.nservers; i++)
		world.servers[i].reached =
		    conn_connected(&world.lock.servers[i].conn) &&
		    world.lock.servers[i].conn.state == CONN_READY;
	lock_close(&world.lock);
	return outcome;
}

static inline enum lock_outcome
live(int hold_ms)
{
	return live_until(0, hold_ms);
}

#endif
