/*
 * HELLO 3 without AUTH keeps the user and the database.  Without NOLOOP each
 * renewal would push its own change.
 */
#include "redis/handshake.h"
#include "redis/tracking.h"

#define TAG_HELLO    (HANDSHAKE_AUTH - 2) /* -1 is ASKING's, see redirect.h */
#define TAG_TRACKING (HANDSHAKE_AUTH - 3)

#define LOSSES 2 /* in a row show that the commands end the connection */

void
tracking_begin(struct tracking *t)
{
	t->state = TRACKING_UNASKED;
	t->connection++;
}

int
tracking_request(int i, const char *const **argv, int *argc)
{
	static const char *const hello[] = { "HELLO", "3" };
	static const char *const on[] = { "CLIENT", "TRACKING", "ON",
		"NOLOOP" };

	*argv = i == 0 ? hello : on;
	*argc = i == 0 ? 2 : 4;
	return i == 0 ? TAG_HELLO : TAG_TRACKING;
}

bool
tracking_has_tag(int tag)
{
	return tag == TAG_HELLO || tag == TAG_TRACKING;
}

bool
tracking_may_ask(const struct tracking *t, bool good)
{
	return t->state == TRACKING_UNASKED && t->lost < LOSSES &&
	    (t->lost == 0 || good);
}

void
tracking_asked(struct tracking *t)
{
	t->state = TRACKING_ASKED;
}

void
tracking_failed(struct tracking *t)
{
	t->state = TRACKING_REFUSED;
}

/* The second reply decides: with the first it is lost, or behind it. */
void
tracking_reply(struct tracking *t, const struct reply *reply, bool established)
{
	if (reply->tag == TAG_TRACKING && reply->kind != REPLY_LOST)
		t->lost = 0;
	else if (reply->tag == TAG_TRACKING && established)
		t->lost++;
	if (reply->kind != REPLY_OK)
		t->state = TRACKING_REFUSED;
	else if (reply->tag == TAG_TRACKING && t->state == TRACKING_ASKED)
		t->state = TRACKING_WORKS;
}

void
tracking_flooded(struct tracking *t)
{
	t->lost = LOSSES;
}
