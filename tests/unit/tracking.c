/* Whether a server pushes changes, by its replies to HELLO and CLIENT TRACKING. */
#include "../../src/redis/tracking.c"
#include "tap.h"

static struct tracking tracking;

/* The words of a request, which has a tag of its own. */
static const char *
words(int i)
{
	static char text[64];
	const char *const *argv;
	int argc, tag = tracking_request(i, &argv, &argc);

	CHECK(tracking_has_tag(tag));
	CHECK(tag < HANDSHAKE_AUTH - 1);
	text[0] = '\0';
	for (int w = 0; w < argc; w++) {
		strcat(text, w > 0 ? " " : "");
		strcat(text, argv[w]);
	}
	return text;
}

static void
take(int i, enum reply_kind kind, bool established)
{
	const char *const *argv;
	int argc;
	const struct reply reply = { .kind = kind,
		.tag = tracking_request(i, &argv, &argc) };

	tracking_reply(&tracking, &reply, established);
}

static void
requests(void)
{
	SAME_TEXT(words(0), "HELLO 3");
	SAME_TEXT(words(1), "CLIENT TRACKING ON NOLOOP");
	for (int tag = HANDSHAKE_AUTH - 1; tag < 5; tag++)
		CHECK(!tracking_has_tag(tag));
}

static void
replies(void)
{
	static const enum reply_kind kinds[] = { REPLY_OK, REPLY_ERROR,
		REPLY_DENIED, REPLY_LOST };

	for (int hello = 0; hello < 4; hello++)
		for (int on = 0; on < 4; on++) {
			tracking = (struct tracking){ 0 };
			tracking_begin(&tracking);
			CHECK(tracking_may_ask(&tracking, false));
			tracking_asked(&tracking);
			CHECK(!tracking_may_ask(&tracking, true));
			take(0, kinds[hello], true);
			SAME_INT(tracking.state,
			    hello == 0 ? TRACKING_ASKED : TRACKING_REFUSED);
			take(1, kinds[on], true);
			SAME_INT(tracking.state,
			    hello == 0 && on == 0 ? TRACKING_WORKS :
						    TRACKING_REFUSED);
			/* Another connection forgets all but a loss. */
			tracking_begin(&tracking);
			SAME_INT(tracking.state, TRACKING_UNASKED);
			SAME_INT(tracking.connection, 2);
			CHECK(tracking_may_ask(&tracking, true));
			CHECK(tracking_may_ask(&tracking, false) ==
			    (kinds[on] != REPLY_LOST));
		}
}

/* A connection that ends, with the reply to HELLO or without. */
static void
lose(enum reply_kind hello, bool established)
{
	tracking_begin(&tracking);
	tracking_asked(&tracking);
	take(0, hello, established);
	take(1, REPLY_LOST, established);
	tracking_begin(&tracking);
}

static void
losses(void)
{
	static const enum reply_kind kinds[] = { REPLY_OK, REPLY_LOST };

	for (int first = 0; first < 2; first++)
		for (int second = 0; second < 2; second++) {
			tracking = (struct tracking){ 0 };
			lose(kinds[first], true);
			CHECK(!tracking_may_ask(&tracking, false));
			CHECK(tracking_may_ask(&tracking, true));
			lose(kinds[second], true);
			CHECK(!tracking_may_ask(&tracking, true));
		}
}

static void
losses_apart(void)
{
	tracking = (struct tracking){ 0 };
	for (int i = 0; i < 10; i++) {
		lose(REPLY_LOST, true);
		CHECK(tracking_may_ask(&tracking, true));
		tracking_asked(&tracking);
		take(0, REPLY_OK, true);
		take(1, REPLY_OK, true);
	}
}

static void
refused_connections(void)
{
	tracking = (struct tracking){ 0 };
	for (int i = 0; i < 10; i++) {
		lose(REPLY_LOST, false);
		CHECK(tracking_may_ask(&tracking, false));
	}
}

static void
flood(void)
{
	tracking = (struct tracking){ 0 };
	tracking_begin(&tracking);
	tracking_flooded(&tracking);
	tracking_begin(&tracking);
	CHECK(!tracking_may_ask(&tracking, true));
}

static const struct tap_test tests[] = {
	{ "the requests have tags of their own", requests },
	{ "a server pushes once it has accepted both requests; after a loss "
	  "the next connection has to be good first",
	    replies },
	{ "two connections in a row that end at HELLO or at CLIENT TRACKING "
	  "are enough",
	    losses },
	{ "two that another one lies between are not", losses_apart },
	{ "a connection that was never made does not count",
	    refused_connections },
	{ "too many pushes are enough once", flood },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
