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
take(int i, enum reply_kind kind)
{
	const char *const *argv;
	int argc;
	const struct reply reply = { .kind = kind,
		.tag = tracking_request(i, &argv, &argc) };

	tracking_reply(&tracking, &reply);
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
			SAME_INT(tracking.state, TRACKING_UNASKED);
			tracking_asked(&tracking);
			take(0, kinds[hello]);
			SAME_INT(tracking.state,
			    hello == 0 ? TRACKING_ASKED : TRACKING_REFUSED);
			take(1, kinds[on]);
			SAME_INT(tracking.state,
			    hello == 0 && on == 0 ? TRACKING_WORKS :
						    TRACKING_REFUSED);
			CHECK(tracking.cut == (kinds[hello] == REPLY_LOST));
			/* Another connection forgets all but the cut. */
			tracking_begin(&tracking);
			SAME_INT(tracking.state, TRACKING_UNASKED);
			SAME_INT(tracking.connection, 2);
			CHECK(tracking.cut == (kinds[hello] == REPLY_LOST));
		}
}

static const struct tap_test tests[] = {
	{ "the requests have tags of their own", requests },
	{ "a server pushes once it has accepted both requests, and a "
	  "connection lost at HELLO is remembered",
	    replies },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
