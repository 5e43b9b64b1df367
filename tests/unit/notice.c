/*
 * Pushes of a changed key, whose times the test chooses.  The lease is 1000 ms
 * unless a test sets another, so a renewal is due each 333 ms, and two renewals
 * after pushes are 100 ms apart.
 */
#include "../sim/world.h"
#include "tap.h"

/* What a push names. */
enum { ALL, OURS, OTHERS };

static void
push(int64_t at_ms, int what)
{
	happens(START + at_ms, PUSH, 0)->ms = what;
}

static void
begin_watched(int n, int64_t ttl_ms)
{
	next_world.pushes = true;
	begin(n, ttl_ms, ttl_ms / 10);
	next_world.pushes = false;
}

/* Takes the lock, at once, and holds it so long. */
static void
hold_watched(int64_t ttl_ms, const char *plan, int64_t until_ms)
{
	begin_watched(1, ttl_ms);
	world.servers[0].plan = plan;
	SAME_INT(acquire(), LOCK_HELD);
	hold(until_ms);
}

static void
end(void)
{
	released(0);
	lock_close(&world.lock);
}

static void
watch_begins(void)
{
	hold_watched(1000, "yes", 299);
	SAME_INT(world.servers[0].tracked, 0);
	SAME_TEXT(sent(0), "acquire@0/1");
	hold(1100);
	SAME_INT(world.servers[0].tracked, 1);
	SAME_TEXT(sent(0), "acquire@0/1 renew@300/1 renew@633/1 renew@966/1");
	SAME_TEXT(nth(0, 0)->watches, "");
	for (int i = 1; i < 4; i++)
		SAME_TEXT(nth(0, i)->watches, "p:n");
	end();
	/* A renewal that is due earlier takes it along. */
	hold_watched(600, "yes", 500);
	SAME_TEXT(sent(0), "acquire@0/1 renew@200/1 renew@400/1");
	SAME_TEXT(nth(0, 1)->watches, "p:n");
	end();
}

static void
no_pushes(void)
{
	begin(1, 1000, 100);
	SAME_INT(acquire(), LOCK_HELD);
	hold(700);
	SAME_INT(world.servers[0].tracked, 0);
	SAME_TEXT(sent(0), "acquire@0/1 renew@333/1 renew@666/1");
	SAME_TEXT(nth(0, 1)->watches, "");
	end();
}

static void
push_renews(void)
{
	for (int what = ALL; what <= OTHERS; what++) {
		begin_watched(1, 60000);
		push(500, what);
		SAME_INT(acquire(), LOCK_HELD);
		hold(20400);
		SAME_TEXT(sent(0),
		    what == OTHERS ? "acquire@0/1 renew@300/1 renew@20300/1" :
				     "acquire@0/1 renew@300/1 renew@500/1");
		SAME_TEXT(nth(0, 2)->watches, "p:n");
		end();
	}
}

static void
loss_is_noticed(void)
{
	static const char *const plans[] = { "yes yes no+5", "yes yes free+5" };

	for (int i = 0; i < 2; i++) {
		begin_watched(1, 60000);
		world.servers[0].plan = plans[i];
		push(1234, OURS);
		SAME_INT(acquire(), LOCK_HELD);
		hold(1238);
		CHECK(deadline() > 60000 - 602);
		hold(1240);
		SAME_INT(deadline(), 0);
		SAME_INT(released(0), RELEASE_NOT_OURS);
		lock_close(&world.lock);
	}
}

static void
many_pushes(void)
{
	begin_watched(1, 60000);
	for (int at_ms = 500; at_ms < 6600; at_ms += 20)
		push(at_ms, at_ms % 40 == 0 ? ALL : OURS);
	SAME_INT(acquire(), LOCK_HELD);
	hold(13000);
	SAME_TEXT(sent(0),
	    "acquire@0/1 renew@300/1 renew@500/1 renew@6500/1 renew@12500/1");
	SAME_TEXT(nth(0, 4)->watches, "p:n");
	end();
}

/* Its reply knows of the change, or it is our own, see Redis 6.0. */
static void
push_before_the_reply(void)
{
	begin_watched(1, 1000);
	world.servers[0].plan = "yes yes+50 yes";
	push(320, OURS);
	SAME_INT(acquire(), LOCK_HELD);
	hold(632);
	SAME_TEXT(sent(0), "acquire@0/1 renew@300/1");
	end();
}

static void
early_push(void)
{
	begin_watched(1, 1000);
	push(100, OURS);
	SAME_INT(acquire(), LOCK_HELD);
	hold(299);
	SAME_TEXT(sent(0), "acquire@0/1");
	end();
}

static void
each_connection(void)
{
	begin_watched(1, 60000);
	SAME_INT(acquire(), LOCK_HELD);
	cut(0, 450);
	hold(450);
	cut(0, 460);
	push(5000, OURS);
	hold(11000);
	SAME_INT(world.servers[0].tracked, 3);
	SAME_TEXT(sent(0),
	    "acquire@0/1 renew@300/1 renew@450/2 renew@470/3 renew@5000/3");
	for (int i = 1; i < 5; i++)
		SAME_TEXT(nth(0, i)->watches, "p:n");
	end();
}

/* As in a cluster, where a moved slot changes the connection unseen. */
static void
moved(void)
{
	begin_watched(1, 60000);
	SAME_INT(acquire(), LOCK_HELD);
	hold(1000);
	tracking_begin(&world.lock.servers[0].conn.tracking);
	hold(7000);
	tracking_begin(&world.lock.servers[0].conn.tracking);
	hold(13000);
	SAME_TEXT(sent(0),
	    "acquire@0/1 renew@300/1 renew@6300/1 renew@12300/1");
	SAME_INT(world.servers[0].tracked, 3);
	end();
}

static void
refused(void)
{
	begin_watched(1, 1000);
	world.servers[0].tracks = "no";
	push(400, OURS);
	SAME_INT(acquire(), LOCK_HELD);
	cut(0, 1000);
	hold(1300);
	SAME_TEXT(sent(0),
	    "acquire@0/1 renew@300/1 renew@633/1 renew@966/1 renew@1000/2");
	SAME_TEXT(nth(0, 2)->watches, "");
	SAME_INT(world.servers[0].tracked, 2);
	end();
}

/* The second time, a renewal on the same connection has kept the lease. */
static void
closed_at_hello(void)
{
	begin_watched(1, 1000);
	world.servers[0].tracks = "closes";
	SAME_INT(acquire(), LOCK_HELD);
	hold(320);
	SAME_INT(world.servers[0].tracked, 2);
	SAME_TEXT(sent(0),
	    "acquire@0/1 renew@300/1 renew@300/2 renew@300/2 renew@310/3");
	SAME_TEXT(nth(0, 1)->watches, "p:n");
	SAME_TEXT(nth(0, 2)->watches, "");
	SAME_TEXT(nth(0, 3)->watches, "p:n");
	SAME_TEXT(nth(0, 4)->watches, "");
	cut(0, 500);
	hold(900);
	SAME_INT(world.servers[0].tracked, 2);
	SAME_INT(count(0, RENEW), 6);
	CHECK(deadline() > 1000);
	end();
}

static void
dead_at_tracking(void)
{
	begin_watched(1, 1000);
	world.servers[0].tracks = "silent";
	world.servers[0].plan = "yes silent yes silent yes";
	SAME_INT(acquire(), LOCK_HELD);
	hold(1200);
	SAME_INT(world.servers[0].tracked, 2);
	SAME_TEXT(sent(0),
	    "acquire@0/1 renew@300/1 renew@400/2 renew@400/2 renew@500/3 "
	    "renew@833/3 renew@1166/3");
	CHECK(deadline() > 1800);
	end();
}

static void
closed_once(void)
{
	begin_watched(1, 60000);
	world.servers[0].tracks = "once";
	push(5000, OURS);
	SAME_INT(acquire(), LOCK_HELD);
	hold(11000);
	SAME_INT(world.servers[0].tracked, 2);
	SAME_TEXT(sent(0),
	    "acquire@0/1 renew@300/1 renew@300/2 renew@300/2 renew@5000/2");
	SAME_TEXT(nth(0, 3)->watches, "p:n");
	end();
}

/* The server has forgotten the script: the renewal goes out again at once. */
static void
forgotten_script(void)
{
	begin_watched(1, 60000);
	world.servers[0].plan = "yes unloaded+4 yes";
	SAME_INT(acquire(), LOCK_HELD);
	hold(20000);
	SAME_TEXT(sent(0), "acquire@0/1 renew@300/1 renew@304/1");
	SAME_TEXT(nth(0, 2)->watches, "p:n");
	SAME_INT(deadline(), 300 + 60000 - 602);
	end();
}

/* The renewal of one reader would be pushed to all others. */
static void
readers(void)
{
	next_world.mode = LOCK_SHARED;
	hold_watched(1000, "yes", 700);
	next_world.mode = LOCK_EXCLUSIVE;
	SAME_INT(world.servers[0].tracked, 0);
	SAME_TEXT(sent(0), "acquire@0/1 renew@333/1 renew@666/1");
	end();
}

static void
slots(void)
{
	next_world.mode = LOCK_SLOTTED;
	next_world.slots = 3;
	begin_watched(1, 60000);
	next_world.mode = LOCK_EXCLUSIVE;
	next_world.slots = 1;
	world.model = world.calm = true;
	world.servers[0].key[0].until_ms = START + FOREVER;
	push(5000, OURS); /* the lock's own key is slot 1 */
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(lock_slot(&world.lock), 2);
	hold(19000);
	SAME_INT(count(0, RENEW), 1);
	SAME_TEXT(nth(0, first(0, RENEW))->watches, "{p:n}:~2");
	end();
}

/* Before COMMAND starts, the first of several locks is renewed. */
static void
several_locks(void)
{
	begin_watched(1, 60000);
	SAME_INT(acquire(), LOCK_HELD);
	hold(10);
	lock_renew(&world.lock);
	hold(400);
	SAME_TEXT(sent(0), "acquire@0/1 renew@10/1 renew@300/1");
	SAME_TEXT(nth(0, 1)->watches, "");
	SAME_TEXT(nth(0, 2)->watches, "p:n");
	end();
}

/* A candidate's confirmation is sent at once, and asks for nothing. */
static void
confirmation(void)
{
	begin_watched(3, 1000);
	SAME_INT(acquire_until(START + 5000), LOCK_HELD);
	hold(320);
	for (int i = 0; i < 3; i++) {
		SAME_TEXT(sent(i), "acquire@0/1 renew@0/1 renew@300/1");
		CHECK(nth(i, 1)->leaves);
		SAME_TEXT(nth(i, 1)->watches, "");
		SAME_TEXT(nth(i, 2)->watches, "p:n");
	}
	end();
}

/* Waits behind another program's lock, which ends at the fourth acquire. */
static void
wait_behind_another(const char *tracks)
{
	world.servers[0].plan = "other other other other yes";
	world.servers[0].tracks = tracks;
	SAME_INT(acquire_until(START + 5000), LOCK_HELD);
}

static void
head_behind_another(void)
{
	begin_watched(1, 60000);
	push(400, OURS);
	wait_behind_another(NULL);
	/* Its lock ends in 700 ms, if nothing happens. */
	SAME_TEXT(sent(0),
	    "acquire@0/1 acquire@25/1 acquire@400/1 acquire@1101/1 "
	    "acquire@1802/1");
	SAME_TEXT(nth(0, 0)->watches, "");
	SAME_TEXT(nth(0, 1)->watches, "p:n");
	hold(2200);
	SAME_INT(world.servers[0].tracked, 1);
	SAME_TEXT(nth(0, 5)->watches, "p:n");
	SAME_INT(nth(0, 5)->at_ms - START, 2102);
	end();
	begin_watched(1, 60000);
	wait_behind_another("no");
	SAME_TEXT(sent(0),
	    "acquire@0/1 acquire@25/1 acquire@75/1 acquire@175/1 "
	    "acquire@375/1");
	end();
}

/* The holder's release wakes us, so nothing is watched. */
static void
waiter_in_blpop(void)
{
	begin_watched(1, 60000);
	world.servers[0].plan = "no woken+500 yes";
	push(300, OURS);
	SAME_INT(acquire_until(START + 5000), LOCK_HELD);
	SAME_INT(world.servers[0].tracked, 0);
	SAME_INT(now(), 500);
	end();
}

static const struct tap_test tests[] = {
	{ "the watch begins after 300 ms, with a renewal, and reads the key",
	    watch_begins },
	{ "without pushes nothing is sent early, and no key is read",
	    no_pushes },
	{ "a push that names our key, or any key, renews at once",
	    push_renews },
	{ "after a push the renewal decides: a lock that is not ours any more "
	  "is lost",
	    loss_is_noticed },
	{ "pushes cause at most one renewal in a tenth of the lease",
	    many_pushes },
	{ "a push while a renewal has no reply is ignored",
	    push_before_the_reply },
	{ "a push before the watch begins is ignored", early_push },
	{ "each connection is watched anew, with its first renewal",
	    each_connection },
	{ "a connection that changes with each request is watched a tenth of the "
	  "lease later",
	    moved },
	{ "a server that refuses is asked again on the next connection only",
	    refused },
	{ "a server that closes the connection at HELLO is asked twice, the "
	  "second time behind a renewal",
	    closed_at_hello },
	{ "a connection that goes dead at CLIENT TRACKING, twice, does not "
	  "cost the lock",
	    dead_at_tracking },
	{ "after one connection that closes at HELLO, the next one is watched "
	  "at once",
	    closed_once },
	{ "a renewal whose script was forgotten goes out again at once",
	    forgotten_script },
	{ "a reader watches nothing", readers },
	{ "with slots, the key of our own slot is watched", slots },
	{ "the renewal before COMMAND starts asks for no pushes",
	    several_locks },
	{ "the confirmation of a candidate asks for no pushes", confirmation },
	{ "the first waiter behind another program asks when the key changes, "
	  "and when its lease ends",
	    head_behind_another },
	{ "a waiter that the holder wakes asks for no pushes",
	    waiter_in_blpop },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
