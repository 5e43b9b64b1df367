#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "lock/notice.h"
#include "protocol/key.h"
#include "protocol/lease.h"
#include "redis/conn_track.h"

/* Shorter runs ask for no pushes. */
#define WATCH_AFTER_MS 300

/* Whether our key on this server is worth watching. */
static bool
holds(const struct server *s)
{
	return s->intent->phase == PHASE_HOLD &&
	    s->intent->mode != LOCK_SHARED && s->key.state == KEY_OURS &&
	    s->first == NULL;
}

/*
 * Whether we are the first waiter, and the holder wakes nobody.  With slots any
 * of them may become free.
 */
static bool
waits_behind_another_program(const struct server *s)
{
	const struct intent *l = s->intent;

	return l->phase == PHASE_ACQUIRE && l->mode == LOCK_EXCLUSIVE &&
	    s->first == NULL && clock_now_ms() < l->wait_end_ms &&
	    s->vote == VOTE_REFUSED && !s->queue.waiter_ahead &&
	    s->view.reason == REASON_BUSY && s->view.taken &&
	    s->view.owner.token[0] == '\0';
}

/* Whether the server watches the key of the last request on this connection. */
static bool
watched(const struct server *s)
{
	return s->notice.slot != 0 && conn_track_works(&s->conn) &&
	    s->notice.connection == s->conn.tracking.connection;
}

/* Returns when the watch begins, unless a renewal is due earlier. */
static int64_t
watch_ms(const struct server *s)
{
	return s->intent->held_ms + WATCH_AFTER_MS;
}

/*
 * Returns when it begins, or begins again on another connection.  A slot that
 * moves between two nodes of a cluster can change the connection with each
 * request.  After a connection that ended as the watch began, the next one begins
 * it behind a renewal that was granted: at once.
 */
static int64_t
watch_again_ms(const struct server *s)
{
	int64_t again_ms = s->conn.tracking.lost > 0 ?
	    0 :
	    s->notice.renewed_ms + lease_retry_ms(s->intent->ttl_ms);

	return again_ms > watch_ms(s) ? again_ms : watch_ms(s);
}

/*
 * Whether a renewal begins the watch: after that time, or if it is due by the
 * lease.  Those that are sent at once, before COMMAND starts and to confirm a
 * grant, belong to short runs too.
 */
static bool
begins_watch(const struct server *s, bool leaves)
{
	int64_t now = clock_now_ms();

	return now >= watch_ms(s) ||
	    (!leaves &&
		now - s->key.confirmed_ms >=
		    lease_renewal_ms(s->intent->ttl_ms));
}

/* Returns the slot whose key the request reads for the server to watch, or 0. */
static int
slot_to_watch(const struct server *s, enum request_kind kind, bool leaves)
{
	bool tracks = conn_track_works(&s->conn);

	if (!tracks && !conn_track_possible(&s->conn))
		return 0;
	if (kind == REQUEST_ACQUIRE)
		return waits_behind_another_program(s) ? 1 : 0;
	return kind == REQUEST_RENEW && holds(s) &&
		(tracks || begins_watch(s, leaves)) ?
	    s->slot :
	    0;
}

int64_t
notice_due_ms(const struct server *s, enum request_kind kind)
{
	bool hint = s->notice.changed && watched(s);

	if (kind == REQUEST_RENEW && holds(s)) {
		if (hint)
			return s->notice.hastened_ms +
			    lease_retry_ms(s->intent->ttl_ms);
		if (!(s->notice.held && watched(s)) &&
		    (conn_track_works(&s->conn) ||
			conn_track_possible(&s->conn)))
			return watch_again_ms(s);
	}
	if (kind == REQUEST_ACQUIRE && hint && waits_behind_another_program(s))
		return s->notice.hastened_ms + s->pace.poll_ms;
	return CLOCK_NEVER;
}

bool
notice_awaited(const struct server *s)
{
	return watched(s) && s->conn.tracking.state == TRACKING_WORKS &&
	    waits_behind_another_program(s);
}

int
notice_begin(struct server *s, enum request_kind kind, bool leaves)
{
	int slot = slot_to_watch(s, kind, leaves);

	if (s->notice.changed) {
		s->notice.hastened_ms = clock_now_ms();
		info("%s: %s: the key of the lock was changed", s->intent->name,
		    s->conn.address.text);
	}
	s->notice.changed = false;
	s->notice.slot = slot;
	s->notice.held = kind == REQUEST_RENEW;
	if (slot == 0)
		return 0;
	if (kind == REQUEST_RENEW)
		s->notice.renewed_ms = clock_now_ms();
	if (!conn_track_works(&s->conn))
		conn_track(&s->conn);
	s->notice.connection = s->conn.tracking.connection;
	return slot;
}

/*
 * The reply to a request in flight knows of the change, since it was executed
 * later: Redis pushes a change before any reply behind it.  Redis 6.0 pushes our
 * own script's writes too, before its reply.
 */
void
notice_changed_cb(void *arg, const char *key, size_t len)
{
	struct server *s = arg;
	char ours[LOCK_KEY];

	if (s->in_flight.kind != REQUEST_NONE || s->notice.slot == 0)
		return;
	key_of_slot(ours, s->intent->key, s->intent->aux, s->notice.slot);
	if (key == NULL || (strlen(ours) == len && memcmp(key, ours, len) == 0))
		s->notice.changed = true;
}
