/*
 * The rule of lock.h and the states around it, with servers whose replies and
 * their times the test chooses.  The lease is 1000 ms unless a test sets
 * another, so a vote is valid for 988 ms from the sending of its request.  The
 * node timeout is 100 ms.
 */
#include "../sim/world.h"
#include "tap.h"

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
		if (quorum_largest(valid_ms, n, q) != sorted[q - 1])
			tap_fail("n %d, q %d: %lld", n, q,
			    (long long)quorum_largest(valid_ms, n, q));
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
		SAME_INT(world.lock.intent.quorum, want[n]);
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
		const char *aux;
	} rows[] = {
		{ "redlock:", "nightly", "redlock:nightly",
		    "{redlock:nightly}:~" },
		{ "", "nightly", "nightly", "{nightly}:~" },
		{ "p:", "{tag}x", "p:{tag}x", "p:{tag}x:~" },
		{ "p:", "x{tag}", "p:x{tag}", "p:x{tag}:~" },
		{ "{app}:", "x", "{app}:x", "{app}:x:~" },
		{ "{app}:", "{tag}", "{app}:{tag}", "{app}:{tag}:~" },
		{ "p:", "{a}{b}", "p:{a}{b}", "p:{a}{b}:~" },
		{ "p:", "{x", "p:{x", "{p:{x}:~" },
		{ "p:", "{}x", "p:{}x", "{p:{}x}:~" },
		{ "p{", "x}", "p{x}", "p{x}:~" },
		{ "p:", "a b", "p:a b", "{p:a b}:~" },
	};
	char key[LOCK_KEY], aux[LOCK_KEY];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		key_names(key, aux, rows[i].prefix, rows[i].name);
		SAME_TEXT(key, rows[i].key);
		SAME_TEXT(aux, rows[i].aux);
	}
}

static void
long_keys(void)
{
	char text[LOCK_NAME + 1], key[LOCK_KEY], aux[LOCK_KEY];

	memset(text, 'x', LOCK_NAME);
	text[LOCK_NAME] = '\0';
	key_names(key, aux, text, text);
	SAME_INT(strlen(key), 2 * LOCK_NAME);
	SAME_INT(strlen(aux), 2 * LOCK_NAME + 4);
	CHECK(strcmp(aux + strlen(aux) - 3, "}:~") == 0);
}

static const char thief[] =
    "redlock-run/2 token=T try=1 since=1 pid=1 host=h user=u command=c";

/* The fields of a refusal; a reply may end behind BEST_PTTL. */
static void
views(void)
{
	static char value[2 * LOCK_VALUE];
	struct made_reply r = { FIELD_BEST_PTTL + 1,
		{ [FIELD_AHEAD] = 1,
		    [FIELD_SLOT] = 6,
		    [FIELD_NOW] = 123,
		    [FIELD_PTTL] = 700,
		    [FIELD_READERS] = 4,
		    [FIELD_BEST] = 5,
		    [FIELD_BEST_PTTL] = 600 },
		"a thief" };
	struct reply a = { .kind = REPLY_OK, .value = &r };
	struct lock_state v;

	memset(&v, 0x55, sizeof(v));
	SAME_INT(lock_state_read(&v, &a), 0);
	CHECK(!v.granted);
	CHECK(v.ahead);
	SAME_INT(v.slot, 6);
	CHECK(v.taken);
	SAME_INT(v.len, 7);
	SAME_TEXT(v.owner.token, "");
	CHECK(memcmp(v.value, "a thief", 7) == 0);
	SAME_INT(v.ttl_ms, 700);
	SAME_INT(v.now_us, 123);
	SAME_INT(v.readers, 4);
	SAME_INT(v.best, 5);
	SAME_INT(v.best_ms, 600);

	memset(value, 'x', sizeof(value) - 1);
	r.text = thief;
	SAME_INT(lock_state_read(&v, &a), 0);
	SAME_TEXT(v.owner.token, "T");
	r.text = value;
	SAME_INT(lock_state_read(&v, &a), 0);
	SAME_INT(v.len, LOCK_VALUE);
	r.text = NULL;
	SAME_INT(lock_state_read(&v, &a), 0);
	CHECK(!v.taken);
	SAME_INT(v.len, 0);

	r.count--;
	SAME_INT(lock_state_read(&v, &a), -1);
	a.value = NULL;
	SAME_INT(lock_state_read(&v, &a), -1);
	r.count++;
	a.value = &r;
	a.kind = REPLY_ERROR;
	SAME_INT(lock_state_read(&v, &a), -1);
}

/* A number outside its range, or a grant of neither 0 nor 1, is malformed. */
static void
no_views(void)
{
	static const struct {
		enum lock_field field;
		long long low, high; /* the numbers that it can be */
	} rows[] = { { FIELD_GRANTED, 0, 1 }, { FIELD_FENCE, 0, FENCE_END - 1 },
		{ FIELD_SLOT, 0, LOCK_SLOTS }, { FIELD_NOW, 0, FENCE_END - 1 },
		{ FIELD_PTTL, PTTL_FREE, INT64_MAX },
		{ FIELD_READERS, 0, INT_MAX }, { FIELD_BEST, 1, LOCK_SLOTS },
		{ FIELD_BEST_PTTL, PTTL_FREE, INT64_MAX },
		{ FIELD_WAITING, 0, INT_MAX },
		{ FIELD_TICKET, 0, FENCE_END - 1 }, { FIELD_PLACE, 0, INT_MAX },
		{ FIELD_REASON, REASON_BUSY, REASON_FULL } };
	struct lock_state v;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct made_reply r = { FIELD_REASON + 1, { [FIELD_BEST] = 1 },
			NULL };
		struct reply a = { .kind = REPLY_OK, .value = &r };
		long long *number = &r.ints[rows[i].field];

		*number = rows[i].low;
		SAME_INT(lock_state_read(&v, &a), 0);
		*number = rows[i].high;
		SAME_INT(lock_state_read(&v, &a), 0);
		*number = rows[i].low - 1;
		SAME_INT(lock_state_read(&v, &a), -1);
		if (rows[i].high == INT64_MAX)
			continue;
		*number = rows[i].high + 1;
		SAME_INT(lock_state_read(&v, &a), -1);
	}
}

/* Returns the holder in the last refusal; an empty state without end if none. */
static struct lock_state
holder(void)
{
	const struct lock_state *v = lock_state(&world.lock);

	if (v != NULL)
		return *v;
	return (struct lock_state){ .ttl_ms = -1 };
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
	SAME_TEXT(sent(0),
	    "acquire@0/1 renew@20000/1 renew@40000/1 renew@60000/1");
	SAME_INT(deadline(), 120000 - 602);
	SAME_TEXT(requests[1].args[1], "1000"); /* the fence */
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
		SAME_TEXT(sent(0),
		    "acquire@0/1 renew@333/1 renew@433/1 renew@533/1");
		SAME_INT(released(0), RELEASE_DONE);
		lock_close(&world.lock);
	}
}

static void
no_memory(void)
{
	static const struct {
		int64_t at_ms;
		int times;
		int64_t most_ms;
	} rows[] = { { 0, 1, 20 }, { 0, 3, 60 }, { 300, 1, 353 },
		{ 300, 5, 433 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(1, 1000, 100);
		if (rows[i].at_ms > 0) {
			SAME_INT(acquire(), LOCK_HELD);
			hold(rows[i].at_ms);
		}
		world.servers[0].unsent = rows[i].times;
		if (rows[i].at_ms == 0)
			SAME_INT(acquire(), LOCK_HELD);
		hold(rows[i].most_ms);
		CHECK(deadline() > rows[i].at_ms + 988);
		world.servers[0].unsent = 1;
		SAME_INT(released(0), RELEASE_DONE);
		SAME_INT(count(0, RELEASE), 1);
		lock_close(&world.lock);
	}
}

/* Whatever goes wrong, a vote stays until its time is over. */
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
		CHECK(lock_state(&world.lock) == NULL);
		hold(337);
		SAME_INT(deadline(), 988);
		hold(338);
		SAME_INT(deadline(), 0);
		CHECK(lock_state(&world.lock) != NULL);
		CHECK(holder().taken == (i == 0));
		hold(5000);
		SAME_INT(deadline(), 0);
		SAME_INT(released(0), RELEASE_NOT_OURS);
		SAME_INT(now(), 5000);
		SAME_TEXT(sent(0), "acquire@0/1 renew@333/1 tell@5000/1");
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
	SAME_TEXT(sent(0), "acquire@0/1 acquire@18/2");
	SAME_TEXT(requests[0].id, requests[1].id);
	SAME_INT(deadline(), 18 + 988);
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].plan = "lost+5";
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	CHECK(strstr(sent(0), "release@") != NULL);
	CHECK(now() >= 300 && now() <= 400);
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
	SAME_INT(now(), 100);
	SAME_TEXT(lock_why(&world.lock, why),
	    "server0: no answer within 100ms");
	lock_close(&world.lock);
}

static void
late_acquire(void)
{
	begin(1, 1000, 100);
	world.servers[0].plan = "yes+150 yes";
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	SAME_TEXT(sent(0), "acquire@0/1 release@100/1");
	SAME_INT(now(), 100);
	SAME_INT(deadline(), 0);
	SAME_INT(world.lock.intent.fence, 0);
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].plan = "no+150 yes";
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	CHECK(lock_state(&world.lock) == NULL);
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
		SAME_INT(released(0), RELEASE_DONE);
		SAME_INT(now(), 363);
		SAME_INT(deadline(), 988);
		CHECK(lock_state(&world.lock) == NULL);
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
	SAME_TEXT(lock_why(&world.lock, why),
	    "server0: no answer within 100ms");
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
	world.servers[0].plan = "other+3";
	SAME_INT(acquire(), LOCK_BUSY);
	SAME_INT(now(), 3);
	SAME_TEXT(sent(0), "acquire@0/1");
	SAME_INT(deadline(), 0);
	CHECK(holder().taken);
	SAME_INT(holder().len, 7);
	SAME_INT(holder().ttl_ms, 700);
	lock_close(&world.lock);
}

/* A script may have failed behind its first write, but not with each error. */
static void
unable(void)
{
	static const struct {
		const char *plan;
		enum lock_outcome outcome;
		const char *why, *sent;
	} rows[] = {
		{ "error+3 yes", LOCK_UNREACHABLE, "server0: LOADING it loads",
		    "acquire@0/1" },
		{ "broken+3 yes", LOCK_UNREACHABLE, "server0: ERR it is broken",
		    "acquire@0/1 release@3/1" },
		{ "denied+3 yes", LOCK_DENIED, "server0: NOPERM it may not",
		    "acquire@0/1 release@3/1" },
		{ "broken+3 free", LOCK_UNREACHABLE,
		    "server0: ERR it is broken", "acquire@0/1 release@3/1" },
		{ "garbage+3 yes", LOCK_UNREACHABLE, "server0: malformed reply",
		    "acquire@0/1 release@3/1" },
	};
	char why[LOCK_WHY];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(1, 1000, 100);
		world.servers[0].plan = rows[i].plan;
		SAME_INT(acquire(), rows[i].outcome);
		SAME_INT(now(), 3);
		SAME_TEXT(sent(0), rows[i].sent);
		SAME_TEXT(lock_why(&world.lock, why), rows[i].why);
		CHECK(lock_state(&world.lock) == NULL);
		lock_close(&world.lock);
	}
}

static void
cancelled(void)
{
	begin(1, 1000, 100);
	world.servers[0].plan = "silent";
	happens(START + 30, CANCEL, 0);
	SAME_INT(acquire(), LOCK_CANCELLED);
	SAME_TEXT(sent(0), "acquire@0/1 release@30/1");
	SAME_INT(now(), 50);
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].connects = "never";
	happens(START + 30, CANCEL, 0);
	SAME_INT(acquire(), LOCK_CANCELLED);
	SAME_TEXT(sent(0), "");
	SAME_INT(now(), 30);
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].plan = "yes+30";
	happens(START + 30, CANCEL, 0);
	SAME_INT(acquire(), LOCK_CANCELLED);
	SAME_TEXT(sent(0), "acquire@0/1 release@30/1");
	lock_close(&world.lock);
}

/* The first of two addresses accepts connections and never answers. */
static void
frozen_address(void)
{
	begin(1, 1000, 100);
	world.lock.servers[0].conn.topology.untried = 2;
	world.servers[0].connects = "now+1 now";
	world.servers[0].plan = "silent silent yes";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(now(), 50);
	SAME_TEXT(sent(0), "acquire@1/1 leave@50/1 acquire@50/2");
	lock_close(&world.lock);
}

/* The n-th server answers with the n-th of the plans. */
static void
plan(const char *const plans[])
{
	for (int i = 0; i < world.lock.intent.nservers; i++)
		world.servers[i].plan = plans[i];
}

static void
releases(void)
{
	begin(1, 1000, 100);
	world.servers[0].plan = "yes yes+20";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(released(0), RELEASE_DONE);
	SAME_INT(now(), 20);
	SAME_TEXT(sent(0), "acquire@0/1 release@0/1");
	SAME_TEXT(requests[1].args[0], "0");
	SAME_TEXT(requests[1].id, "redlock-run/2 token=TOKEN try=");
	lock_close(&world.lock);

	begin(1, 1000, 100);
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(released(700), RELEASE_DONE);
	SAME_TEXT(requests[1].args[0], "700");
	lock_close(&world.lock);
}

static void
release_not_ours(void)
{
	begin(1, 1000, 100);
	world.servers[0].plan = "yes no";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(released(0), RELEASE_NOT_OURS);
	CHECK(holder().taken);
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].plan = "yes free";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(released(0), RELEASE_NOT_OURS);
	lock_close(&world.lock);
}

static void
release_repeated(void)
{
	char why[LOCK_WHY];

	begin(1, 1000, 100);
	world.servers[0].plan = "yes lost+5 yes";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(released(0), RELEASE_DONE);
	SAME_TEXT(sent(0), "acquire@0/1 release@0/1 release@5/2");
	lock_close(&world.lock);

	/* The server cannot tell whether the first one was executed. */
	begin(1, 1000, 100);
	world.servers[0].plan = "yes lost+5 no";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(released(0), RELEASE_UNANSWERED);
	SAME_INT(now(), 5);
	SAME_TEXT(lock_why(&world.lock, why),
	    "server0: the release had to be sent again, and the lock was gone");
	lock_close(&world.lock);

	begin(1, 1000, 100);
	SAME_INT(acquire(), LOCK_HELD);
	cut(0, 200);
	world.servers[0].connects = "refused refused now";
	hold(250);
	SAME_INT(released(0), RELEASE_DONE);
	CHECK(strcmp(sent(0), "acquire@0/1 release@260/4") == 0);
	lock_close(&world.lock);
}

static void
release_unanswered(void)
{
	static const struct {
		const char *plan;
		int64_t end_ms;
	} rows[] = { { "yes error", 100 }, { "yes broken", 0 },
		{ "yes denied", 0 }, { "yes garbage", 0 },
		{ "yes lost+5", 100 }, { "yes silent", 150 },
		{ "yes yes+151 yes+101", 150 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(1, 1000, 100);
		world.servers[0].plan = rows[i].plan;
		SAME_INT(acquire(), LOCK_HELD);
		SAME_INT(released(0), RELEASE_UNANSWERED);
		SAME_INT(now(), rows[i].end_ms);
		lock_close(&world.lock);
	}
	begin(1, 1000, 100);
	world.servers[0].connects = "now refused";
	SAME_INT(acquire(), LOCK_HELD);
	cut(0, 0);
	SAME_INT(released(0), RELEASE_UNANSWERED);
	SAME_INT(now(), 100);
	lock_close(&world.lock);

	begin(1, 60000, 3000);
	world.servers[0].plan = "yes yes+2900";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(released(0), RELEASE_DONE);
	lock_close(&world.lock);
}

/* An error that says that nothing was executed, until it passes. */
static void
release_after_error(void)
{
	char why[LOCK_WHY];

	begin(1, 3000, 300);
	world.servers[0].plan = "yes error+5 error+5 yes+5";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(released(700), RELEASE_DONE);
	SAME_INT(count(0, RELEASE), 3);
	CHECK(now() >= 15 + 3 * POLL_MS && now() <= 15 + 6 * POLL_MS);
	lock_close(&world.lock);

	/* The key is gone, and no release before can have deleted it. */
	begin(1, 1000, 100);
	world.servers[0].plan = "yes error+5 free";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(released(0), RELEASE_NOT_OURS);
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].plan = "yes error+5 silent";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(released(0), RELEASE_UNANSWERED);
	SAME_TEXT(lock_why(&world.lock, why),
	    "server0: no answer within 100ms");
	lock_close(&world.lock);

	begin(1, 1000, 100);
	world.servers[0].plan = "yes error+5 broken";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(released(0), RELEASE_UNANSWERED);
	SAME_TEXT(lock_why(&world.lock, why), "server0: ERR it is broken");
	SAME_INT(count(0, RELEASE), 2);
	lock_close(&world.lock);

	/* A minority is not waited for. */
	begin(3, 1000, 100);
	plan((const char *const[]){ "yes yes", "yes yes", "yes error" });
	SAME_INT(acquire(), LOCK_HELD);
	hold(1);
	SAME_INT(released(0), RELEASE_DONE);
	CHECK(now() <= 1 + 50);
	lock_close(&world.lock);
}

/*
 * The server's connections are forgotten on the way at that moment, and new ones
 * work, or not: the release goes on a second one, and the first answer counts.
 */
static void
release_twice(void)
{
	static const struct {
		const char *plan, *connects, *sent;
		int64_t end_ms;
	} rows[] = {
		{ "yes silent yes+7", "now",
		    "acquire@0/1 release@0/1 release@50/2", 57 },
		{ "yes yes+60 yes+20", "now",
		    "acquire@0/1 release@0/1 release@50/2", 60 },
		{ "yes yes+120 silent", "now",
		    "acquire@0/1 release@0/1 release@50/2", 120 },
		{ "yes yes+60", "now never", "acquire@0/1 release@0/1", 60 },
		{ "yes silent broken+30", "now refused now",
		    "acquire@0/1 release@0/1 release@50/3", 80 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum lock_release_result want =
		    strstr(rows[i].plan, "broken") != NULL ?
		    RELEASE_UNANSWERED :
		    RELEASE_DONE;

		begin(1, 1000, 100);
		world.servers[0].plan = rows[i].plan;
		world.servers[0].connects = rows[i].connects;
		SAME_INT(acquire(), LOCK_HELD);
		SAME_INT(released(700), want);
		SAME_INT(now(), rows[i].end_ms);
		SAME_TEXT(sent(0), rows[i].sent);
		/* A cooldown does not begin anew with the second. */
		if (count(0, RELEASE) > 1 && i < 3)
			SAME_TEXT(nth(0, 2)->args[0], "650");
		lock_close(&world.lock);
	}
}

/* In none of these cases does a second release go out. */
static void
release_once(void)
{
	/* A lock that was not held. */
	begin(1, 1000, 100);
	world.servers[0].plan = "no silent";
	CHECK(acquire_until(START + 50) != LOCK_HELD);
	SAME_INT(count(0, RELEASE), 1);
	lock_close(&world.lock);

	/* After a signal. */
	begin(1, 1000, 100);
	world.servers[0].plan = "yes silent";
	SAME_INT(acquire(), LOCK_HELD);
	lock_cancel(&world.lock);
	SAME_INT(released(0), RELEASE_UNANSWERED);
	SAME_INT(count(0, RELEASE), 1);
	lock_close(&world.lock);

	/* Behind an acquire without a reply, which it would overtake. */
	begin(3, 1000, 100);
	plan((const char *const[]){ "yes", "yes silent", "silent" });
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(released(0), RELEASE_UNANSWERED);
	SAME_TEXT(sent(1), "acquire@0/1 release@0/1 release@50/2");
	SAME_TEXT(sent(2), "acquire@0/1 release@0/1");
	lock_close(&world.lock);
}

/* The release is held up a little: the pace of requests allows no more. */
static void
release_paced(void)
{
	char why[LOCK_WHY];

	begin(1, 10000, 1000);
	world.servers[0].plan = "yes silent";
	SAME_INT(acquire(), LOCK_HELD);
	world.lock.servers[0].pace.paced_ms = START + 16 * 20 + 15;
	SAME_INT(released(0), RELEASE_UNANSWERED);
	SAME_INT(nth(0, 1)->at_ms - START, 15);
	SAME_TEXT(lock_why(&world.lock, why), "server0: no answer within 1s");
	lock_close(&world.lock);
}

/* Each acquire is lost, with its connection, after a millisecond. */
#define LOST10                                                                 \
	"lost+1 lost+1 lost+1 lost+1 lost+1 lost+1 lost+1 lost+1 lost+1 lost+1 "
#define LOST100                                                                \
	LOST10 LOST10 LOST10 LOST10 LOST10 LOST10 LOST10 LOST10 LOST10 LOST10

static void
accepts_and_closes(void)
{
	begin(1, 10000, 1000);
	world.servers[0].plan = LOST100 LOST100;
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	CHECK(world.servers[0].connection >= 8);
	CHECK(world.servers[0].connection <= 14);
	released(0);
	lock_close(&world.lock);
	/* A holder goes on as long as the lease lasts. */
	begin(1, 10000, 1000);
	world.servers[0].plan = "yes " LOST100 LOST100;
	SAME_INT(acquire(), LOCK_HELD);
	hold(9000);
	CHECK(world.servers[0].connection >= 10);
	CHECK(world.servers[0].connection <= 16);
	lock_close(&world.lock);
	/* It begins with the end of the wait, which is a limit. */
	begin(1, 10000, 1000);
	world.servers[0].plan = "no " LOST100 LOST100;
	CHECK(acquire_until(START + 1000) != LOCK_HELD);
	CHECK(now() < 1300);
	CHECK(world.servers[0].connection <= 10);
	released(0);
	lock_close(&world.lock);
}

static void
cut_at_blpop(void)
{
	static char plan[2400];

	for (int i = 0; i < 200; i++)
		strcat(plan, "no lost+5 ");
	begin(1, 10000, 1000);
	world.servers[0].plan = plan;
	CHECK(acquire_until(START + 9000) != LOCK_HELD);
	CHECK(now() < 9050);
	CHECK(world.servers[0].connection >= 15);
	CHECK(world.servers[0].connection <= 30);
	released(0);
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
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	SAME_INT(now(), 0);
	CHECK(strstr(lock_why(&world.lock, why), "server0: Name not known"));
	CHECK(strstr(why, "; server2: the same"));
	lock_close(&world.lock);
}

/* What a name that takes its time leaves of the node timeout. */
static void
slow_names(void)
{
	char why[LOCK_WHY];

	begin(3, 1000, 100);
	world.servers[2].lookup_ms = 1000000;
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(now(), 0);
	lock_close(&world.lock);

	begin(3, 1000, 100);
	world.servers[0].lookup_ms = world.servers[2].lookup_ms = 1000000;
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	SAME_INT(now(), 100);
	SAME_TEXT(lock_why(&world.lock, why),
	    "server0: no answer within 100ms; server2: the same");
	lock_close(&world.lock);

	/* The time for the answer begins when the address is known. */
	begin(1, 1000, 100);
	world.servers[0].lookup_ms = 90;
	world.servers[0].plan = "yes+50 yes";
	SAME_INT(acquire_until(START + 5000), LOCK_HELD);
	SAME_INT(now(), 140);
	SAME_TEXT(sent(0), "acquire@90/1");
	lock_close(&world.lock);
}

/* Once each, where there is a run: how it starts, and how it ends. */
static void
history(void)
{
	begin(1, 1000, 100);
	world.servers[0].plan = "yes+7 yes";
	SAME_INT(acquire(), LOCK_HELD);
	hold(400);
	SAME_INT(released(0), RELEASE_DONE);
	SAME_TEXT(nth(0, 0)->args[6], " waited=0");
	SAME_TEXT(nth(0, 1)->args[3], "");
	SAME_TEXT(nth(0, 2)->args[3], " waited=7");
	SAME_TEXT(nth(0, 2)->args[4], " ran=400 ended=exited status=0");
	SAME_TEXT(nth(0, 2)->args[5], "26");
	SAME_TEXT(nth(0, 2)->args[9], "pid=0 host= user= command=");
	lock_close(&world.lock);

	/* A candidate may lose; a holder is known when it leaves a queue. */
	begin(3, 1000, 100);
	plan((const char *const[]){ "yes+5", "yes+5", "no+5 no+5" });
	SAME_INT(acquire(), LOCK_HELD);
	hold(400);
	SAME_INT(released(0), RELEASE_DONE);
	for (int i = 0; i < 2; i++) {
		SAME_TEXT(nth(i, 0)->args[6], "");
		CHECK(nth(i, 1)->leaves);
		SAME_TEXT(nth(i, 1)->args[2], " waited=5");
		SAME_TEXT(nth(i, 2)->args[2], "");
		SAME_TEXT(nth(i, 3)->args[3], " waited=5");
		SAME_TEXT(nth(i, 3)->args[4], " ran=400 ended=exited status=0");
		CHECK(!nth(i, 3)->starts);
	}
	SAME_INT(nth(2, 1)->label, LEAVE);
	SAME_TEXT(nth(2, 1)->args[3], "");
	SAME_TEXT(nth(2, 1)->args[4], "");
	lock_close(&world.lock);

	/* A vote comes so late that no renewal has carried the start there. */
	begin(3, 1000, 100);
	plan((const char *const[]){ "yes", "yes", "yes+90" });
	SAME_INT(acquire(), LOCK_HELD);
	hold(50);
	SAME_INT(released(0), RELEASE_DONE);
	CHECK(nth(2, first(2, RELEASE))->starts);
	lock_close(&world.lock);

	/* A server that lost the lock gets the end, without waiting for a reply. */
	begin(3, 1000, 100);
	plan((const char *const[]){ "yes", "yes", "yes yes no silent" });
	SAME_INT(acquire(), LOCK_HELD);
	hold(500);
	SAME_INT(released(0), RELEASE_DONE);
	SAME_INT(now(), 500);
	SAME_INT(count(2, RELEASE), 0);
	SAME_TEXT(nth(2, first(2, TELL))->args[1], "0");
	SAME_TEXT(nth(2, first(2, TELL))->args[3], " waited=0");
	SAME_TEXT(nth(2, first(2, TELL))->args[4],
	    " ran=500 ended=exited status=0");
	lock_close(&world.lock);

	/* The release of a refused run carries the reason and the holder. */
	begin(3, 1000, 100);
	plan((const char *const[]){ "no+5", "no+5", "yes+7" });
	SAME_INT(acquire(), LOCK_BUSY);
	for (int i = 0; i < 2; i++) {
		SAME_TEXT(nth(i, 1)->args[3], " waited=5");
		SAME_TEXT(nth(i, 1)->args[7], " skipped=busy");
		SAME_TEXT(nth(i, 1)->args[9], "pid=0 host= user= command=");
		CHECK(strncmp(nth(i, 1)->args[8], "redlock-run/2 token=", 20) ==
		    0);
	}
	SAME_TEXT(nth(2, 1)->args[3], "");
	SAME_TEXT(nth(2, 1)->args[7], "");
	lock_close(&world.lock);

	/* One that does not wait hears of it from one server alone. */
	begin(1, 1000, 100);
	world.servers[0].plan = "no+5";
	SAME_INT(acquire(), LOCK_BUSY);
	SAME_TEXT(sent(0), "acquire@0/1");
	SAME_TEXT(nth(0, 0)->args[10], " skipped=busy");
	SAME_TEXT(nth(0, 0)->args[11], " skipped=mode");
	lock_close(&world.lock);

	/* An acquire that may have recorded a start is undone. */
	begin(1, 1000, 100);
	world.servers[0].plan = "silent";
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	SAME_TEXT(nth(0, 1)->args[4], "");
	SAME_TEXT(nth(0, 1)->args[9], "");
	lock_close(&world.lock);
}

/* When the outcome was clear: then the votes are given back. */
static int64_t
decided(void)
{
	for (int i = 0; i < world.nrequests; i++)
		if (requests[i].label == RELEASE)
			return requests[i].at_ms - START;
	return now();
}

/*
 * A server that is far away: the connection, its handshake and the request may
 * each take most of a node timeout.
 */
static void
far_away(void)
{
	static const struct {
		const char *plan, *connects;
		int greeting_ms;
		enum lock_outcome outcome;
		int64_t end_ms;
	} rows[] = {
		{ "yes+90", "now+90", 0, LOCK_HELD, 180 },
		{ "no+90", "now+90", 0, LOCK_BUSY, 180 },
		{ "yes+90", "now+40", 50, LOCK_HELD, 180 },
		{ "lost+50 yes+90", "now+90", 0, LOCK_UNREACHABLE, 300 },
		{ "yes+110 yes", "now+90", 0, LOCK_UNREACHABLE, 190 },
		{ "yes+90", "now+110", 0, LOCK_UNREACHABLE, 100 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(1, 1000, 100);
		world.servers[0].plan = rows[i].plan;
		world.servers[0].connects = rows[i].connects;
		world.servers[0].greeting_ms = rows[i].greeting_ms;
		SAME_INT(acquire(), rows[i].outcome);
		SAME_INT(decided(), rows[i].end_ms);
		lock_close(&world.lock);
	}
}

static void
majority(void)
{
	begin(3, 1000, 100);
	plan((const char *const[]){ "yes+5", "yes=2000+50", "yes+10" });
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(now(), 10);
	SAME_INT(deadline(), 988);
	SAME_INT(world.lock.intent.fence, 1000);
	SAME_INT(valid(1), 0);
	hold(60);
	SAME_INT(valid(1), 988);
	SAME_INT(world.lock.intent.fence, 1000);
	hold(400);
	SAME_INT(deadline(), 343 + 988);
	SAME_TEXT(sent(1), "acquire@0/1 renew@50/1 renew@383/1");
	SAME_TEXT(sent(2), "acquire@0/1 renew@10/1 renew@343/1");
	lock_close(&world.lock);
}

static void
at_the_quorum(void)
{
	static const char *const yes[] = { "yes+10", "yes+20", "yes+30",
		"yes+40", "yes+50" };
	static const char *const no[] = { "no+10", "no+20", "no+30", "no+40",
		"no+50" };

	for (int n = 1; n <= SERVERS; n++) {
		begin(n, 1000, 100);
		plan(yes);
		SAME_INT(acquire(), LOCK_HELD);
		SAME_INT(now(), 10 * world.lock.intent.quorum);
		SAME_INT(world.nrequests, n);
		for (int i = 0; i < n; i++)
			SAME_TEXT(nth(i, 0)->args[2], "1763635200000000");
		lock_close(&world.lock);

		begin(n, 1000, 100);
		plan(no);
		SAME_INT(acquire(), LOCK_BUSY);
		SAME_INT(decided(), 10 * (n - world.lock.intent.quorum + 1));
		SAME_INT(deadline(), 0);
		lock_close(&world.lock);
	}
}

/* Kinds of servers, and how many there are of each. */
enum kind {
	VOTES,
	REFUSES,
	RUNS_ONCE,
	CONTENDS,
	FAILS,
	DENIES,
	IS_DOWN,
	SAYS_NOTHING
};

static const char *const kinds[] = { "yes+5", "no+5", "ran+5", "queued+5",
	"error+5", "denied+5", "yes", "silent" };

#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

/* The expected outcome and time if a server takes 5 ms or never replies. */
static enum lock_outcome
expected(const int count[], int n, int64_t *at_ms)
{
	const int q = n / 2 + 1, yes = count[VOTES], mute = count[SAYS_NOTHING];
	const int ran = count[RUNS_ONCE];
	const int no = count[REFUSES] + ran + count[CONTENDS];

	*at_ms = count[IS_DOWN] == n ? 0 : 5;
	if (yes >= q)
		return LOCK_HELD;
	if (ran > n - q || (no > n - q && (count[CONTENDS] == 0 || n == 1)))
		return LOCK_BUSY;
	if (yes + no >= q && count[CONTENDS] > 0) {
		*at_ms += 500;
		return LOCK_BUSY;
	}
	if (mute > 0 && count[DENIES] <= n - q)
		*at_ms = 100;
	return count[DENIES] > 0 ? LOCK_DENIED : LOCK_UNREACHABLE;
}

static void
try_outcome(const int count[], int n)
{
	enum lock_outcome got, want;
	int64_t at_ms;
	int server = 0;

	begin(n, 1000, 100);
	for (int k = 0; k < KINDS; k++)
		for (int i = 0; i < count[k]; i++, server++) {
			world.servers[server].plan = kinds[k];
			if (k == IS_DOWN)
				world.servers[server].connects = "refused";
		}
	got = acquire();
	want = expected(count, n, &at_ms);
	if (got != want || decided() != at_ms)
		tap_fail("%d vote, %d refuse, %d know of a success, "
			 "%d yield_to_earlier, %d fail, %d deny, "
			 "%d are down, %d say nothing: outcome %d at %lld, not "
			 "%d at %lld",
		    count[VOTES], count[REFUSES], count[RUNS_ONCE],
		    count[CONTENDS], count[FAILS], count[DENIES],
		    count[IS_DOWN], count[SAYS_NOTHING], got,
		    (long long)decided(), want, (long long)at_ms);
	if (got != LOCK_HELD)
		SAME_INT(lock_state(&world.lock) != NULL,
		    count[REFUSES] + count[RUNS_ONCE] + count[CONTENDS] > 0);
	lock_close(&world.lock);
}

/* All ways to make n servers of all kinds. */
static void
outcomes(void)
{
	for (int n = 1; n <= SERVERS; n++) {
		int count[KINDS] = { n };

		for (;;) {
			int k = 0, moved;

			try_outcome(count, n);
			while (count[k] == 0)
				k++;
			if (k == KINDS - 1)
				break;
			moved = count[k] - 1;
			count[k] = 0;
			count[k + 1]++;
			count[0] = moved;
		}
	}
}

static void
minority_fails(void)
{
	static const char *const plans[] = { "yes error", "yes denied",
		"yes garbage", "yes silent", "yes no", "yes free", "yes lost",
		"no", "other", "queued", "silent", "error", "yes yes free no",
		"yes yes free error" };

	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		begin(3, 1000, 100);
		world.servers[1].plan = plans[i];
		SAME_INT(acquire(), LOCK_HELD);
		hold(5000);
		CHECK(deadline() >= 4662 + 988);
		CHECK(lock_state(&world.lock) == NULL);
		SAME_INT(released(0), RELEASE_DONE);
		lock_close(&world.lock);
	}
}

static void
majority_fails(void)
{
	begin(3, 1000, 100);
	plan((const char *const[]){
	    "yes yes silent", "yes yes yes error", "yes" });
	SAME_INT(acquire(), LOCK_HELD);
	hold(1321);
	SAME_INT(deadline(), 333 + 988);
	lock_close(&world.lock);

	begin(3, 1000, 100);
	plan((const char *const[]){
	    "yes yes no+20", "yes yes free+40", "yes" });
	SAME_INT(acquire(), LOCK_HELD);
	hold(370);
	CHECK(deadline() > 370);
	hold(373);
	SAME_INT(deadline(), 0);
	CHECK(lock_state(&world.lock) != NULL);
	hold(5000);
	SAME_INT(deadline(), 0);
	for (int i = 0; i < 2; i++)
		SAME_TEXT(sent(i), "acquire@0/1 renew@0/1 renew@333/1");
	lock_close(&world.lock);
}

static void
too_late_to_hold(void)
{
	begin(1, 1000, 2000);
	world.servers[0].plan = "yes yes+700 yes";
	SAME_INT(acquire(), LOCK_HELD);
	hold(3000);
	SAME_INT(deadline(), 988);
	lock_close(&world.lock);

	begin(3, 1000, 2000);
	plan((const char *const[]){
	    "yes yes yes+700 yes", "yes yes yes+700 yes", "yes" });
	SAME_INT(acquire(), LOCK_HELD);
	hold(3000);
	SAME_INT(deadline(), 988);
	lock_close(&world.lock);
}

static void
no_majority(void)
{
	begin(3, 1000, 100);
	plan((const char *const[]){ "no+5", "no+9", "yes" });
	SAME_INT(acquire(), LOCK_BUSY);
	for (int i = 0; i < 3; i++)
		SAME_TEXT(sent(i), "acquire@0/1 release@9/1");
	lock_close(&world.lock);

	begin(3, 1000, 100);
	world.servers[0].connects = world.servers[1].connects = "refused";
	world.servers[2].plan = "yes+4";
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	SAME_TEXT(sent(0), "");
	SAME_TEXT(sent(2), "acquire@0/1 release@4/1");
	SAME_INT(now(), 8);
	lock_close(&world.lock);

	begin(2, 1000, 100);
	world.servers[0].plan = "no";
	SAME_INT(acquire(), LOCK_BUSY);
	SAME_TEXT(sent(1), "acquire@0/1 release@0/1");
	lock_close(&world.lock);
}

/* Whose refusals come to "busy" at once, and whose to a contest. */
static void
contested_or_not(void)
{
	static const struct {
		const char *const plans[3];
		enum lock_outcome outcome;
		int64_t at_ms;
	} rows[] = {
		{ { "no+5", "no+5", "yes+5" }, LOCK_BUSY, 5 },
		{ { "other+5", "other+5", "error+5" }, LOCK_BUSY, 5 },
		{ { "no+5", "other+5", "yes+5" }, LOCK_BUSY, 505 },
		{ { "no+5", "free+5", "yes+5" }, LOCK_BUSY, 505 },
		{ { "queued+5", "queued+5", "error+5" }, LOCK_BUSY, 505 },
		{ { "no+5", "queued+5", "error+5" }, LOCK_BUSY, 505 },
		{ { "no+5", "yes+5", "error+5" }, LOCK_UNREACHABLE, 5 },
		{ { "queued+5", "yes+5", "error+5" }, LOCK_BUSY, 505 },
		{ { "free+5", "yes+5", "silent" }, LOCK_BUSY, 505 },
		{ { "queued+5", "silent", "error+5" }, LOCK_UNREACHABLE, 100 },
		{ { "queued+5 no", "queued+5 no", "yes+5" }, LOCK_BUSY, 5 },
		{ { "queued+5 yes", "yes+5", "error" }, LOCK_HELD, 5 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(3, 1000, 100);
		plan(rows[i].plans);
		if (acquire() != rows[i].outcome || decided() != rows[i].at_ms)
			tap_fail("row %zu ends at %lld", i,
			    (long long)decided());
		lock_close(&world.lock);
	}
}

/* One whose connection was cut is not tried again sooner for that. */
static void
contest_spares_the_cut(void)
{
	begin(5, 1000, 100);
	plan((const char *const[]){
	    "yes+5", "queued+5", "queued+5", "error+5", "lost+4 yes" });
	SAME_INT(acquire(), LOCK_BUSY);
	CHECK(nth(4, 1)->at_ms >= START + 14);
	lock_close(&world.lock);
}

static void
tickets(void)
{
	const struct request *r, *before;

	begin(3, 1000, 100);
	plan((const char *const[]){ "yes+5", "queued=7000+5 queued+5",
	    "queued=9000+5 queued=90000+5" });
	SAME_INT(acquire(), LOCK_BUSY);
	SAME_INT(world.lock.intent.ticket,
	    INT64_C(1763635200000000) + 5000 + 9000);
	for (int i = 0; i < 3; i++) {
		before = nth(i, 0);
		SAME_TEXT(before->args[3], "0");
		SAME_TEXT(before->args[4], "400");
		for (int j = 1; (r = nth(i, j))->label == ACQUIRE; j++) {
			SAME_TEXT(r->id, before->id);
			SAME_TEXT(r->args[3], "1763635200014000");
			SAME_TEXT(r->args[4], "400");
			CHECK(r->at_ms - before->at_ms >= (j == 1 ? 5 : 25));
			CHECK(r->at_ms - before->at_ms <= (j == 1 ? 5 : 45));
			before = r;
		}
		CHECK(START + 505 - before->at_ms < 45);
		SAME_INT(r->label, RELEASE);
		SAME_TEXT(r->args[1], "1");
	}
	lock_close(&world.lock);
}

static void
yields(void)
{
	const struct request *r;
	int j;

	begin(5, 1000, 100);
	plan((const char *const[]){ "yes+5", "yes+5",
	    "queued+5 queued+5 queued!+5 queued+5", "queued+5", "error" });
	SAME_INT(acquire(), LOCK_BUSY);
	for (int i = 0; i < 2; i++) {
		j = first(i, YIELD);
		r = nth(i, j);
		SAME_INT(count(i, YIELD), 1);
		SAME_INT(r->at_ms, nth(2, 2)->at_ms + 5);
		CHECK(nth(i, j + 1)->at_ms >= r->at_ms + 20);
		for (int k = 0;
		     nth(i, k)->left && nth(i, k)->kind != REQUEST_RELEASE; k++)
			SAME_TEXT(nth(i, k)->id,
			    k <= j ? "redlock-run/2 token=TOKEN try=1 " :
				     "redlock-run/2 token=TOKEN try=2 ");
	}
	for (int i = 2; i < 4; i++) {
		SAME_INT(count(i, YIELD), 0);
		CHECK(strstr(nth(i, 5)->id, " try=1 ") != NULL);
	}
	lock_close(&world.lock);

	/* A server that votes may say so, too. */
	begin(3, 1000, 100);
	plan((const char *const[]){
	    "yes+5 yes+5 yes!+5 yes+5", "queued+5", "error" });
	SAME_INT(acquire(), LOCK_BUSY);
	SAME_INT(count(0, YIELD), 1);
	lock_close(&world.lock);
}

/* Only a value that cannot be read, and that keeps us from a majority. */
static void
gives_way(void)
{
	static const struct {
		const char *const plans[3];
		bool gives_way;
	} rows[] = {
		{ { "yes+5", "other+5", "silent" }, true },
		{ { "yes+5", "other+5", "other+5" }, true },
		{ { "yes+5", "no+5", "silent" }, false },
		{ { "yes+5", "queued+5", "silent" }, false },
		{ { "yes+5", "yes+5", "other+5" }, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int j;

		begin(3, 60000, 100);
		plan(rows[i].plans);
		acquire_until(START + 900);
		j = first(0, YIELD);
		if ((count(0, YIELD) > 0) != rows[i].gives_way)
			tap_fail("row %zu: %s", i, sent(0));
		if (count(0, YIELD) > 0) {
			CHECK(nth(0, j)->at_ms >= START + 105);
			CHECK(nth(0, j)->at_ms <= START + 405);
			CHECK(nth(0, j + 1)->at_ms >= nth(0, j)->at_ms + 50);
		}
		lock_close(&world.lock);
	}
}

/* A server that alone tells of an earlier ticket does so for ever. */
static void
yields_no_longer(void)
{
	begin(3, 1000, 100);
	plan((const char *const[]){ "yes+5", "queued+5", "queued!+5" });
	SAME_INT(acquire(), LOCK_BUSY);
	CHECK(count(0, YIELD) > 0);
	for (int j = 0; nth(0, j)->left; j++)
		CHECK(nth(0, j)->label != YIELD ||
		    nth(0, j)->at_ms < START + 150);
	lock_close(&world.lock);
}

/* It was asked before our last vote was won. */
static void
keeps_its_votes(void)
{
	begin(5, 1000, 100);
	plan((const char *const[]){ "yes+5", "free+5 yes+5",
	    "queued!+5 queued!+9 queued+5", "queued+5", "error" });
	SAME_INT(acquire(), LOCK_BUSY);
	for (int i = 0; i < 5; i++)
		SAME_INT(count(i, YIELD), 0);
	SAME_INT(world.lock.servers[1].key.granted_ms, START + 10);
	lock_close(&world.lock);
}

static void
wins_the_contest(void)
{
	begin(3, 1000, 100);
	plan((const char *const[]){ "yes+5 yes+5 yes!+5 yes",
	    "queued+5 queued+5 queued+5 queued+5 yes", "error" });
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(count(0, YIELD), 1);
	CHECK(now() > 100 && now() < 250);
	SAME_INT(deadline(), now() + 988 - (now() - valid(0) + 988));
	hold(now() + 600);
	for (int i = 0; i < 2; i++) {
		int j = first(i, RENEW);

		/* It leaves the queue at once, and need not do so again. */
		CHECK(nth(i, j)->at_ms <= nth(i, j - 1)->at_ms + 40);
		CHECK(nth(i, j)->leaves);
		CHECK(!nth(i, j + 1)->leaves);
	}
	lock_close(&world.lock);
}

/* A reply to a request from before the vote was given back is no vote. */
static void
stale_answer(void)
{
	begin(3, 1000, 100);
	plan((const char *const[]){ "yes+5 yes+60 yes silent",
	    "queued+5 queued+5 queued!+5 queued+5", "error" });
	SAME_INT(acquire(), LOCK_BUSY);
	SAME_INT(count(0, YIELD), 1);
	SAME_INT(valid(0), 0);
	lock_close(&world.lock);
}

static void
leaves(void)
{
	begin(3, 1000, 100);
	plan((const char *const[]){ "yes+5", "yes+5", "queued+5 yes" });
	SAME_INT(acquire(), LOCK_HELD);
	hold(300);
	CHECK(nth(0, 1)->leaves);
	SAME_TEXT(nth(2, 0)->id, nth(2, 1)->id);
	SAME_INT(nth(2, 1)->label, LEAVE);
	SAME_INT(nth(2, 1)->at_ms, START + 5);
	SAME_TEXT(nth(2, 2)->id, "redlock-run/2 token=TOKEN try=2 ");
	SAME_INT(nth(2, 2)->label, ACQUIRE);
	SAME_TEXT(nth(2, 2)->args[4], "0");
	lock_close(&world.lock);

	/* Its reply may come after its time is over. */
	begin(3, 1000, 100);
	world.servers[2].plan = "silent yes";
	SAME_INT(acquire(), LOCK_HELD);
	hold(250);
	SAME_TEXT(sent(2), "acquire@0/1 leave@100/1 acquire@200/2");
	SAME_TEXT(nth(2, 0)->id, nth(2, 1)->id);
	CHECK(strstr(nth(2, 2)->id, " try=2 ") != NULL);
	lock_close(&world.lock);

	/* A request that cannot be sent is not tried again without pause. */
	begin(3, 1000, 100);
	world.servers[1].plan = "yes error";
	world.servers[2].plan = "queued error";
	SAME_INT(acquire(), LOCK_HELD);
	hold(1000);
	for (int i = 1; i < 3; i++)
		CHECK(nth(i, 8)->left && !nth(i, 16)->left);
	lock_close(&world.lock);
}

static void
gives_back(void)
{
	begin(2, 1000, 200);
	world.servers[0].plan = "error yes";
	world.servers[1].plan = "yes yes+150 yes";
	SAME_INT(acquire_until(START + 5000), LOCK_HELD);
	SAME_INT(now(), 150);
	SAME_TEXT(sent(1), "acquire@0/1 leave@0/1 acquire@150/1");
	lock_close(&world.lock);
}

/* A release that goes again is that of the value which is there. */
static void
gives_back_again(void)
{
	begin(2, 1000, 200);
	world.servers[0].plan = "error error error error yes";
	world.servers[1].plan = "yes unloaded yes yes";
	SAME_INT(acquire_until(START + 5000), LOCK_HELD);
	SAME_TEXT(nth(1, 2)->id, nth(1, 1)->id);
	CHECK(strcmp(nth(1, 3)->id, nth(1, 2)->id) != 0);
	lock_close(&world.lock);
}

/* Two servers die while they have our acquires. */
static void
gives_back_without_majority(void)
{
	begin(3, 1000, 100);
	plan((const char *const[]){ "lost+5", "lost+5", "yes" });
	world.servers[0].connects = world.servers[1].connects = "now refused";
	SAME_INT(acquire_until(START + 1000), LOCK_UNREACHABLE);
	SAME_TEXT(sent(2),
	    "acquire@0/1 leave@5/1 acquire@1000/1 release@1000/1");
	CHECK(world.servers[0].connection <= 10);
	lock_close(&world.lock);
}

static void
unfenced(void)
{
	char why[LOCK_WHY];

	begin(2, 1000, 100);
	plan((const char *const[]){ "yes=5+5 silent", "yes=9+5" });
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	SAME_TEXT(lock_why(&world.lock, why),
	    "server0: has not confirmed the fence");
	lock_close(&world.lock);
}

static void
many_complaints(void)
{
	char why[LOCK_WHY], *end;
	int told = 0;

	begin(5, 1000, 100);
	for (int i = 0; i < 5; i++) {
		struct conn *n = &world.lock.servers[i].conn;

		world.servers[i].plan = "error";
		memset(n->address.text, 'x', ADDRESS_TEXT - 1);
	}
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	lock_why(&world.lock, why);
	CHECK(strstr(why, "x: LOADING it loads") != NULL);
	for (const char *p = why; (p = strstr(p, "x: ")); p++)
		told++;
	end = strrchr(why, ';');
	CHECK(told == 5 ||
	    (told > 1 && strncmp(end, "; and ", 6) == 0 &&
		atoi(end + 6) == 5 - told));
	lock_close(&world.lock);
}

static void
fences(void)
{
	static const struct {
		const char *const plans[3];
		int64_t fence;
		int64_t held_ms;
		const char *sent;
	} rows[] = {
		{ { "yes=7+5", "yes=7+5", "yes=7+5" }, 7, 5, "acquire@0/1" },
		{ { "yes=7+5", "yes=7+5", "silent" }, 7, 5, "acquire@0/1" },
		{ { "yes=5+5 yes=9+5", "yes=9+5", "silent" }, 9, 10,
		    "acquire@0/1 renew@5/1" },
		{ { "yes=5+5 yes=9+5", "yes=9+5", "yes=9+7" }, 9, 7,
		    "acquire@0/1 renew@5/1" },
		{ { "yes=5+5 yes=9+50", "yes=9+5 yes=20+5", "yes=20+7" }, 20,
		    12, "acquire@0/1 renew@5/1" },
		{ { "yes=5+5 yes=12+5", "yes=9+5 yes=12+5", "silent" }, 12, 15,
		    "acquire@0/1 renew@5/1" },
		{ { "yes=5+5 error", "yes=9+5", "yes=9+20" }, 9, 20,
		    "acquire@0/1 renew@5/1" },
		{ { "yes=5+5 yes=7+5 yes=9+5", "yes=9+5", "silent" }, 9, 15,
		    "acquire@0/1 renew@5/1 renew@10/1" },
		{ { "yes=9+5", "no+5", "yes=9+20" }, 9, 20, "acquire@0/1" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(3, 1000, 100);
		plan(rows[i].plans);
		SAME_INT(acquire(), LOCK_HELD);
		if (world.lock.intent.fence != rows[i].fence ||
		    now() != rows[i].held_ms)
			tap_fail("row %zu: fence %lld at %lld", i,
			    (long long)world.lock.intent.fence,
			    (long long)now());
		SAME_TEXT(sent(0), rows[i].sent);
		if (nth(0, 1)->left) {
			CHECK(atoi(nth(0, 1)->args[1]) >= 9);
			CHECK(!nth(0, 1)->leaves);
		}
		lock_close(&world.lock);
	}
	for (int i = 0; i < 2; i++) {
		begin(3, 1000, 100);
		plan((const char *const[]){
		    i == 0 ? "yes=5+5 free+5" : "yes=5+5 silent", "yes=9+5",
		    "silent" });
		SAME_INT(acquire() == LOCK_HELD, false);
		lock_close(&world.lock);
	}
}

/* The world whose lock has a TTL of 1 s and --max-ttl, and has just begun. */
static void
begin_growing(int n, int64_t max_ttl_ms)
{
	next_world.max_ttl_ms = max_ttl_ms;
	begin(n, 1000, 100);
	next_world.max_ttl_ms = 0;
}

/* When the last request to the only server was sent, and what it asked for. */
static const struct request *
last_sent(void)
{
	int n = 0;

	while (nth(0, n + 1)->left)
		n++;
	return nth(0, n);
}

static void
grows(void)
{
	static const struct {
		int64_t max_ttl_ms, held_ms, length_ms;
	} rows[] = { { 0, 60000, 1000 }, { 500, 60000, 1000 },
		{ 5000, 9000, 1000 }, { 5000, 25000, 0 },
		{ 5000, 60000, 5000 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct request *last;
		int64_t length_ms, sent_ms;

		begin_growing(1, rows[i].max_ttl_ms);
		SAME_INT(acquire(), LOCK_HELD);
		locks_grow(&world.locks);
		hold(rows[i].held_ms);
		last = last_sent();
		sent_ms = last->at_ms - START;
		length_ms =
		    rows[i].length_ms != 0 ? rows[i].length_ms : sent_ms / 10;
		SAME_INT(atoll(last->args[RENEW_TTL]), length_ms);
		SAME_INT(deadline(), sent_ms + lease_valid_ms(length_ms));
		/* The pace of renewals is that of --ttl. */
		CHECK(rows[i].held_ms - sent_ms <= 1000 / 3);
		SAME_INT(lock_longest_ms(&world.lock), length_ms);
		lock_close(&world.lock);
	}
}

/* A vote counts for the length that its request asked for. */
static void
grows_by_request(void)
{
	begin_growing(1, 5000);
	world.servers[0].plan = "yes yes=9+90";
	SAME_INT(acquire(), LOCK_HELD);
	locks_grow(&world.locks);
	hold(20000);
	hold(last_sent()->at_ms - START + 90);
	SAME_INT(deadline(),
	    last_sent()->at_ms - START +
		lease_valid_ms(atoll(last_sent()->args[RENEW_TTL])));
	lock_close(&world.lock);
}

static void
grows_from_the_start(void)
{
	begin_growing(1, 5000);
	SAME_INT(acquire(), LOCK_HELD);
	hold(20000);
	SAME_INT(atoll(last_sent()->args[RENEW_TTL]), 1000);
	lock_close(&world.lock);
}

/* A key that is put back gets --ttl, and its first renewal the length due. */
static void
grows_again(void)
{
	int healed;

	begin_growing(3, 5000);
	SAME_INT(acquire(), LOCK_HELD);
	locks_grow(&world.locks);
	hold(30000);
	SAME_INT(count(2, ACQUIRE), 1);
	world.servers[2].plan = "free yes";
	hold(32000);
	SAME_INT(count(2, ACQUIRE), 2);
	for (healed = 1; nth(2, healed)->label != ACQUIRE; healed++)
		continue;
	SAME_INT(atoll(nth(2, healed)->args[ACQUIRE_TTL]), 1000);
	CHECK(atoll(nth(2, healed + 1)->args[RENEW_TTL]) >= 3000);
	lock_close(&world.lock);
}

/* Server 2 loses its key; until and since when does it not count? */
static void
heals(void)
{
	static const struct {
		const char *plans[3];
		int64_t not_yet_ms;
		int64_t valid_ms;
	} rows[] = {
		{ { "yes", "yes", "yes yes free yes" }, 732, 733 + 988 },
		{ { "yes yes yes+50 yes", "yes yes yes+50 yes",
		      "yes yes free+2 yes" },
		    734, 735 + 988 },
		{ { "yes", "yes yes yes error error yes", "yes yes free yes" },
		    932, 933 + 988 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin_with_grace(3, 1000, 100, 1000);
		plan(rows[i].plans);
		SAME_INT(acquire(), LOCK_HELD);
		hold(rows[i].not_yet_ms);
		SAME_INT(valid(2), 0);
		CHECK(world.lock.servers[2].key.state == KEY_OURS);
		hold(rows[i].not_yet_ms + 10);
		SAME_INT(valid(2), rows[i].valid_ms);
		CHECK(strncmp(sent(2),
			  "acquire@0/1 renew@0/1 renew@333/1 "
			  "acquire@33",
			  44) == 0);
		SAME_TEXT(nth(2, 3)->args[4], "0");
		lock_close(&world.lock);
	}

	/* It is put back at once, each time. */
	begin(3, 1000, 100);
	world.servers[2].plan = "yes yes free yes free yes";
	SAME_INT(acquire(), LOCK_HELD);
	hold(450);
	SAME_TEXT(sent(2),
	    "acquire@0/1 renew@0/1 renew@333/1 acquire@333/1 renew@433/1 "
	    "acquire@433/1");
	lock_close(&world.lock);

	/* A key that another run has taken is requested every third of the TTL. */
	begin(3, 1000, 100);
	world.servers[2].plan = "yes yes no no yes";
	SAME_INT(acquire(), LOCK_HELD);
	hold(1400);
	SAME_TEXT(sent(2),
	    "acquire@0/1 renew@0/1 renew@333/1 acquire@666/1 acquire@999/1 "
	    "renew@1099/1 renew@1199/1 renew@1299/1 renew@1399/1");
	lock_close(&world.lock);
}

/* Server 2 wants the script's text, and the majority does not wait for it. */
static void
counts_late_vote(void)
{
	/* An acquire that goes again counts from when it went first. */
	begin_with_grace(3, 1000, 100, 1000);
	world.servers[2].plan = "unloaded+50 yes+5 yes";
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(now(), 0);
	hold(56);
	SAME_TEXT(sent(2), "acquire@0/1 acquire@50/1 renew@55/1");
	hold(300);
	SAME_INT(valid(2), 988 + 55);
	lock_close(&world.lock);

	begin_with_grace(3, 1000, 100, 1000);
	world.servers[2].plan = "unloaded+50 yes+5 silent";
	SAME_INT(acquire(), LOCK_HELD);
	hold(60);
	SAME_INT(valid(2), 988);
	lock_close(&world.lock);

	/* A key that is put back does not. */
	begin_with_grace(3, 1000, 100, 1000);
	world.servers[2].plan = "yes yes free unloaded+5 yes+5 silent";
	SAME_INT(acquire(), LOCK_HELD);
	hold(360);
	SAME_INT(valid(2), 0);
	CHECK(world.lock.servers[2].key.state == KEY_OURS);
	lock_close(&world.lock);

	/* Nor does a second one, after an error. */
	begin_with_grace(3, 1000, 100, 1000);
	world.servers[2].plan = "unloaded+5 unloaded+5 yes+5 silent";
	SAME_INT(acquire(), LOCK_HELD);
	hold(200);
	SAME_INT(valid(2), 0);
	CHECK(world.lock.servers[2].key.state == KEY_OURS);
	lock_close(&world.lock);
}

/* Servers that lost the key do not prove each other. */
static void
heals_without_majority(void)
{
	begin_with_grace(5, 1000, 100, 1000);
	plan((const char *const[]){ "yes", "yes", "yes yes silent",
	    "yes yes free yes", "yes yes free yes" });
	SAME_INT(acquire(), LOCK_HELD);
	hold(3000);
	SAME_INT(deadline(), 988);
	SAME_INT(valid(3), 0);
	SAME_INT(valid(4), 0);
	lock_close(&world.lock);
}

/* A server is back 50 ms later, and young. */
static void
heals_after_restart(void)
{
	begin_with_grace(3, 1000, 100, 1000);
	world.servers[2].plan = "yes yes free yes";
	SAME_INT(acquire(), LOCK_HELD);
	happens(START + 100, RESTART, 2)->ms = 50;
	hold(2190);
	SAME_INT(valid(2), 0);
	CHECK(strncmp(sent(2),
		  "acquire@0/1 renew@0/1 renew@200/3 "
		  "acquire@200/3",
		  47) == 0);
	hold(2310);
	CHECK(valid(2) >= 2200 + 988);
	CHECK(deadline() > 2310);
	lock_close(&world.lock);

	/* It is another of the servers by now, under this name. */
	for (int i = 0; i < 2; i++) {
		begin_with_grace(3, 1000, 100, 1000);
		world.servers[2].plan = i == 0 ? "yes yes free yes" : "yes";
		SAME_INT(acquire(), LOCK_HELD);
		world.servers[2].run_id = "b";
		cut(2, 100);
		hold(5000);
		CHECK(valid(2) <= 988);
		CHECK(deadline() > 5000);
		lock_close(&world.lock);
	}
}

static void
late_votes(void)
{
	/* Sent before the lock was held. */
	begin_with_grace(3, 1000, 100, 1000);
	world.servers[2].plan = "yes+60";
	SAME_INT(acquire(), LOCK_HELD);
	hold(70);
	SAME_INT(valid(2), 988);
	lock_close(&world.lock);

	/* The same from a young server. */
	begin_with_grace(3, 1000, 100, 1000);
	world.servers[2].plan = "yes+60 yes";
	world.servers[2].started_ms = START - 500;
	SAME_INT(acquire(), LOCK_HELD);
	hold(1050);
	SAME_INT(valid(2), 0);
	hold(1170);
	CHECK(valid(2) >= 1060 + 988);
	lock_close(&world.lock);

	/* From a server that has voted already, under another name. */
	begin(3, 1000, 100);
	world.servers[2].plan = "yes+60 yes";
	world.servers[2].run_id = world.servers[0].run_id;
	SAME_INT(acquire(), LOCK_HELD);
	hold(2000);
	SAME_INT(valid(2), 0);
	CHECK(valid(0) > 2000);
	lock_close(&world.lock);

	/* After a cut connection the acquire goes again while the lock is held. */
	begin_with_grace(3, 1000, 100, 1000);
	world.servers[2].plan = "lost+60 yes";
	SAME_INT(acquire(), LOCK_HELD);
	hold(330);
	SAME_INT(valid(2), 0);
	hold(600);
	CHECK(valid(2) > 0);
	lock_close(&world.lock);
}

/*
 * Two addresses of one server, in a lock that a majority holds.  The address of
 * the third server begins to lead to the first at 100 ms.
 */
static void
moved_address(void)
{
	/* The first keeps the vote, though its connection is the later one. */
	begin(3, 1000, 100);
	SAME_INT(acquire(), LOCK_HELD);
	world.servers[2].run_id = "a";
	cut(2, 100);
	cut(0, 500);
	hold(5000);
	CHECK(deadline() > 5000);
	CHECK(valid(0) > 5000);
	CHECK(valid(2) <= 988);
	SAME_INT(count(2, ACQUIRE), 1);
	SAME_INT(released(0), RELEASE_DONE);
	SAME_INT(count(2, RELEASE), 0);
	lock_close(&world.lock);

	/* So it does if the other address moves while it has no connection. */
	begin(3, 1000, 100);
	world.servers[0].connects = "now refused now";
	SAME_INT(acquire(), LOCK_HELD);
	world.servers[2].run_id = "a";
	cut(0, 400);
	cut(2, 401);
	hold(5000);
	CHECK(deadline() > 5000);
	CHECK(valid(0) > 5000);
	lock_close(&world.lock);

	/* It votes again when its address leads to its own server. */
	begin(3, 1000, 100);
	SAME_INT(acquire(), LOCK_HELD);
	world.servers[2].run_id = "a";
	cut(2, 100);
	hold(2000);
	SAME_INT(valid(2), 988);
	world.servers[2].run_id = "c";
	cut(2, 2000);
	hold(5000);
	CHECK(valid(2) > 5000);
	lock_close(&world.lock);

	/* It finds the key of the first gone, and only the first sets it. */
	begin(3, 1000, 100);
	plan((const char *const[]){ "yes", "yes", "yes yes free" });
	world.servers[0].connects = "now refused";
	SAME_INT(acquire(), LOCK_HELD);
	hold(90);
	cut(0, 100);
	world.servers[2].run_id = "a";
	cut(2, 100);
	hold(800);
	CHECK(valid(0) > 800);
	CHECK(count(2, RENEW) <= 5);
	lock_close(&world.lock);

	/* It stands in for the first once the vote of that is over. */
	begin(5, 1000, 100);
	plan((const char *const[]){
	    "yes yes silent", "yes", "yes", "yes", "yes" });
	SAME_INT(acquire(), LOCK_HELD);
	world.servers[2].run_id = "a";
	cut(2, 100);
	hold(987);
	SAME_INT(valid(0), 988);
	SAME_INT(valid(2), 988);
	hold(2500);
	SAME_INT(valid(0), 988);
	CHECK(valid(2) > 2500);
	lock_close(&world.lock);
}

/*
 * The address of the third server begins to lead to the first at 500 ms, while we
 * wait.  The first refuses, the second grants, so the third decides.
 */
static void
moved_while_waiting(void)
{
	static const struct {
		const char *third;
		const char *run_id;
		enum lock_outcome outcome;
	} rows[] = {
		{ "no", "c", LOCK_BUSY },
		{ "no", "a", LOCK_UNREACHABLE },
		{ "other", "c", LOCK_BUSY },
		{ "other", "a", LOCK_UNREACHABLE },
		{ "no no no yes", "c", LOCK_HELD },
		{ "no no no yes", "a", LOCK_UNREACHABLE },
	};
	char why[LOCK_WHY];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(3, 1000, 100);
		plan((const char *const[]){ "no", "yes", rows[i].third });
		world.servers[2].run_id = rows[i].run_id;
		world.servers[2].connects = "refused now";
		SAME_INT(acquire_until(START + 3000), rows[i].outcome);
		if (rows[i].run_id[0] == 'a') {
			CHECK(strstr(lock_why(&world.lock, why),
			    "server2: the same server as server0"));
			SAME_INT(count(2, ACQUIRE), 1);
		}
		lock_close(&world.lock);
	}
}

/*
 * A server whose clock is two days off has no vote while we acquire.  Once the
 * lock is held its lease is as good as any: renewals carry no clock.
 */
static void
odd_while_acquiring(void)
{
	begin(3, 1000, 100);
	plan((const char *const[]){ "yes", "yes yes silent", "yes" });
	world.servers[2].skew_us = INT64_C(2) * 86400 * SECOND_US;
	SAME_INT(acquire(), LOCK_HELD);
	hold(5000);
	CHECK(deadline() > 5000);
	CHECK(lock_server_votes(&world.lock, 2));
	CHECK(!lock_server_votes(&world.lock, 1));
	lock_close(&world.lock);

	/* It confirms that a majority has kept its keys. */
	begin(3, 1000, 100);
	plan((const char *const[]){ "yes", "yes yes free yes", "yes" });
	world.servers[2].skew_us = INT64_C(2) * 86400 * SECOND_US;
	SAME_INT(acquire(), LOCK_HELD);
	hold(1000);
	CHECK(valid(1) > 1000);
	lock_close(&world.lock);

	begin(3, 1000, 100);
	plan((const char *const[]){ "yes", "no", "yes" });
	world.servers[2].skew_us = INT64_C(2) * 86400 * SECOND_US;
	SAME_INT(acquire(), LOCK_UNREACHABLE);
	lock_close(&world.lock);
}

/*
 * One server names a success, one is down, and the plan is that of the third: an
 * acquire, the end of its wait or of its vote, and questions.
 */
static void
asks_for_success(void)
{
	static const struct {
		const char *plan;
		enum lock_outcome outcome;
		int64_t end_ms;
		const char *sent;
	} rows[] = {
		{ "no+5 yes ran", LOCK_BUSY, 5,
		    "acquire@0/1 leave@5/1 ask@5/1" },
		{ "yes+5 yes yes yes ran+7", LOCK_BUSY, 2012,
		    "acquire@0/1 leave@5/1 ask@5/1 ask@1005/1 ask@2005/1" },
		/* Without an answer it is down, and comes back. */
		{ "no yes silent yes ran", LOCK_BUSY, 1100,
		    "acquire@0/1 leave@0/1 ask@0/1 ask@100/2 ask@1100/2" },
		{ "no yes error yes yes ran", LOCK_BUSY, 100,
		    "acquire@0/1 leave@0/1 ask@0/1 acquire@100/1 leave@100/1 "
		    "ask@100/1" },
		{ "no yes lost+3 ran", LOCK_BUSY, 3,
		    "acquire@0/1 leave@0/1 ask@0/1 ask@3/2" },
		{ "no yes unloaded ran", LOCK_BUSY, 0,
		    "acquire@0/1 leave@0/1 ask@0/1 ask@0/1" },
		/* At the end nothing of ours is there. */
		{ "no yes yes yes silent", LOCK_CANCELLED, 2050,
		    "acquire@0/1 leave@0/1 ask@0/1 ask@1000/1 ask@2000/1" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(3, 1000, 100);
		plan((const char *const[]){ "ran", rows[i].plan, "yes" });
		world.servers[2].connects = "refused";
		happens(START + 2050, CANCEL, 0);
		SAME_INT(acquire_until(FOREVER), rows[i].outcome);
		SAME_INT(now(), rows[i].end_ms);
		SAME_TEXT(sent(1), rows[i].sent);
		lock_close(&world.lock);
	}
}

/*
 * We have a ticket, and wait with --latest on all servers of which the first two
 * do not name a later run at once; the signal comes at 500.
 */
static void
gives_up_for_a_later_run(void)
{
#define WAITS "no+10 no "
	static const struct {
		int nservers;
		const char *plans[3];
		enum lock_outcome outcome;
		int64_t end_ms;
	} rows[] = {
		{ 1, { "no+10 woken+50 later" }, LOCK_SUPERSEDED, 60 },
		{ 3,
		    { WAITS "woken+50 later silent later",
			WAITS "woken+70 later", WAITS "silent" },
		    LOCK_SUPERSEDED, 130 },
		{ 3,
		    { WAITS "woken+50 later silent later", WAITS "silent",
			WAITS "silent" },
		    LOCK_CANCELLED, 600 },
		{ 3,
		    { WAITS "woken+50 later silent later", WAITS "woken+70 yes",
			WAITS "woken+90 yes" },
		    LOCK_HELD, 100 },
		{ 3,
		    { WAITS "woken+50 later silent later", WAITS "woken+70 yes",
			WAITS "woken+90 lost" },
		    LOCK_SUPERSEDED, 150 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int n = rows[i].nservers;
		const struct request *release;

		next_world.latest = true;
		begin(n, 1000, 100);
		next_world.latest = false;
		for (int j = 0; j < n; j++)
			world.servers[j].plan = rows[i].plans[j];
		world.servers[2].connects = "now refused";
		happens(START + 500, CANCEL, 0);
		SAME_INT(acquire_until(FOREVER), rows[i].outcome);
		CHECK(now() >= rows[i].end_ms && now() <= 600);
		if (rows[i].outcome == LOCK_SUPERSEDED) {
			CHECK(lock_state(&world.lock)->reason ==
			    REASON_SUPERSEDED);
			release = nth(0, first(0, RELEASE));
			SAME_TEXT(release->args[RELEASE_SKIP],
			    " skipped=superseded");
			CHECK(strstr(release->args[RELEASE_HOLDER],
				  "token=later ") != NULL);
		}
		lock_close(&world.lock);
	}
#undef WAITS
}

static void
begin_limited(int n, const char *const plans[])
{
	next_world.max_waiting = 2;
	begin(n, 1000, 100);
	next_world.max_waiting = 0;
	for (int i = 0; i < n; i++)
		world.servers[i].plan = plans[i];
}

/* What the n-th request to a server, an acquire, says about waiting; "": nothing. */
static const char *
says_of_waiting(int server, int n)
{
	SAME_INT(nth(server, n)->label, ACQUIRE);
	return nth(server, n)->args[ACQUIRE_MAX_WAITING];
}

/* One server refuses and records the skip; of several, those that refused do. */
static void
too_many_wait(void)
{
	begin_limited(1, (const char *const[]){ "full+5" });
	SAME_INT(acquire_until(FOREVER), LOCK_QUEUE_FULL);
	SAME_INT(now(), 5);
	SAME_INT(holder().waiting, 2);
	SAME_TEXT(sent(0), "acquire@0/1");
	SAME_TEXT(says_of_waiting(0, 0), "2");
	SAME_TEXT(nth(0, 0)->args[ACQUIRE_SKIP_BUSY], " skipped=queue-full");
	lock_close(&world.lock);

	begin_limited(3,
	    (const char *const[]){ "full+5", "yes+5", "full+6 yes" });
	SAME_INT(acquire_until(FOREVER), LOCK_QUEUE_FULL);
	SAME_INT(decided(), 6);
	SAME_INT(holder().waiting, 2);
	for (int i = 0; i < 3; i++) {
		SAME_INT(nth(i, 1)->label, RELEASE);
		SAME_TEXT(nth(i, 1)->args[RELEASE_SKIP],
		    i == 1 ? "" : " skipped=queue-full");
		SAME_TEXT(nth(i, 0)->args[ACQUIRE_SKIP_BUSY], "");
	}
	lock_close(&world.lock);
}

/* A minority does not refuse; what may become a majority is waited for. */
static void
few_wait(void)
{
	static const struct {
		const char *plans[3];
		int64_t ticket_ms; /* when we have joined all queues */
	} rows[] = {
		{ { "full+5 no", "no+5", "no+5" }, 5 },
		{ { "full+5 no", "no+5", "no+40" }, 40 },
		{ { "full+5 no", "no+5", "silent" }, 100 },
		/* Once it has joined, no refusal counts. */
		{ { "no+5", "no+5", "full+40 no" }, 5 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin_limited(3, rows[i].plans);
		happens(START + 300, CANCEL, 0);
		SAME_INT(acquire_until(FOREVER), LOCK_CANCELLED);
		SAME_TEXT(says_of_waiting(0, 0), "2");
		SAME_TEXT(says_of_waiting(0, 1), "");
		CHECK(strcmp(nth(0, 1)->args[ACQUIRE_TICKET], "0") != 0);
		SAME_INT(nth(0, 1)->at_ms - START, rows[i].ticket_ms);
		lock_close(&world.lock);
	}
}

/*
 * By the length of its beat a server knows a run that waits, with any node
 * timeout.  Without -w, and for a key put back, there is no limit.
 */
static void
does_not_wait(void)
{
	static const struct {
		int64_t node_timeout_ms, wait_end_ms;
		const char *beat, *waiting;
	} rows[] = {
		{ 100, 0, "400", "" },
		{ 3750, 0, "15001", "" },
		{ 3750, FOREVER, "15000", "2" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		next_world.max_waiting = 2;
		begin(3, 60000, rows[i].node_timeout_ms);
		next_world.max_waiting = 0;
		world.servers[2].plan = "yes free yes";
		SAME_INT(acquire_until(rows[i].wait_end_ms), LOCK_HELD);
		SAME_TEXT(nth(2, 0)->args[ACQUIRE_HEARTBEAT], rows[i].beat);
		SAME_TEXT(says_of_waiting(2, 0), rows[i].waiting);
		hold(25000);
		SAME_INT(count(2, ACQUIRE), 2);
		for (int n = first(2, RENEW); nth(2, n)->left; n++)
			if (nth(2, n)->label == ACQUIRE)
				SAME_TEXT(says_of_waiting(2, n), "");
		lock_close(&world.lock);
	}
}

/* Of the votes of one server only the latest counts. */
static void
one_grant_each(void)
{
	begin(5, 1000, 100);
	SAME_INT(acquire(), LOCK_HELD);
	for (int i = 0; i < 5; i++)
		world.lock.servers[i].valid_ms = START + 1000 + 100 * i;
	SAME_INT(deadline(), 1200);
	snprintf(world.lock.servers[4].key.run_id, INFO_RUN_ID, "a");
	SAME_INT(deadline(), 1200);
	snprintf(world.lock.servers[3].key.run_id, INFO_RUN_ID, "a");
	SAME_INT(deadline(), 1100);
	world.lock.servers[3].valid_ms = world.lock.servers[4].valid_ms;
	SAME_INT(deadline(), 1100);
	lock_close(&world.lock);
}

/* The server at that address is another one from then on, or has restarted. */
static void
changes(int server, const char *run_id, int64_t at_ms)
{
	world.servers[server].run_id = run_id;
	world.servers[server].started_ms = START + at_ms;
	cut(server, at_ms);
}

/*
 * A server that has restarted since may be that of an address without a
 * connection.  Only one of the two grants counts then, and no other is dropped.
 */
static void
restarted_under_another_address(void)
{
	/* The third address leads there; its own server has failed before. */
	begin(3, 30000, 100);
	plan((const char *const[]){
	    "yes", "yes yes silent", "yes yes silent yes" });
	world.servers[0].connects = "now refused";
	SAME_INT(acquire(), LOCK_HELD);
	hold(9000);
	cut(0, 10050);
	changes(2, "x", 10050);
	hold(13000);
	CHECK(valid(0) > 39000);
	CHECK(valid(2) > valid(0));
	SAME_INT(valid(1), 30000 - 302);
	SAME_INT(deadline(), valid(1));
	lock_close(&world.lock);

	/* One server is down and another one restarts, or all at once. */
	for (int restarts = 1; restarts <= 3; restarts++) {
		begin(3, 30000, 100);
		world.servers[0].connects =
		    restarts < 3 ? "now refused" : "now";
		SAME_INT(acquire(), LOCK_HELD);
		hold(9000);
		cut(0, 11000);
		if (restarts == 3)
			changes(0, "z", 11000);
		if (restarts > 1)
			changes(1, "y", 11000);
		changes(2, "x", 11000);
		hold(100000);
		CHECK(deadline() > 100000);
		lock_close(&world.lock);
	}
}

/*
 * Two servers that were connected at the same time remain two, even if the release
 * breaks or leaves one of the connections.
 */
static void
restarted_before_the_run(void)
{
	static const char *const ends[] = { "yes silent", "yes lost silent" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		begin(3, 30000, 100);
		plan((const char *const[]){ "silent", ends[i], "yes yes" });
		world.servers[2].started_ms = START;
		SAME_INT(acquire(), LOCK_HELD);
		SAME_INT(released(0), RELEASE_UNANSWERED);
		lock_close(&world.lock);
	}
	begin(3, 30000, 100);
	plan((const char *const[]){ "silent", "yes silent", "yes no" });
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(released(0), RELEASE_NOT_OURS);
	lock_close(&world.lock);
}

static void
graces(void)
{
	static const struct {
		int n;
		int64_t grace_ms;
		int64_t age_ms; /* of the first server */
		const char *info_error;
		enum lock_outcome outcome;
		const char *why;
	} rows[] = {
		{ 1, 10000, 20000, NULL, LOCK_HELD, NULL },
		{ 1, 10000, 10001, NULL, LOCK_HELD, NULL },
		{ 1, 10000, 10000, NULL, LOCK_UNREACHABLE,
		    "server0: started 10s ago and may have forgotten "
		    "locks; no vote for another 1s (--restart-grace)" },
		{ 1, 10000, 0, NULL, LOCK_UNREACHABLE,
		    "server0: started <1s ago and may have forgotten "
		    "locks; no vote for another 11s (--restart-grace)" },
		{ 1, 10000, 20000, "NOPERM info", LOCK_DENIED,
		    "server0: INFO: NOPERM info" },
		{ 1, 10000, 20000, "ERR unknown command", LOCK_UNREACHABLE,
		    "server0: INFO: ERR unknown command; needs "
		    "--restart-grace 0" },
		{ 1, 10000, 20000, "BUSY it runs a script", LOCK_UNREACHABLE,
		    "server0: INFO: BUSY it runs a script" },
		{ 1, 1, 20000, NULL, LOCK_HELD, NULL },
		{ 1, 0, 0, NULL, LOCK_HELD, NULL },
		{ 1, 0, 0, "NOPERM info", LOCK_HELD, NULL },
		{ 2, 0, 0, NULL, LOCK_HELD, NULL },
		{ 2, 0, 0, "NOPERM info", LOCK_HELD, NULL },
		{ 2, 10000, 5000, NULL, LOCK_UNREACHABLE,
		    "server0: started 5s ago and may have forgotten "
		    "locks; no vote for another 6s (--restart-grace)" },
		{ 2, 10000, 20000, "NOPERM info", LOCK_DENIED,
		    "server0: INFO: NOPERM info" },
		{ 3, 10000, 0, NULL, LOCK_HELD, NULL },
		{ 3, 10000, 20000, "NOPERM info", LOCK_HELD, NULL },
	};
	char why[LOCK_WHY];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin_with_grace(rows[i].n, 1000, 100, rows[i].grace_ms);
		world.servers[0].started_ms = START - rows[i].age_ms;
		world.servers[0].info_error = rows[i].info_error;
		if (acquire() != rows[i].outcome)
			tap_fail("row %zu", i);
		if (rows[i].why != NULL) {
			SAME_TEXT(lock_why(&world.lock, why), rows[i].why);
			SAME_INT(count(0, RELEASE), 1);
		}
		CHECK(rows[i].grace_ms == 0 || rows[i].n != 3 || valid(0) == 0);
		lock_close(&world.lock);
	}
}

static void
same_servers(void)
{
	for (int n = 2; n <= SERVERS; n++) {
		const struct server *s;

		begin(n, 1000, 100);
		plan((const char *const[]){
		    "no+10", "yes+10", "yes+10", "yes+20", "yes+20" });
		world.servers[n - 1].run_id = world.servers[0].run_id;
		SAME_INT(acquire(), LOCK_SAME_SERVER);
		SAME_TEXT(world.lock.same[0], "server0");
		SAME_TEXT(world.lock.same[1],
		    world.lock.servers[n - 1].conn.address.text);
		lock_close(&world.lock);

		begin(n, 1000, 100);
		plan((const char *const[]){
		    "no+10", "yes+10", "yes+10", "yes+20", "yes+20" });
		world.servers[n - 1].run_id = world.servers[n - 2].run_id;
		SAME_INT(acquire(), LOCK_SAME_SERVER);
		s = world.lock.servers;
		CHECK(world.lock.same[0] == s[n - 2].conn.address.text);
		CHECK(world.lock.same[1] == s[n - 1].conn.address.text);
		lock_close(&world.lock);
	}
}

static void
release_of_many(void)
{
	static const char *const yes[] = { "yes yes yes+10", "yes yes yes+20",
		"yes yes yes+30", "yes yes yes+40", "yes yes yes+50" };
	static const char *const no[] = { "yes yes free+10", "yes yes no+20",
		"yes yes free+30", "yes yes free+40", "yes yes no+50" };
	static const char *plans[SERVERS];
	enum lock_release_result want;
	int64_t most;
	int lost;

	/* The first so many say that it was not ours. */
	for (int n = 2; n <= SERVERS; n++)
		for (int refusals = 0; refusals <= n; refusals++) {
			for (int i = 0; i < n; i++)
				plans[i] = i < refusals ? no[i] : yes[i];
			begin(n, 1000, 100);
			lost = n - world.lock.intent.quorum + 1;
			plan(plans);
			SAME_INT(acquire(), LOCK_HELD);
			hold(1);
			want =
			    refusals >= lost ? RELEASE_NOT_OURS : RELEASE_DONE;
			SAME_INT(released(0), want);
			most = want == RELEASE_DONE ?
			    refusals + world.lock.intent.quorum :
			    lost;
			SAME_INT(now(), 1 + 10 * most);
			CHECK((lock_state(&world.lock) != NULL) ==
			    (want == RELEASE_NOT_OURS));
			lock_close(&world.lock);
		}

	begin(5, 1000, 100);
	plan((const char *const[]){ "yes yes silent", "yes yes yes+20",
	    "yes yes lost+30 yes+5", "yes yes broken", "yes yes yes+50" });
	SAME_INT(acquire(), LOCK_HELD);
	hold(1);
	SAME_INT(released(0), RELEASE_DONE);
	SAME_INT(now(), 51);
	SAME_INT(count(2, RELEASE), 2);
	lock_close(&world.lock);

	begin(3, 1000, 250);
	plan((const char *const[]){
	    "yes yes silent", "yes yes broken", "yes" });
	SAME_INT(acquire(), LOCK_HELD);
	hold(1);
	SAME_INT(released(0), RELEASE_UNANSWERED);
	SAME_INT(now(), 376);
	SAME_INT(count(0, RELEASE), 2);
	SAME_INT(count(1, RELEASE), 1);
	lock_close(&world.lock);
}

/* One server's behaviour while the others reply to the release at once, at 340. */
static void
stragglers(void)
{
	static const struct {
		const char *plan;
		int64_t end_ms;
	} rows[] = {
		{ "yes yes yes silent", 340 },    /* nothing is ahead of it */
		{ "yes yes yes+20 yes", 353 },    /* a renewal is, for 13 ms */
		{ "yes yes silent", 383 },        /* for ever */
		{ "yes yes yes+20 yes+30", 370 }, /* its own answer is slow */
		{ "yes yes yes+20 lost yes", 353 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(3, 1000, 100);
		world.servers[2].plan = rows[i].plan;
		SAME_INT(acquire(), LOCK_HELD);
		hold(340);
		SAME_INT(released(0), RELEASE_DONE);
		SAME_INT(now(), rows[i].end_ms);
		lock_close(&world.lock);
	}

	/* It has never answered: the others' time, several times over. */
	begin(3, 1000, 100);
	plan((const char *const[]){ "yes+5", "yes+5", "silent" });
	SAME_INT(acquire(), LOCK_HELD);
	SAME_INT(released(0), RELEASE_DONE);
	SAME_INT(now(), 4 * 5 + 2);
	lock_close(&world.lock);
}

/* Behind the text of a script Redis drops a release once we are gone. */
static void
stragglers_with_text(void)
{
	begin(3, 1000, 100);
	plan((const char *const[]){ "no+5", "no+5", "unloaded+1 yes+70 yes" });
	SAME_INT(acquire(), LOCK_BUSY);
	SAME_INT(now(), 71);
	SAME_TEXT(sent(2), "acquire@0/1 acquire@1/1 release@5/1");
	lock_close(&world.lock);

	/* It is frozen. */
	begin(3, 1000, 100);
	plan((const char *const[]){ "no+5", "no+5", "unloaded+1 silent" });
	SAME_INT(acquire(), LOCK_BUSY);
	SAME_INT(now(), 201);
	lock_close(&world.lock);
}

/* A server that knows us from its queue alone is not tried without pause. */
static void
release_of_the_queue(void)
{
	begin(3, 1000, 100);
	plan((const char *const[]){ "no+5", "no+5", "queued+2" });
	world.servers[2].connects = "now refused";
	cut(2, 4);
	SAME_INT(acquire(), LOCK_BUSY);
	CHECK(world.servers[2].connection < 20);
	lock_close(&world.lock);
}

/*
 * The first of two locks is lost while the second is waited for, and none of
 * their releases is answered.  What the second may have left is released at the
 * end, though it was not asked for again.
 */
static void
starts_over_in_vain(void)
{
	struct address addresses[2] = { 0 };
	struct lock two[2];
	int n = 0;
	struct locks locks = { .lock = two, .n = 2, .about = two };

	begin(2, 1000, 100);
	plan((const char *const[]){ "yes silent", "other silent" });
	for (int i = 0; i < 2; i++) {
		addresses[i].at[0].port = i;
		snprintf(addresses[i].text, ADDRESS_TEXT, "server%d", i);
		if (lock_init(&two[i], &no_resolver,
			&(struct lock_config){ .prefix = "p:",
			    .name = "n",
			    .capacity = 1,
			    .addresses = &addresses[i],
			    .naddresses = 1,
			    .ttl_ms = 1000,
			    .node_timeout_ms = 100 }) == -1)
			abort();
	}
	locks_connect(&locks);
	SAME_INT(locks_acquire(&locks, &world.owner, START + 3000,
		     ignore_wait_cb, NULL),
	    LOCK_UNREACHABLE);
	CHECK(locks_about(&locks) == &two[0]);
	CHECK(now() >= 3000);
	CHECK(count(0, ACQUIRE) > 1);
	while (nth(1, n + 1)->left)
		n++;
	CHECK(nth(1, n)->label == LEAVE);
	CHECK(nth(1, n)->at_ms >= START + 3000);
	for (int i = 0; i < 2; i++)
		lock_close(&two[i]);
}

/* What the server granted to the last try may be there, but is not ours now. */
static void
another_try(void)
{
	struct server *s;

	begin(1, 1000, 100);
	world.servers[0].connects = "now refused refused refused";
	SAME_INT(acquire(), LOCK_HELD);
	s = &world.lock.servers[0];
	SAME_INT(s->key.state, KEY_OURS);
	cut(0, 200);
	hold(210);
	SAME_INT(s->key.state, KEY_OURS);
	server_restart(s);
	SAME_INT(s->key.state, KEY_MAYBE);
	SAME_INT(s->valid_ms, 0);
	SAME_INT(s->vote, VOTE_PENDING);
	lock_close(&world.lock);
}

/* The refusal, sent at 10, gives the holder 700 ms. */
static void
asks_at_the_end_of_a_lease(void)
{
	static const struct {
		const char *plan;
		int64_t from_ms, to_ms; /* when the second acquire is sent */
	} rows[] = {
		{ "no+10 silent yes", 711, 711 },
		/* A waiter ahead gets it then; ours was to be refreshed at 4010. */
		{ "no!+10 silent yes", 6600, 7500 },
		/* No script of another program wakes us. */
		{ "other+10 yes", 30, 710 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int n = 1;

		begin(1, 60000, 3000);
		world.servers[0].plan = rows[i].plan;
		SAME_INT(acquire_until(START + 60000), LOCK_HELD);
		while (nth(0, n)->left && nth(0, n)->label != ACQUIRE)
			n++;
		if (nth(0, n)->at_ms - START < rows[i].from_ms ||
		    nth(0, n)->at_ms - START > rows[i].to_ms)
			tap_fail("%s: %s", rows[i].plan, sent(0));
		released(0);
		lock_close(&world.lock);
	}
}

static const struct tap_test tests[] = {
	{ "the deadline is the q-th largest, as sorting says", deadlines },
	{ "a quorum is more than half of the servers", quorums },
	{ "all keys of a lock have the same hash tag", keys },
	{ "the longest prefix and name fit", long_keys },
	{ "a refusal tells value, time to live and time", views },
	{ "a reply with a number that cannot be right is malformed", no_views },
	{ "the lease counts from the sending, not from the answer",
	    counts_from_sending },
	{ "nothing is sent before the connection stands",
	    waits_for_connection },
	{ "a renewal is sent at every third of the lease, nothing else",
	    renews_at_thirds },
	{ "less than half of the lease is no lock", half_of_the_lease },
	{ "an error changes nothing, and the renewal is repeated",
	    errors_change_nothing },
	{ "a request for which there is no memory is sent soon", no_memory },
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
	{ "connection and request have one node timeout each", far_away },
	{ "what has not left this host needs no release",
	    nothing_left_this_host },
	{ "a refusal is busy, and nothing is given back", busy },
	{ "an error or nonsense is not busy, and is followed by a release unless nothing was executed",
	    unable },
	{ "a cancelled acquire leaves nothing behind", cancelled },
	{ "a release waits for its answer", releases },
	{ "the start and the end of a run are written down, once each",
	    history },
	{ "a release tells that the lock was not ours", release_not_ours },
	{ "a release is repeated when its connection was lost",
	    release_repeated },
	{ "a release waits for one and a half node timeouts at most",
	    release_unanswered },
	{ "a release that a server refuses for now is sent again",
	    release_after_error },
	{ "a release without an answer goes on a second connection, and the "
	  "first answer counts",
	    release_twice },
	{ "no second release without the lock, after a signal or past an "
	  "acquire without an answer",
	    release_once },
	{ "a release that was sent late and has no answer is reported",
	    release_paced },
	{ "the pause between connections that end at once doubles",
	    accepts_and_closes },
	{ "so it does if they end at BLPOP", cut_at_blpop },
	{ "a minority of servers without an address is no obstacle",
	    unresolved },
	{ "an address that accepts connections and never answers is skipped",
	    frozen_address },
	{ "names of a minority that get no answer delay nothing", slow_names },
	{ "a majority is enough, and later votes count", majority },
	{ "it is held at the q-th vote, and busy when none can have q",
	    at_the_quorum },
	{ "votes, refusals, failures and silence make the outcome", outcomes },
	{ "a minority that fails is no loss", minority_fails },
	{ "a majority that fails is one", majority_fails },
	{ "no answer brings a deadline back that has passed",
	    too_late_to_hold },
	{ "without a majority every vote is given back", no_majority },
	{ "it is contested among several owners, or with a candidate",
	    contested_or_not },
	{ "a contest does not hasten what waits for its next try",
	    contest_spares_the_cut },
	{ "the ticket is the latest time of a refusal, and shown every 20 to "
	  "40 ms",
	    tickets },
	{ "all votes are given back for an earlier ticket", yields },
	{ "votes are given back to a value that cannot be read, and to no other",
	    gives_way },
	{ "votes are not given back for ever on the word of one server",
	    yields_no_longer },
	{ "what a server said before our last vote does not make us yield",
	    keeps_its_votes },
	{ "the winner of a contest leaves the queue", wins_the_contest },
	{ "an answer to an earlier question is ignored", stale_answer },
	{ "who leaves a queue has another value afterwards", leaves },
	{ "a vote that a waiter gives back does not count while its release is "
	  "under way",
	    gives_back },
	{ "a waiter gives its vote back when two servers of three have died",
	    gives_back_without_majority },
	{ "a release that goes again gives the same vote back",
	    gives_back_again },
	{ "a fence that a majority does not take is no lock, and that is said",
	    unfenced },
	{ "what is wrong with many servers is said of as many as there is room",
	    many_complaints },
	{ "the fence is the largest of the votes, and q servers have it",
	    fences },
	{ "renewals ask for a tenth of the time since the grant, and D follows",
	    grows },
	{ "a vote counts by the length of its own request", grows_by_request },
	{ "before COMMAND starts a renewal asks for --ttl",
	    grows_from_the_start },
	{ "a key put back gets --ttl, and grows with its first renewal",
	    grows_again },
	{ "a key put back counts when a majority has kept its own", heals },
	{ "a vote counts although the server wanted the script's text first",
	    counts_late_vote },
	{ "keys put back do not make a majority", heals_without_majority },
	{ "a key put back counts when the server is old enough",
	    heals_after_restart },
	{ "a late vote counts at once, unless the server is young",
	    late_votes },
	{ "a young server has no vote with a grace", graces },
	{ "the same server twice is refused", same_servers },
	{ "an address that moves to another server takes no vote from it",
	    moved_address },
	{ "an address that moves while we wait has no vote",
	    moved_while_waiting },
	{ "a server is odd only while we acquire", odd_while_acquiring },
	{ "while one server names a success the others are asked for it",
	    asks_for_success },
	{ "with --latest a waiter gives up when no majority is left beside a later run",
	    gives_up_for_a_later_run },
	{ "--max-waiting ends the wait where a majority counts so many",
	    too_many_wait },
	{ "--max-waiting: a minority that counts so many is a refusal like others",
	    few_wait },
	{ "the beat of a run without -w shows that, and only a newcomer has a limit",
	    does_not_wait },
	{ "of the grants of one server only the latest counts",
	    one_grant_each },
	{ "a server that restarts under another address counts once",
	    restarted_under_another_address },
	{ "a server that restarted before the run is not taken for another one "
	  "when the release gets no answer",
	    restarted_before_the_run },
	{ "a release waits for a majority only", release_of_many },
	{ "a release waits a little for those it was not first to ask",
	    stragglers },
	{ "a release behind the text of a script is waited for",
	    stragglers_with_text },
	{ "a release gives up a queue that cannot be reached",
	    release_of_the_queue },
	{ "the first waiter asks when the holder's lease ends",
	    asks_at_the_end_of_a_lease },
	{ "a key of the last try is not one of the next, without a connection",
	    another_try },
	{ "a lock taken anew in vain still releases what it left before",
	    starts_over_in_vain },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
