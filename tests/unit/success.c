/* Which success counts, by the replies of one to five servers. */
#include "../../src/inspect/success.c"
#include "tap.h"

#define NOW_MS 1000000

/* Server i replied with a success of that token and age; NULL: without one. */
static void
has(struct success *s, const char *token, int64_t age_ms)
{
	char text[128];

	snprintf(text, sizeof(text),
	    "redlock-run/2 token=%s try=0 since=%lld pid=1 host=h ran=7",
	    token == NULL ? "" : token, (long long)(NOW_MS - age_ms));
	success_read(s, token == NULL ? NULL : text, strlen(text), NOW_MS);
}

static void
a_reply(void)
{
	struct success s;

	has(&s, "A", 500);
	CHECK(s.known);
	SAME_INT(s.age_ms, 500);
	SAME_INT(s.ran_ms, 7);
	SAME_TEXT(s.owner.host, "h");
	has(&s, "A", -500); /* the clock was set back */
	SAME_INT(s.age_ms, 500);
	success_read(&s, "somebody's", 10, NOW_MS);
	CHECK(s.known);
	SAME_INT(s.age_ms, -1);
	SAME_INT(s.ran_ms, -1);
}

static void
one_server(void)
{
	struct success s = { 0 };
	struct last_success last = success_judge(&s, 1, 1);

	CHECK(last.it == NULL && !last.certain && last.least_ms == 0);
	has(&s, NULL, 0);
	last = success_judge(&s, 1, 1);
	CHECK(last.it == NULL && last.certain);
	CHECK(last.age_ms == INT64_MAX && last.least_ms == INT64_MAX);
	has(&s, "A", 5);
	last = success_judge(&s, 1, 1);
	CHECK(last.it == &s && last.certain);
	CHECK(last.age_ms == 5 && last.least_ms == 5);
}

static void
five_servers(void)
{
	struct success s[5] = { 0 };
	struct last_success last;

	/* Three of five have to refuse a run. */
	has(&s[0], "C", 10);
	has(&s[1], "B", 21);
	has(&s[2], "A", 30);
	has(&s[3], "C", 12);
	has(&s[4], "B", 20);
	last = success_judge(s, 5, 3);
	CHECK(last.it == &s[4] && last.certain);
	SAME_INT(last.age_ms, 20);
	SAME_INT(last.least_ms, 20);

	/* A silent server may have the youngest. */
	s[2].known = false;
	last = success_judge(s, 5, 3);
	CHECK(last.it == &s[4] && !last.certain);
	SAME_INT(last.least_ms, 12);
	/* It changes nothing where so many others agree. */
	has(&s[3], "B", 20);
	last = success_judge(s, 5, 3);
	CHECK(last.certain);
	SAME_INT(last.age_ms, 20);

	/* Two of them may, and a third could be as young as now. */
	s[1].known = false;
	last = success_judge(s, 5, 3);
	CHECK(last.it == &s[3] || last.it == &s[4]);
	SAME_INT(last.least_ms, 10);
	CHECK(!last.certain);
	s[0].known = false;
	last = success_judge(s, 5, 3);
	CHECK(last.it == NULL && !last.certain);
	SAME_INT(last.least_ms, 0);
}

static void
an_even_number(void)
{
	struct success s[2];
	struct last_success last;

	/* One of two servers is enough to leave no majority. */
	has(&s[0], "A", 5);
	has(&s[1], NULL, 0);
	last = success_judge(s, 2, 2);
	CHECK(last.it == &s[0] && last.certain);
}

static const struct tap_test tests[] = {
	{ "a reply has an age by the server's clock, in either direction",
	    a_reply },
	{ "one server decides alone, and unknown without a reply", one_server },
	{ "of five servers the third youngest counts, and silence may hide a "
	  "younger one",
	    five_servers },
	{ "of two servers the youngest counts", an_even_number },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
