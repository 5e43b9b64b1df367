/*
 * The rule of lock.h and the states around it, with servers that answer what
 * a test wants, when it wants it.  The lease is 1000 ms unless a test says
 * otherwise, so that an answer is worth 988 ms from its sending; a server may
 * take 100 ms.
 */
#define clock_now_ms  made_up_now_ms
#define clock_wall_us made_up_wall_us

#include "../../src/lock.c"
#include "servers.h"
#include "tap.h"

#define LIVES 3000

static int
descending_cb(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

static void
compare_with_sorting(const int64_t valid_ms[], int n)
{
	int64_t sorted[SERVERS];

	memcpy(sorted, valid_ms, (size_t)n * sizeof(sorted[0]));
	qsort(sorted, (size_t)n, sizeof(sorted[0]), descending_cb);
	for (int q = 1; q <= n; q++)
		if (lock_deadline_of(valid_ms, n, q) != sorted[q - 1])
			tap_fail("n %d, q %d: %lld", n, q,
			    (long long)lock_deadline_of(valid_ms, n, q));
}

/* All orders with all ties: each of n values is one of n + 1. */
static void
deadlines(void)
{
	static const int64_t values[] = { 0, 1, 2, 60000, 1763635200123,
		INT64_MAX };
	int64_t valid_ms[SERVERS];
	int all;

	for (int n = 1; n <= SERVERS; n++) {
		all = 1;
		for (int i = 0; i < n; i++)
			all *= n + 1;
		for (int c = 0; c < all; c++) {
			for (int i = 0, rest = c; i < n; i++, rest /= n + 1)
				valid_ms[i] = values[rest % (n + 1)];
			compare_with_sorting(valid_ms, n);
		}
	}
}

static void
quorums(void)
{
	static const int want[] = { 0, 1, 2, 2, 3, 3 };

	for (int n = 1; n <= SERVERS; n++) {
		begin(n, 1000, 100);
		SAME_INT(world.lock.quorum, want[n]);
		SAME_INT(deadline(), 0);
		lock_close(&world.lock);
	}
}

static void
keys(void)
{
	static const struct {
		const char *prefix;
		const char *name;
		const char *key;
		const char *fence;
	} rows[] = {
		{ "redlock:", "nightly", "redlock:nightly",
		    "{redlock:nightly}:~fence" },
		{ "", "nightly", "nightly", "{nightly}:~fence" },
		{ "p:", "{tag}x", "p:{tag}x", "p:{tag}x:~fence" },
		{ "p:", "x{tag}", "p:x{tag}", "p:x{tag}:~fence" },
		{ "{app}:", "x", "{app}:x", "{app}:x:~fence" },
		{ "{app}:", "{tag}", "{app}:{tag}", "{app}:{tag}:~fence" },
		{ "p:", "{a}{b}", "p:{a}{b}", "p:{a}{b}:~fence" },
		{ "p:", "{x", "p:{x", "{p:{x}:~fence" },
		{ "p:", "{}x", "p:{}x", "{p:{}x}:~fence" },
		{ "p{", "x}", "p{x}", "p{x}:~fence" },
		{ "p:", "a b", "p:a b", "{p:a b}:~fence" },
	};
	char key[LOCK_KEY], fence[LOCK_KEY];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		lock_keys(rows[i].prefix, rows[i].name, key, fence);
		SAME_TEXT(key, rows[i].key);
		SAME_TEXT(fence, rows[i].fence);
	}
}

static void
long_keys(void)
{
	char text[LOCK_NAME + 1], key[LOCK_KEY], fence[LOCK_KEY];

	memset(text, 'x', LOCK_NAME);
	text[LOCK_NAME] = '\0';
	lock_keys(text, text, key, fence);
	SAME_INT(strlen(key), 2 * LOCK_NAME);
	SAME_INT(strlen(fence), 2 * LOCK_NAME + 9);
	CHECK(strcmp(fence + strlen(fence) - 8, "}:~fence") == 0);
}

/* What the scripts refuse with: 0, value, PTTL, the server's time. */
static void
views(void)
{
	static char value[2 * LOCK_VALUE];
	struct reply r = { 4, { 0, 0, 700, 123 }, "a thief" };
	struct answer a = { .kind = ANSWER_REPLY, .reply = &r };
	struct lock_view v;

	memset(&v, 0x55, sizeof(v));
	SAME_INT(lock_view_read(&v, &a), 0);
	CHECK(v.taken);
	SAME_INT(v.len, 7);
	CHECK(memcmp(v.value, "a thief", 7) == 0);
	SAME_INT(v.ttl_ms, 700);
	SAME_INT(v.now_ms, 123);

	memset(value, 'x', sizeof(value) - 1);
	r.text = value;
	SAME_INT(lock_view_read(&v, &a), 0);
	SAME_INT(v.len, LOCK_VALUE);
	r.text = NULL;
	SAME_INT(lock_view_read(&v, &a), 0);
	CHECK(!v.taken);
	SAME_INT(v.len, 0);

	r.count = 3;
	SAME_INT(lock_view_read(&v, &a), -1);
	a.reply = NULL;
	SAME_INT(lock_view_read(&v, &a), -1);
	r.count = 4;
	a.reply = &r;
	a.kind = ANSWER_UNABLE;
	SAME_INT(lock_view_read(&v, &a), -1);
}

/* Who was named as the holder; nobody, for ever, if nobody was. */
static struct lock_view
holder(void)
{
	const struct lock_view *v = lock_view(&world.lock);

	if (v != NULL)
		return *v;
	return (struct lock_view){ .ttl_ms = -1 };
}

static void
counts_from_sending(void)
{
	begin(1, 1000, 100);
	world.servers[0].plan = "yes+40 yes+30";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(now(), 40);
	SAME_INT(deadline(), 988);
	hold(350);
	SAME_INT(deadline(), 988);
	hold(400);
	SAME_INT(deadline(), 333 + 988);
	SAME_TEXT(sent(0), "acquire@0/1 renew@333/1");
	lock_close(&world.lock);
}

static void
waits_for_connection(void)
{
	begin(1, 1000, 100);
	world.servers[0].connects = "now+30";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(now(), 30);
	SAME_INT(deadline(), 988);
	SAME_TEXT(sent(0), "acquire@30/1");
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].greeting_ms = 20;
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(deadline(), 20 + 988);
	SAME_TEXT(sent(0), "acquire@20/1");
	lock_close(&world.lock);
}

static void
renews_at_thirds(void)
{
	begin(1, 60000, 3000);
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(deadline(), 60000 - 602);
	hold(65000);
	SAME_TEXT(
	    sent(0), "acquire@0/1 renew@20000/1 renew@40000/1 renew@60000/1");
	SAME_INT(deadline(), 120000 - 602);
	SAME_TEXT(world.requests[1].last, "1000"); /* the fence */
	lock_close(&world.lock);
}

static void
half_of_the_lease(void)
{
	char why[LOCK_WHY];

	begin(1, 1000, 600);
	world.servers[0].plan = "yes+488";
	SAME_INT(acquire(), LOCK_HELD);
	lock_close(&world.lock);

	begin(1, 1000, 600);
	world.servers[0].plan = "yes+489 yes";
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	SAME_TEXT(sent(0), "acquire@0/1 release@489/1");
	CHECK(strstr(lock_why(&world.lock, why), "slowly") != NULL);
	lock_close(&world.lock);
}

static void
errors_change_nothing(void)
{
	static const char *const plans[] = { "yes error+7 error yes",
		"yes denied+7 denied yes", "yes garbage+7 garbage yes" };

	for (int i = 0; i < 3; i++) {
		begin(1, 1000, 100);
		world.servers[0].plan = plans[i];
		SAME_INT(acquire(), LOCK_HELD);
		hold(530);
		SAME_INT(deadline(), 988);
		hold(600);
		SAME_INT(deadline(), 533 + 988);
		SAME_TEXT(
		    sent(0), "acquire@0/1 renew@333/1 renew@433/1 renew@533/1");
		SAME_INT(lock_release(&world.lock, 0), RELEASE_DONE);
		lock_close(&world.lock);
	}
}

/* Whatever goes wrong, what was won stays until its time is over. */
static void
failures_change_nothing(void)
{
	static const char *const plans[] = { "yes error", "yes denied",
		"yes garbage", "yes silent", "yes lost", "yes lost+50",
		"yes error+150" };
	char why[LOCK_WHY];

	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		begin(1, 1000, 100);
		world.servers[0].plan = plans[i];
		SAME_INT(acquire(), LOCK_HELD);
		hold(988);
		SAME_INT(deadline(), 988);
		CHECK(lock_why(&world.lock, why) == why);
		lock_close(&world.lock);
	}
}

static void
not_yours(void)
{
	static const char *const plans[] = { "yes no+5 yes", "yes free+5 yes" };

	for (int i = 0; i < 2; i++) {
		begin(1, 1000, 100);
		world.servers[0].plan = plans[i];
		SAME_INT(acquire(), LOCK_HELD);
		CHECK(lock_view(&world.lock) == NULL);
		hold(337);
		SAME_INT(deadline(), 988);
		hold(338);
		SAME_INT(deadline(), 0);
		CHECK(lock_view(&world.lock) != NULL);
		CHECK(holder().taken == (i == 0));
		hold(5000);
		SAME_INT(deadline(), 0);
		SAME_INT(lock_release(&world.lock, 0), RELEASE_DONE);
		SAME_TEXT(sent(0), "acquire@0/1 renew@333/1");
		lock_close(&world.lock);
	}
}

static void
unanswered_renewal(void)
{
	begin(1, 1000, 100);
	world.servers[0].plan = "yes silent";
	SAME_INT(acquire(), LOCK_HELD);
	hold(980);
	SAME_INT(deadline(), 988);
	SAME_TEXT(sent(0),
	    "acquire@0/1 renew@333/1 renew@433/2 renew@633/3 renew@833/4");
	lock_close(&world.lock);
}

static void
lost_connection(void)
{
	begin(1, 1000, 100);
	SAME_INT(acquire(), LOCK_HELD);
	cut(0, 200);
	hold(250);
	SAME_TEXT(sent(0), "acquire@0/1 renew@200/2");
	SAME_INT(deadline(), 200 + 988);
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].connects = "now refused refused+3 now";
	SAME_INT(acquire(), LOCK_HELD);
	cut(0, 200);
	hold(600);
	SAME_TEXT(sent(0), "acquire@0/1 renew@403/4");
	SAME_INT(deadline(), 403 + 988);
	lock_close(&world.lock);
}

static void
reopened_often(void)
{
	begin(1, 60000, 3000);
	world.servers[0].connects = "now refused refused refused refused now";
	SAME_INT(acquire(), LOCK_HELD);
	cut(0, 5000);
	hold(10000);
	SAME_TEXT(sent(0), "acquire@0/1 renew@5800/6");
	lock_close(&world.lock);
}

static void
lost_renewal(void)
{
	begin(1, 1000, 100);
	world.servers[0].plan = "yes lost+20 yes";
	SAME_INT(acquire(), LOCK_HELD);
	hold(400);
	SAME_TEXT(sent(0), "acquire@0/1 renew@333/1 renew@353/2");
	SAME_INT(deadline(), 353 + 988);
	lock_close(&world.lock);
}

static void
lost_acquire(void)
{
	begin(1, 1000, 100);
	world.servers[0].plan = "lost+5 yes+1";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_TEXT(sent(0), "acquire@0/1 acquire@15/2");
	SAME_TEXT(world.requests[0].id, world.requests[1].id);
	SAME_INT(deadline(), 15 + 988);
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].plan = "lost+5";
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	CHECK(strstr(sent(0), "release@") != NULL);
	CHECK(now() <= 200);
	lock_close(&world.lock);
}

static void
unanswered_acquire(void)
{
	char why[LOCK_WHY];

	begin(1, 1000, 100);
	world.servers[0].plan = "silent yes";
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	SAME_TEXT(sent(0), "acquire@0/1 release@100/1");
	SAME_INT(now(), 200);
	SAME_TEXT(
	    lock_why(&world.lock, why), "server0: no answer within 100ms");
	lock_close(&world.lock);
}

static void
late_acquire(void)
{
	begin(1, 1000, 100);
	world.servers[0].plan = "yes+150 yes";
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	SAME_TEXT(sent(0), "acquire@0/1 release@100/1");
	SAME_INT(now(), 150);
	SAME_INT(deadline(), 0);
	SAME_INT(world.lock.fence, 0);
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].plan = "no+150 yes";
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	CHECK(lock_view(&world.lock) == NULL);
	lock_close(&world.lock);
}

static void
late_renewal(void)
{
	static const char *const plans[] = { "yes yes+30 yes", "yes no+30 yes",
		"yes error+30 yes" };

	for (int i = 0; i < 3; i++) {
		begin(1, 1000, 100);
		world.servers[0].plan = plans[i];
		SAME_INT(acquire(), LOCK_HELD);
		hold(340);
		SAME_INT(lock_release(&world.lock, 0), RELEASE_DONE);
		SAME_INT(now(), 363);
		SAME_INT(deadline(), 988);
		CHECK(lock_view(&world.lock) == NULL);
		SAME_TEXT(sent(0), "acquire@0/1 renew@333/1 release@340/1");
		lock_close(&world.lock);
	}
}

static void
nothing_left_this_host(void)
{
	char why[LOCK_WHY];

	begin(1, 1000, 100);
	world.servers[0].connects = "never";
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	SAME_INT(now(), 100);
	SAME_TEXT(sent(0), "");
	SAME_TEXT(
	    lock_why(&world.lock, why), "server0: no answer within 100ms");
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].connects = "refused";
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	SAME_INT(now(), 0);
	SAME_TEXT(sent(0), "");
	SAME_TEXT(lock_why(&world.lock, why), "server0: Connection refused");
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].connects = "refused+5";
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	SAME_INT(now(), 5);
	SAME_TEXT(sent(0), "");
	SAME_TEXT(lock_why(&world.lock, why), "server0: Connection refused");
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].greeting_ms = 5000;
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	SAME_INT(now(), 100);
	SAME_TEXT(sent(0), "");
	lock_close(&world.lock);
}

static void
busy(void)
{
	begin(1, 1000, 100);
	world.servers[0].plan = "no+3";
	SAME_INT(acquire(), LOCK_BUSY);
	SAME_INT(now(), 3);
	SAME_TEXT(sent(0), "acquire@0/1");
	SAME_INT(deadline(), 0);
	CHECK(holder().taken);
	SAME_INT(holder().len, 7);
	SAME_INT(holder().ttl_ms, 700);
	lock_close(&world.lock);
}

/* A script may have failed behind its first write. */
static void
unable(void)
{
	static const struct {
		const char *plan;
		enum lock_outcome outcome;
		const char *why;
	} rows[] = {
		{ "error+3 yes", LOCK_UNREACHABLE,
		    "server0: LOADING it loads" },
		{ "denied+3 yes", LOCK_DENIED, "server0: NOPERM it may not" },
		{ "garbage+3 yes", LOCK_UNREACHABLE,
		    "server0: its answer makes no sense" },
	};
	char why[LOCK_WHY];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(1, 1000, 100);
		world.servers[0].plan = rows[i].plan;
		SAME_INT(acquire(), rows[i].outcome);
		SAME_INT(now(), 3);
		SAME_TEXT(sent(0), "acquire@0/1 release@3/1");
		SAME_TEXT(lock_why(&world.lock, why), rows[i].why);
		lock_close(&world.lock);
	}
}

static void
cancelled(void)
{
	begin(1, 1000, 100);
	world.servers[0].plan = "silent";
	happens(START + 30, CANCEL, 0, ASK_NOTHING, YES);
	SAME_INT(acquire(), LOCK_CANCELLED);
	SAME_TEXT(sent(0), "acquire@0/1 release@30/1");
	SAME_INT(now(), 30 + 50);
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].connects = "never";
	happens(START + 30, CANCEL, 0, ASK_NOTHING, YES);
	SAME_INT(acquire(), LOCK_CANCELLED);
	SAME_TEXT(sent(0), "");
	SAME_INT(now(), 30);
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].plan = "yes+30";
	happens(START + 30, CANCEL, 0, ASK_NOTHING, YES);
	SAME_INT(acquire(), LOCK_CANCELLED);
	SAME_TEXT(sent(0), "acquire@0/1 release@30/1");
	lock_close(&world.lock);
}

static void
releases(void)
{
	begin(1, 1000, 100);
	world.servers[0].plan = "yes yes+20";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(lock_release(&world.lock, 0), RELEASE_DONE);
	SAME_INT(now(), 20);
	SAME_TEXT(sent(0), "acquire@0/1 release@0/1");
	SAME_TEXT(world.requests[1].last, "0");
	SAME_TEXT(world.requests[1].id, world.requests[0].id);
	lock_close(&world.lock);

	begin(1, 1000, 100);
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(lock_release(&world.lock, 700), RELEASE_DONE);
	SAME_TEXT(world.requests[1].last, "700");
	lock_close(&world.lock);
}

static void
release_not_ours(void)
{
	begin(1, 1000, 100);
	world.servers[0].plan = "yes no";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(lock_release(&world.lock, 0), RELEASE_NOT_OURS);
	CHECK(holder().taken);
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].plan = "yes free";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(lock_release(&world.lock, 0), RELEASE_NOT_OURS);
	lock_close(&world.lock);
}

static void
release_repeated(void)
{
	begin(1, 1000, 100);
	world.servers[0].plan = "yes lost+5 no";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(lock_release(&world.lock, 0), RELEASE_DONE);
	SAME_TEXT(sent(0), "acquire@0/1 release@0/1 release@5/2");
	lock_close(&world.lock);

	begin(1, 1000, 100);
	SAME_INT(acquire(), LOCK_HELD);
	cut(0, 200);
	world.servers[0].connects = "refused refused now";
	hold(250);
	SAME_INT(lock_release(&world.lock, 0), RELEASE_DONE);
	CHECK(strcmp(sent(0), "acquire@0/1 release@260/4") == 0);
	lock_close(&world.lock);
}

static void
release_unanswered(void)
{
	static const char *const plans[] = { "yes silent", "yes error",
		"yes denied", "yes garbage", "yes yes+101", "yes lost+5" };

	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		begin(1, 1000, 100);
		world.servers[0].plan = plans[i];
		SAME_INT(acquire(), LOCK_HELD);
		SAME_INT(lock_release(&world.lock, 0), RELEASE_UNANSWERED);
		CHECK(now() <= 100);
		lock_close(&world.lock);
	}
	begin(1, 1000, 100);
	world.servers[0].connects = "now refused";
	SAME_INT(acquire(), LOCK_HELD);
	cut(0, 0);
	SAME_INT(lock_release(&world.lock, 0), RELEASE_UNANSWERED);
	SAME_INT(now(), 100);
	lock_close(&world.lock);
}

static void
unresolved(void)
{
	char why[LOCK_WHY];

	begin(3, 1000, 100);
	world.servers[1].unresolved = true;
	SAME_INT(acquire(), LOCK_HELD);
	SAME_TEXT(lock_why(&world.lock, why), "server1: Name not known");
	SAME_TEXT(sent(1), "");
	lock_close(&world.lock);

	begin(3, 1000, 100);
	world.servers[0].unresolved = world.servers[2].unresolved = true;
	SAME_INT(lock_resolve(&world.lock), -1);
	CHECK(strstr(lock_why(&world.lock, why), "server0: Name not known"));
	CHECK(strstr(why, "server2: Name not known"));
	lock_close(&world.lock);
}

static void
majority(void)
{
	begin(3, 1000, 100);
	world.servers[0].plan = "yes+5";
	world.servers[1].plan = "yes+50";
	world.servers[2].plan = "yes+10";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(now(), 10);
	SAME_INT(deadline(), 988);
	SAME_INT(world.lock.fence, 1002);
	SAME_INT(world.lock.servers[1].valid_ms, 0);
	hold(60);
	SAME_INT(world.lock.servers[1].valid_ms, START + 988);
	SAME_INT(world.lock.fence, 1002);
	hold(400);
	SAME_INT(deadline(), 333 + 988);
	SAME_TEXT(sent(1), "acquire@0/1 renew@333/1");
	lock_close(&world.lock);
}

static void
minority_fails(void)
{
	static const char *const plans[] = { "yes error", "yes silent",
		"yes no", "yes free", "yes lost", "no", "silent", "error" };

	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		begin(3, 1000, 100);
		world.servers[1].plan = plans[i];
		SAME_INT(acquire(), LOCK_HELD);
		hold(5000);
		CHECK(deadline() >= 4662 + 988);
		SAME_INT(lock_release(&world.lock, 0), RELEASE_DONE);
		lock_close(&world.lock);
	}
}

static void
majority_fails(void)
{
	begin(3, 1000, 100);
	world.servers[0].plan = "yes silent";
	world.servers[1].plan = "yes yes error";
	SAME_INT(acquire(), LOCK_HELD);
	hold(1321);
	SAME_INT(deadline(), 333 + 988);
	lock_close(&world.lock);

	begin(3, 1000, 100);
	world.servers[0].plan = "yes no+20";
	world.servers[1].plan = "yes free+40";
	SAME_INT(acquire(), LOCK_HELD);
	hold(370);
	CHECK(deadline() > 370);
	hold(373);
	SAME_INT(deadline(), 0);
	hold(5000);
	SAME_INT(deadline(), 0);
	CHECK(strstr(sent(0) + 1, "acquire") == NULL);
	CHECK(strstr(sent(1) + 1, "acquire") == NULL);
	lock_close(&world.lock);
}

static void
heals(void)
{
	begin(3, 1000, 100);
	world.servers[2].plan = "yes free yes";
	SAME_INT(acquire(), LOCK_HELD);
	hold(340);
	SAME_INT(world.lock.servers[2].valid_ms, 0);
	SAME_INT(deadline(), 333 + 988);
	hold(700);
	SAME_TEXT(sent(2), "acquire@0/1 renew@333/1 acquire@666/1");
	SAME_INT(world.lock.servers[2].valid_ms, START + 666 + 988);
	SAME_INT(lock_release(&world.lock, 0), RELEASE_DONE);
	SAME_TEXT(
	    sent(2), "acquire@0/1 renew@333/1 acquire@666/1 release@700/1");
	lock_close(&world.lock);
}

static void
no_majority(void)
{
	begin(3, 1000, 100);
	world.servers[0].plan = "no+5";
	world.servers[1].plan = "no+9";
	SAME_INT(acquire(), LOCK_BUSY);
	SAME_INT(now(), 9);
	SAME_TEXT(sent(0), "acquire@0/1");
	SAME_TEXT(sent(2), "acquire@0/1 release@9/1");
	lock_close(&world.lock);

	begin(3, 1000, 100);
	world.servers[0].plan = "no+5";
	world.servers[1].plan = "silent";
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	SAME_TEXT(sent(0), "acquire@0/1");
	SAME_TEXT(sent(1), "acquire@0/1 release@100/1");
	SAME_TEXT(sent(2), "acquire@0/1 release@100/1");
	lock_close(&world.lock);

	begin(3, 1000, 100);
	world.servers[0].connects = world.servers[1].connects = "refused";
	world.servers[2].plan = "yes+4";
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	SAME_TEXT(sent(2), "acquire@0/1 release@0/1");
	SAME_INT(now(), 4);
	lock_close(&world.lock);

	begin(2, 1000, 100);
	world.servers[0].plan = "no";
	SAME_INT(acquire(), LOCK_BUSY);
	SAME_TEXT(sent(1), "acquire@0/1 release@0/1");
	lock_close(&world.lock);
}

static void
release_of_many(void)
{
	begin(5, 1000, 100);
	world.servers[0].plan = "yes silent";
	world.servers[1].plan = "yes yes+20";
	world.servers[2].plan = "yes lost+30";
	world.servers[3].plan = "yes yes+40";
	world.servers[4].plan = "yes yes+50";
	SAME_INT(acquire(), LOCK_HELD);
	hold(1);
	SAME_INT(lock_release(&world.lock, 0), RELEASE_DONE);
	SAME_INT(now(), 51);
	lock_close(&world.lock);

	begin(3, 1000, 100);
	world.servers[0].plan = "yes silent";
	world.servers[1].plan = "yes yes+20";
	world.servers[2].plan = "yes yes+30";
	SAME_INT(acquire(), LOCK_HELD);
	hold(1);
	SAME_INT(lock_release(&world.lock, 0), RELEASE_DONE);
	SAME_INT(now(), 31);
	lock_close(&world.lock);

	begin(3, 1000, 100);
	world.servers[0].plan = "yes no+10";
	world.servers[1].plan = "yes no+20";
	world.servers[2].plan = "yes yes+30";
	SAME_INT(acquire(), LOCK_HELD);
	hold(1);
	SAME_INT(lock_release(&world.lock, 0), RELEASE_NOT_OURS);
	lock_close(&world.lock);

	begin(3, 1000, 100);
	world.servers[0].plan = "yes no+20";
	world.servers[1].plan = world.servers[2].plan = "yes yes+20";
	SAME_INT(acquire(), LOCK_HELD);
	hold(1);
	SAME_INT(lock_release(&world.lock, 0), RELEASE_DONE);
	lock_close(&world.lock);
}

/* Everything that was sent is executed in the end. */
static void
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

/* Whether a server that could be told has our value still. */
static bool
left_behind(void)
{
	for (int i = 0; i < SERVERS; i++)
		if (world.servers[i].ours && world.servers[i].reached &&
		    world.servers[i].until_ms > world.now_ms)
			return true;
	return false;
}

/*
 * One life of a lock among servers as they may be: slow, stalled, refusing,
 * cancelled, held by somebody else for a while, and, with cuts, at the end of
 * bad cables.  loop_turn() compares D with the truth.  Returns the outcome.
 */
static enum lock_outcome
live(uint64_t seed, bool cuts)
{
	static const char *const connects[] = { "now", "now", "now+20",
		"now+90", "refused now", "never", "refused+3 now+10" };
	enum lock_outcome outcome;

	begin(1 + (int)(seed % SERVERS), 1000, 100);
	world.model = true;
	world.cuts = cuts;
	world.chance = seed;
	for (int i = 0; i < world.lock.nservers; i++) {
		struct made_up *m = &world.servers[i];

		m->connects = connects[chance(7)];
		m->greeting_ms = chance(4) == 0 ? chance(50) : 0;
		if (chance(4) == 0)
			m->until_ms = START + chance(2000);
	}
	if (chance(4) == 0)
		happens(START + chance(120), CANCEL, 0, ASK_NOTHING, YES);
	outcome = acquire();
	if (outcome == LOCK_HELD) {
		CHECK(deadline() - now() >= 500);
		hold(now() + chance(3000));
		lock_release(&world.lock, 0);
	}
	for (int i = 0; i < world.lock.nservers; i++)
		world.servers[i].reached =
		    node_connected(&world.lock.servers[i].node) &&
		    world.lock.servers[i].node.state == NODE_READY;
	lock_close(&world.lock);
	return outcome;
}

static void
truth(void)
{
	int count[LOCK_CANCELLED + 1] = { 0 };

	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++)
		count[live(seed, seed % 2 == 0)]++;
	for (int i = LOCK_HELD; i <= LOCK_CANCELLED; i++)
		if (i != LOCK_DENIED)
			CHECK(count[i] > LIVES / 100);
}

static void
no_ghost(void)
{
	for (uint64_t seed = 1; seed <= LIVES && tap_good; seed++) {
		live(seed, false);
		quiet();
		if (left_behind())
			tap_fail("in life %llu", (unsigned long long)seed);
	}
}

static const struct tap_test tests[] = {
	{ "the deadline is the q-th largest, as sorting says", deadlines },
	{ "a quorum is more than half of the servers", quorums },
	{ "all keys of a lock have the same hash tag", keys },
	{ "the longest prefix and name fit", long_keys },
	{ "a refusal tells value, time to live and time", views },
	{ "the lease counts from the sending, not from the answer",
	    counts_from_sending },
	{ "nothing is sent before the connection stands",
	    waits_for_connection },
	{ "a renewal is sent at every third of the lease, nothing else",
	    renews_at_thirds },
	{ "less than half of the lease is no lock", half_of_the_lease },
	{ "an error changes nothing, and the renewal is repeated",
	    errors_change_nothing },
	{ "no failure ends the lease before its time",
	    failures_change_nothing },
	{ "a lock that is not ours any more is lost at once", not_yours },
	{ "an unanswered renewal is repeated on another connection",
	    unanswered_renewal },
	{ "a lost connection is reopened at once with a renewal",
	    lost_connection },
	{ "a server that is down is tried again at least every 200 ms",
	    reopened_often },
	{ "a renewal lost with its connection is repeated at once",
	    lost_renewal },
	{ "an acquire lost with its connection is repeated as it was",
	    lost_acquire },
	{ "an unanswered acquire is followed by its release",
	    unanswered_acquire },
	{ "an answer to acquire that comes too late changes nothing",
	    late_acquire },
	{ "an answer to a renewal that comes too late changes nothing",
	    late_renewal },
	{ "what has not left this host needs no release",
	    nothing_left_this_host },
	{ "a refusal is busy, and nothing is given back", busy },
	{ "an error or nonsense is not busy, and is followed by a release",
	    unable },
	{ "a cancelled acquire leaves nothing behind", cancelled },
	{ "a release waits for its answer", releases },
	{ "a release tells that the lock was not ours", release_not_ours },
	{ "a release is repeated when its connection was lost",
	    release_repeated },
	{ "a release waits no longer than one node timeout",
	    release_unanswered },
	{ "a minority of servers without an address is no obstacle",
	    unresolved },
	{ "a majority is enough, and later votes count", majority },
	{ "a minority that fails is no loss", minority_fails },
	{ "a majority that fails is one", majority_fails },
	{ "a lost vote is won back only while the lock is held", heals },
	{ "without a majority every vote is given back", no_majority },
	{ "a release waits for a majority only", release_of_many },
	{ "in no life of a lock is the deadline later than the truth", truth },
	{ "no life of a lock leaves a value on a server that is reached",
	    no_ghost },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
