/*
 * Grants that come with the wake, on one server with planned replies.  The TTL
 * is 60 s and the node timeout 3 s unless a test sets others.  The first
 * acquire is sent at 0 and refused at 10; the BLPOP after it ends at 510.  A
 * grant of 5000 ms is then valid for 4948 ms from 0.
 */
#include "../sim/world.h"
#include "tap.h"

static int64_t world_age_ms;    /* of the server; 0: it is old */
static int64_t world_cancel_ms; /* when a signal comes; 0: never */

/* Waits for the lock behind a holder of ours, for 60 s. */
static enum lock_outcome
wait_for_it(const char *plan, int64_t ttl_ms, int64_t grace_ms)
{
	begin_with_grace(1, ttl_ms, ttl_ms < 3000 ? ttl_ms / 10 : 3000,
	    grace_ms);
	world.servers[0].plan = plan;
	if (world_age_ms != 0)
		world.servers[0].started_ms = START - world_age_ms;
	if (world_cancel_ms != 0)
		happens(START + world_cancel_ms, CANCEL, 0);
	return acquire_until(START + 60000);
}

static void
end(void)
{
	lock_close(&world.lock);
}

static void
starts_at_once(void)
{
	SAME_INT(wait_for_it("no+10 granted=77+500 yes=78+5 yes", 60000, 0),
	    LOCK_HELD);
	SAME_INT(now(), 510);
	SAME_INT(deadline(), 5000 - 52);
	SAME_INT(locks_grant_ms(&world.locks), 5000);
	SAME_INT(lock_fence(&world.lock), 77);
	SAME_TEXT(sent(0), "acquire@0/1 wait@10/1");
	hold(600);
	SAME_TEXT(sent(0), "acquire@0/1 wait@10/1 renew@510/1");
	CHECK(nth(0, 2)->leaves);
	SAME_INT(deadline(), 510 + 60000 - 602);
	SAME_INT(locks_grant_ms(&world.locks), 0);
	SAME_INT(released(0), RELEASE_DONE);
	end();
}

/* L is the TTL where that is shorter. */
static void
short_ttl(void)
{
	SAME_INT(wait_for_it("no+10 granted+200 yes", 1000, 0), LOCK_HELD);
	SAME_INT(deadline(), 988);
	SAME_INT(locks_grant_ms(&world.locks), 1000);
	released(0);
	end();
}

/* After any other wake we send an acquire, which gets a full lease. */
static void
asks_otherwise(void)
{
	static const struct {
		const char *plan;
		int64_t ttl_ms;
		int64_t woken_ms;
	} rows[] = {
		{ "no+10 woken+500 yes=9+5 yes", 60000, 510 },
		{ "no+10 stale=8+500 yes=9+5 yes", 60000, 510 },
		{ "no+10 garbage+500 yes=9+5 yes", 60000, 510 },
		{ "no+10 granted=-1+500 yes=9+5 yes", 60000, 510 },
		/* Less than half of it is left. */
		{ "no+10 granted=8+495 yes=9+5 yes", 1000, 505 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		SAME_INT(wait_for_it(rows[i].plan, rows[i].ttl_ms, 0),
		    LOCK_HELD);
		SAME_INT(locks_grant_ms(&world.locks), 0);
		SAME_INT(deadline(),
		    rows[i].woken_ms + lease_valid_ms(rows[i].ttl_ms));
		SAME_INT(lock_fence(&world.lock), 9);
		released(0);
		end();
	}
}

/* It is old enough at 1010, too late for the grant. */
static void
young_server(void)
{
	world_age_ms = 59400;
	SAME_INT(wait_for_it("no+10 granted=8+500 yes=9", 60000, 60000),
	    LOCK_HELD);
	world_age_ms = 0;
	SAME_INT(locks_grant_ms(&world.locks), 0);
	CHECK(now() >= 1010);
	SAME_INT(lock_fence(&world.lock), 9);
	released(0);
	end();
}

static void
who_takes_them(void)
{
	struct server *s;
	struct intent *l = &world.lock.intent;
	struct grant g;

	begin(1, 60000, 3000);
	s = &world.lock.servers[0];
	l->wait_end_ms = FOREVER;
	l->last = true;
	CHECK(grant_is_possible(s));
	l->replicas = 1;
	CHECK(!grant_is_possible(s));
	l->replicas = 0;
	l->last = false;
	CHECK(!grant_is_possible(s));
	l->last = true;
	l->mode = LOCK_SHARED;
	CHECK(!grant_is_possible(s));
	l->mode = LOCK_SLOTTED;
	CHECK(!grant_is_possible(s));
	l->mode = LOCK_EXCLUSIVE;
	l->nservers = 3;
	CHECK(!grant_is_possible(s));
	l->nservers = 1;
	l->wait_end_ms = 0;
	CHECK(!grant_is_possible(s));
	l->wait_end_ms = FOREVER;
	s->grant.nonce = 1;
	s->grant.sent_ms = clock_now_ms();
	l->phase = PHASE_HOLD;
	CHECK(!grant_is_possible(s));
	CHECK(!grant_take(s, "1 1000 5000", 11, &g));
	l->phase = PHASE_ACQUIRE;
	SAME_INT(s->grant.nonce, 0); /* it was for one reply */
	CHECK(!grant_take(s, "1 1000 5000", 11, &g));
	end();
}

/* Every acquire has a nonce of its own, also those of one millisecond. */
static void
nonces_grow(void)
{
	int64_t last = 0, nonce;

	SAME_INT(wait_for_it("no woken no woken no woken no granted yes", 60000,
		     0),
	    LOCK_HELD);
	for (int i = 0; nth(0, i)->left; i++) {
		if (nth(0, i)->label != ACQUIRE)
			continue;
		nonce = atoll(nth(0, i)->args[7]);
		CHECK(nonce > last);
		last = nonce;
	}
	SAME_INT(count(0, ACQUIRE), 4);
	SAME_INT(locks_grant_ms(&world.locks), 5000);
	released(0);
	end();
}

/*
 * 3838 ms are left until SIGTERM when the confirmation is sent.  A quarter of
 * that is 959.
 */
static void
confirmed_later(void)
{
	static const struct {
		const char *plan;
		const char *sent;
		int64_t deadline_ms;
	} rows[] = {
		{ "no+10 granted+500 error yes",
		    "acquire@0/1 wait@10/1 renew@510/1 renew@1010/1",
		    1010 + 59398 },
		{ "no+10 granted+500 silent yes",
		    "acquire@0/1 wait@10/1 renew@510/1 renew@1469/2",
		    1469 + 59398 },
		{ "no+10 granted+500 lost yes",
		    "acquire@0/1 wait@10/1 renew@510/1 renew@510/2",
		    510 + 59398 },
		{ "no+10 granted+500 garbage yes",
		    "acquire@0/1 wait@10/1 renew@510/1 renew@1010/1",
		    1010 + 59398 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		SAME_INT(wait_for_it(rows[i].plan, 60000, 0), LOCK_HELD);
		hold(2000);
		SAME_TEXT(sent(0), rows[i].sent);
		SAME_INT(deadline(), rows[i].deadline_ms);
		for (int j = 2; j < 4; j++) {
			SAME_TEXT(nth(0, j)->args[2], " waited=510");
			SAME_TEXT(nth(0, j)->args[3], "1");
		}
		released(0);
		end();
	}
}

/* D is final: no acquire brings it back. */
static void
never_confirmed(void)
{
	SAME_INT(wait_for_it("no+10 granted+500 silent", 60000, 0), LOCK_HELD);
	hold(8000);
	SAME_INT(deadline(), 4948);
	SAME_INT(count(0, ACQUIRE), 1);
	CHECK(count(0, RENEW) > 3);
	SAME_INT(released(0), RELEASE_NOT_OURS);
	end();
}

static void
refused(void)
{
	SAME_INT(wait_for_it("no+10 granted+500 no", 60000, 0), LOCK_HELD);
	hold(520);
	SAME_INT(deadline(), 0);
	CHECK(lock_state(&world.lock) != NULL);
	SAME_INT(released(0), RELEASE_NOT_OURS);
	end();
}

static void
released_before(void)
{
	SAME_INT(wait_for_it("no+10 granted+500 yes+50 yes", 60000, 0),
	    LOCK_HELD);
	hold(520);
	SAME_INT(released(0), RELEASE_DONE);
	SAME_INT(now(), 560);
	SAME_TEXT(sent(0), "acquire@0/1 wait@10/1 renew@510/1 release@520/1");
	end();
}

/* A grant that we give up goes to the next waiter. */
static void
cancelled(void)
{
	world_cancel_ms = 510;
	SAME_INT(wait_for_it("no+10 granted+500 yes", 60000, 0),
	    LOCK_CANCELLED);
	world_cancel_ms = 0;
	SAME_TEXT(sent(0), "acquire@0/1 wait@10/1 release@510/1");
	SAME_TEXT(nth(0, 2)->args[1], "1");
	SAME_TEXT(nth(0, 2)->args[4], "");
	end();
}

static void
dropped_grant(void)
{
	SAME_INT(wait_for_it("no+10 granted=8+500 yes=9+5 yes", 60000, 0),
	    LOCK_HELD);
	locks_drop_grant(&world.locks);
	SAME_INT(deadline(), 0);
	SAME_INT(locks_acquire(&world.locks, &world.owner, START + 60000,
		     ignore_wait_cb, NULL),
	    LOCK_HELD);
	SAME_TEXT(sent(0), "acquire@0/1 wait@10/1 acquire@510/1");
	SAME_INT(deadline(), 510 + 59398);
	SAME_INT(lock_fence(&world.lock), 9);
	released(0);
	end();
}

/* An element of the list that a waiter blocks on: anybody can write one. */
static void
elements_parse(void)
{
	static const struct {
		const char *text;
		int result;
	} rows[] = {
		{ "1 1000 5000", 0 },
		{ "0 1 1", 0 },
		{ "1 8999999999999999 100000000000000", 0 },
		{ "1 9000000000000000 5000", -1 },
		{ "1 1000 100000000000001", -1 },
		{ "1 0 5000", -1 },
		{ "1 -1000 5000", -1 },
		{ "1 1000 5000 ", 0 },
		{ "1 1000 5000 lane=7 x", 0 },
		{ "1 1000 5000x", -1 },
		{ "1 1000 ", -1 },
		{ "1 1000", -1 },
		{ " 1 1000 5000", -1 },
		{ "1", -1 },
		{ "", -1 },
	};
	struct grant g;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = strlen(rows[i].text);
		char *bytes = tap_bytes(rows[i].text, len);

		SAME_INT(grant_parse(&g, bytes, len), rows[i].result);
		free(bytes);
	}
	SAME_INT(grant_parse(&g, "12 1000 5000", 11), 0);
	SAME_INT(g.nonce, 12);
	SAME_INT(g.fence, 1000);
	SAME_INT(g.length_ms, 500);
}

static const struct tap_test tests[] = {
	{ "COMMAND starts under a grant that came with the wake",
	    starts_at_once },
	{ "a grant is no longer than the TTL", short_ttl },
	{ "a wake without our nonce, or too late, makes us ask",
	    asks_otherwise },
	{ "a nonce, a fence and a length make a grant, whatever words follow",
	    elements_parse },
	{ "a young server cannot pass a lock on to us", young_server },
	{ "only a waiter for its last exclusive lock on one server takes one",
	    who_takes_them },
	{ "every acquire has a larger nonce than the one before", nonces_grow },
	{ "a confirmation that fails is repeated within the grant",
	    confirmed_later },
	{ "a grant that is never confirmed ends, and for good",
	    never_confirmed },
	{ "a confirmation that is refused is a loss", refused },
	{ "a release follows the confirmation on its connection",
	    released_before },
	{ "a signal during the wake passes the lock on", cancelled },
	{ "a grant that is given up unused is asked for again", dropped_grant },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
