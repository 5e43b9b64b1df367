/* Merges the histories of several servers, and decides how the runs ended. */
#include "../../src/inspect/runs.c"
#include "tap.h"

static struct runs runs;

/* Adds an entry of the run called token, from a copy without a byte to spare. */
static void
add_at(int server, int64_t at_ms, const char *word, const char *token,
    const char *rest)
{
	char text[512], *copy;

	snprintf(text, sizeof(text),
	    "redlock-run/2 token=%s try=1 since=5000 pid=42 host=h user=u "
	    "command=c%s",
	    token, rest);
	copy = tap_bytes(text, strlen(text));
	runs_add(&runs, server, at_ms, word, copy, strlen(text));
	free(copy);
}

static void
add(int server, const char *word, const char *rest)
{
	add_at(server, 9000, word, "A", rest);
}

static bool was_released;

/* How the only run ended, by so many servers; it is forgotten then. */
static const char *
ended(int nservers, int nsilent)
{
	const char *name;

	if (runs.n != 1) {
		tap_fail("there are %zu runs", runs.n);
		return "";
	}
	runs_judge(&runs, nservers, nservers / 2 + 1, nsilent);
	name = record_ending_word(runs.run[0].ending);
	was_released = runs.run[0].released;
	runs_release(&runs);
	return name == NULL ? "unknown" : name;
}

static void
one_server(void)
{
	const struct past_run *run;

	add(0, "end", " waited=7 ran=300 ended=exited status=3");
	add(0, "start", " waited=7");
	SAME_INT(runs.n, 1);
	run = &runs.run[0];
	SAME_TEXT(run->owner.host, "h");
	SAME_INT(run->since_ms, 5000);
	SAME_INT(run->waited_ms, 7);
	SAME_INT(run->ran_ms, 300);
	SAME_INT(run->status, 3);
	SAME_INT(run->signal, -1);
	SAME_TEXT(ended(1, 0), "exited");

	add(0, "end", " waited=7 ran=300 ended=killed signal=9");
	run = &runs.run[0];
	SAME_INT(run->since_ms, 8700);
	SAME_INT(run->status, -1);
	SAME_INT(run->signal, 9);
	SAME_TEXT(ended(1, 0), "killed");

	add(0, "end", " waited=7 ended=not-run status=127");
	SAME_INT(runs.run[0].since_ms, 9000);
	SAME_INT(runs.run[0].ran_ms, -1);
	SAME_TEXT(ended(1, 0), "not-run");
}

static void
without_end(void)
{
	add(0, "start", "");
	SAME_TEXT(ended(1, 0), "died");
	add(0, "start", "");
	runs_holds(&runs, 0, "A");
	SAME_TEXT(ended(1, 0), "running");
	/* Of several servers, by what a majority has, or may have. */
	for (int holds = 0; holds < 3; holds++) {
		add(0, "start", "");
		for (int i = 0; i < holds; i++)
			runs_holds(&runs, i, "A");
		runs_holds(&runs, 2, "B");
		SAME_TEXT(ended(3, 0), holds < 2 ? "died" : "running");
	}
	add(0, "start", "");
	SAME_TEXT(ended(3, 1), "died");
	add(0, "start", "");
	runs_holds(&runs, 1, "A");
	SAME_TEXT(ended(3, 1), "unknown");
	add(0, "start", "");
	SAME_TEXT(ended(3, 2), "unknown");
}

static void
one_knows_the_end(void)
{
	for (int i = 0; i < 3; i++) {
		add(i, "end", " ended=max-run signal=15");
		for (int k = 0; k < 3; k++) {
			add(k, "start", "");
			runs_holds(&runs, k, "A");
		}
		SAME_TEXT(ended(3, 0), "max-run");
	}
}

/* A --break is known whether the run has recorded its end or not. */
static void
broken(void)
{
	add(0, "broken", " by=ann@web%202");
	add(0, "start", "");
	SAME_TEXT(runs.run[0].broken_by, "ann@web 2");
	SAME_TEXT(ended(1, 0), "died");
	add(0, "lost", " ended=lost signal=9");
	add(0, "broken", " by=ann@web2");
	add(0, "start", "");
	SAME_TEXT(runs.run[0].broken_by, "ann@web2");
	SAME_TEXT(ended(1, 0), "lost");
	add(0, "broken", " by=");
	add(0, "start", "");
	SAME_TEXT(runs.run[0].broken_by, "");
	SAME_TEXT(ended(1, 0), "died");
}

/* A lock that --min-hold kept was released by hand, on a majority. */
static void
released(void)
{
	for (int n = 0; n <= 3; n++) {
		for (int i = 0; i < 3; i++) {
			if (i < n)
				add(i, "broken", " by=ann@web2");
			add(i, "end", " ended=exited status=0");
			add(i, "start", "");
		}
		SAME_TEXT(ended(3, 0), "exited");
		CHECK(was_released == (n >= 2));
	}
	/* These were broken first. */
	add(0, "lost", " ended=lost signal=9");
	add(0, "broken", " by=ann@web2");
	add(0, "start", "");
	SAME_TEXT(ended(1, 0), "lost");
	CHECK(!was_released);
	add(0, "end", " ended=exited status=0");
	add(0, "broken", " by=ann@web2");
	SAME_TEXT(ended(1, 0), "exited");
	CHECK(!was_released);
}

static void
losses(void)
{
	add(0, "lost", " ended=exited status=0");
	add(0, "start", "");
	SAME_TEXT(ended(1, 0), "lost");
	/* The release came twice. */
	add(0, "lost", " ended=exited status=0");
	add(0, "end", " ended=exited status=0");
	SAME_TEXT(ended(1, 0), "exited");
	/* It knew by itself. */
	add(0, "end", " ended=lost status=0");
	SAME_TEXT(ended(1, 0), "lost");
	/* A minority counts for nothing. */
	for (int lost = 1; lost <= 5; lost++) {
		for (int i = 0; i < 5; i++)
			add(i, i < lost ? "lost" : "end",
			    " ended=exited status=0");
		SAME_TEXT(ended(5, 0), lost < 3 ? "exited" : "lost");
	}
	for (int i = 0; i < 4; i++)
		add(i, i < 2 ? "lost" : "end", " ended=exited status=0");
	SAME_TEXT(ended(4, 0), "lost");
}

/* A later version may have more words. */
static void
other_endings(void)
{
	for (int status = 0; status < 2; status++) {
		add(0, "end",
		    status == 0 ? " ran=3 ended=paused status=0" :
				  " ran=3 ended=paused status=1");
		add(0, "start", "");
		runs_holds(&runs, 0, "A");
		runs_judge(&runs, 1, 1, 0);
		SAME_INT(runs.run[0].ran_ms, 3);
		CHECK(runs_has_failed(&runs.run[0]) == (status != 0));
		CHECK(runs_last_ended(&runs) == &runs.run[0]);
		SAME_TEXT(ended(1, 0), "unknown");
	}
}

/* The release ends all attempts, so it is not the next one that began. */
static void
late_start(void)
{
	static const char *const words[] = { "end", "lost" };

	for (int i = 0; i < 2; i++) {
		add(0, "start", " waited=900");
		add(0, words[i], " waited=100 ran=300 ended=exited status=0");
		add(0, "start", " waited=100");
		SAME_INT(runs.n, 1);
		SAME_INT(runs.run[0].waited_ms, 100);
		SAME_INT(runs.run[0].ran_ms, 300);
		runs_holds(&runs, 0, "A");
		SAME_TEXT(ended(1, 0), i == 0 ? "exited" : "lost");
	}
	/* Of two starts the later attempt's counts. */
	add(0, "start", " waited=900");
	add(0, "start", " waited=100");
	SAME_INT(runs.run[0].waited_ms, 900);
	SAME_TEXT(ended(1, 0), "died");
}

static void
order(void)
{
	char token[2] = "";

	for (int i = 0; i < 20; i++) {
		token[0] = (char)('a' + i);
		add_at(i % 3, 1000 * (i * 7 % 20), "end", token,
		    " ended=exited status=0");
	}
	runs_judge(&runs, 3, 2, 0);
	SAME_INT(runs.n, 20);
	for (int i = 0; i < 20; i++)
		SAME_INT(runs.run[i].since_ms, 1000 * (19 - i));
	runs_release(&runs);
}

static void
strangers(void)
{
	static const char *const numbers[] = { "", "x", "-1", "1x", "1e3",
		"9000000000000001", "99999999999999999999999" };
	char text[128];

	add(0, "", " ended=exited");
	add(0, "begin", "");
	add_at(0, -1, "start", "A", "");
	runs_add(&runs, 0, 1, "start", "garbage", 7);
	runs_add(&runs, 0, 1, "start", "", 0);
	SAME_INT(runs.n, 0);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		snprintf(text, sizeof(text),
		    " waited=%s ran=%s ended=exited status=%s", numbers[i],
		    numbers[i], numbers[i]);
		add(0, "end", text);
		SAME_INT(runs.run[0].waited_ms, -1);
		SAME_INT(runs.run[0].ran_ms, -1);
		SAME_INT(runs.run[0].status, -1);
		SAME_TEXT(ended(1, 0), "exited");
	}
}

/* An end without a known ending: it ended, but how is unknown. */
static void
unknown_ends(void)
{
	static const char *const ends[] = { "", " ended=", " ended=died",
		" ended=exite", " ended=exitedx", " ended=frozen status=3" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		add(0, "end", ends[i]);
		add(0, "start", " waited=1");
		runs_judge(&runs, 1, 1, 0);
		SAME_INT(runs.n, 1);
		SAME_INT(runs.run[0].ending,
		    i < 2 ? ENDED_UNKNOWN : ENDED_OTHER);
		CHECK(runs_has_failed(&runs.run[0]) ==
		    (strstr(ends[i], " status=") != NULL));
		runs_release(&runs);
	}
}

/* Adds a skip of the run called token, from copies without a byte to spare. */
static void
add_skip(int server, const char *token, const char *rest, const char *value)
{
	char text[512], *copy, *held = tap_bytes(value, strlen(value));

	snprintf(text, sizeof(text),
	    "redlock-run/2 token=%s try=1 since=7000 pid=42 host=h user=u "
	    "command=c%s",
	    token, rest);
	copy = tap_bytes(text, strlen(text));
	runs_add_skip(&runs, server, 9000, copy, strlen(text), held,
	    strlen(value));
	free(copy);
	free(held);
}

static void
skips(void)
{
	const struct past_run *run;
	const char *holder = "cooldown redlock-run/2 token=B try=1 since=1 "
			     "pid=7 host=i user=v command=d";

	add_skip(0, "A", " waited=9 skipped=waited", holder);
	add_skip(0, "A", " waited=10 skipped=busy", "repeated");
	runs_judge(&runs, 1, 1, 0);
	SAME_INT(runs.n, 1);
	run = &runs.run[0];
	SAME_TEXT(record_ending_word(run->ending), "skipped");
	SAME_TEXT(record_skip_word(run->skip->reason), "waited");
	SAME_INT(run->since_ms, 7000);
	SAME_INT(run->waited_ms, 9);
	SAME_INT(run->ran_ms, -1);
	SAME_TEXT(run->skip->holder.token, "B");
	CHECK(run->skip->holder.in_cooldown);
	CHECK(!runs_has_failed(run));
	CHECK(runs_last_ended(&runs) == NULL);
	runs_release(&runs);

	add_skip(0, "A", " skipped=mode",
	    "another program's, and it is long "
	    "enough that its end is not kept");
	add_skip(0, "B", " skipped=busy", "");
	SAME_INT(runs.n, 2);
	SAME_INT(runs.run[0].skip->len, SKIP_VALUE);
	SAME_TEXT(runs.run[0].skip->holder.token, "");
	SAME_INT(runs.run[1].skip->len, 0);
	SAME_INT(runs.run[1].waited_ms, -1);
	runs_release(&runs);

	add_skip(0, "A", "", "x");
	add_skip(0, "A", " skipped=", "x");
	add_skip(0, "A", " skipped=once", "x");
	runs_add_skip(&runs, 0, 1, "garbage skipped=busy", 20, "x", 1);
	SAME_INT(runs.n, 0);
}

/* So many of nservers have recorded a skip: does it count? */
static void
skip_votes(void)
{
	for (int nservers = 1; nservers <= 5; nservers++)
		for (int n = 1; n <= nservers; n++) {
			for (int i = 0; i < n; i++)
				add_skip(i, "A", " skipped=busy", "x");
			runs_judge(&runs, nservers, nservers / 2 + 1, 0);
			SAME_INT(runs.n, n > nservers - (nservers / 2 + 1));
			runs_release(&runs);
		}
}

/* A run that got the lock is no skip, whichever server replies first. */
static void
skip_and_start(void)
{
	for (int first = 0; first < 2; first++) {
		if (first == 0)
			add(2, "start", " waited=1");
		add_skip(0, "A", " waited=5 skipped=busy", "x");
		add_skip(1, "A", " waited=5 skipped=busy", "x");
		if (first == 1)
			add(2, "start", " waited=1");
		SAME_INT(runs.n, 1);
		CHECK(runs.run[0].skip == NULL);
		SAME_INT(runs.run[0].waited_ms, 1);
		SAME_INT(runs.run[0].since_ms, 5000);
		SAME_TEXT(ended(3, 0), "died");
	}
}

static void
slots(void)
{
	add(0, "end", " waited=7 ran=300 ended=exited status=0");
	SAME_INT(runs.run[0].slot, 0);
	add(1, "start", " waited=7 slot=2");
	add(2, "start", " waited=7 slot=3");
	SAME_INT(runs.run[0].slot, 2);
	runs_release(&runs);
	add(0, "broken", " by=u@h slot=3");
	SAME_INT(runs.run[0].slot, 3);
	runs_release(&runs);
}

static const struct tap_test tests[] = {
	{ "a run has the slot that the first of its entries names", slots },
	{ "a start and an end are one run; an end says all", one_server },
	{ "what has not ended runs as long as a majority has it", without_end },
	{ "it is enough if one server knows the end", one_knows_the_end },
	{ "a run whose lock was broken has the name of whoever did that",
	    broken },
	{ "a lock that was broken after the end of its run was released",
	    released },
	{ "lost is what a majority has not any more", losses },
	{ "a start behind the end is of a request that ran late", late_start },
	{ "an end with a word of a later version is an end", other_endings },
	{ "the newest comes first", order },
	{ "what is no entry of ours is passed over", strangers },
	{ "a run with an end of an unknown kind has ended", unknown_ends },
	{ "a skip has its reason and who had the lock", skips },
	{ "a skip counts if it leaves no majority", skip_votes },
	{ "a run that started anywhere was not skipped", skip_and_start },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
