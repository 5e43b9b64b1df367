/*
 * What a server is asked, one request on its way at a time, and the connection
 * for that.  Callbacks only note what came; server_step() acts.  Knows no
 * other server: what concerns them all, D before anything, is lock.c's.
 *
 * A release never overtakes its acquire: it is sent on the same connection,
 * behind it, whether or not the acquire has been answered.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/log.h"
#include "lock/server.h"
#include "protocol/key.h"
#include "scripts.h"

#define REOPEN_MS 200 /* between tries to reach a server that is down */
#define RETRY_MS  10  /* between tries of an acquire that was cut */
#define PACE_MS   20  /* between requests to a server on average, */
#define BURST     16  /* after so many without a pause */
#define RECORD    (LOCK_END + 32)

#define PROPOSAL_US 1000000 /* for that long the proposal of a fence is new */

void
server_init(struct server *s, const struct lease *lease, struct loop *loop,
    const struct address *address,
    void (*refresh_cb)(void *arg, struct server *), void *arg)
{
	s->lease = lease;
	s->refresh_cb = refresh_cb;
	s->arg = arg;
	s->slowest_ms = -1;
	s->in_flight.give_up_ms = CLOCK_NEVER;
	s->try = 1;
	conn_init(&s->conn, loop, address, server_reply_cb, s);
	s->conn.ask_info = lease->nservers > 1 || lease->grace_ms > 0;
}

/* What is to be asked of this server as things stand. */
static enum request_kind
server_next_request(const struct server *s, int64_t now)
{
	const struct lease *l = s->lease;
	bool answered = server_has_voted(s);

	switch (l->phase) {
	case PHASE_ACQUIRE:
		if (!l->begun)
			return REQUEST_NONE;
		if (l->no_quorum && answered)
			return server_may_have_ours(s) ? REQUEST_LEAVE :
							 REQUEST_NONE;
		/* The fence's write-back: a renewal raises it to ours. */
		if (s->vote == VOTE_GRANTED && s->fence < l->fence)
			return REQUEST_RENEW;
		if (s->vote == VOTE_GRANTED && l->replicating)
			return s->replicas < l->replicas ? REQUEST_REPLICAS :
							   REQUEST_NONE;
		return s->vote == VOTE_PENDING ||
			(l->ticket != 0 && answered) || now < l->wait_end_ms ?
		    REQUEST_ACQUIRE :
		    REQUEST_NONE;
	case PHASE_HOLD:
		if (s->key.state == KEY_OURS)
			return REQUEST_RENEW;
		if (s->queue.maybe && s->vote == VOTE_REFUSED)
			return REQUEST_LEAVE;
		/*
		 * A vote that may come later, or a key to be put back: only
		 * while the lock is held without it, else it would hide that
		 * somebody else was in between.
		 */
		return now < l->deadline_ms ? REQUEST_ACQUIRE : REQUEST_NONE;
	case PHASE_RELEASE:
		return server_may_have_ours(s) ? REQUEST_RELEASE : REQUEST_NONE;
	}
	return REQUEST_NONE;
}

/*
 * Sends a part of the script with n arguments behind those that all have.  Its
 * answer counts only while nothing else has been sent since.  At the end
 * whatever an attempt of ours has left is given back.
 */
static int
send_script(struct server *s, const char *part, int n, const char *const args[])
{
	const struct lease *l = s->lease;
	char id[OWNER_ID], limit[12], slot[12];
	unsigned int try = l->phase == PHASE_RELEASE && !l->again ? 0 : s->try;
	const char *argv[CONN_ARGS] = { l->key, l->aux,
		owner_id(l->owner, try, id), l->owner->token, limit, slot };

	/* In the scripts a shared lock has no limit. */
	snprintf(limit, sizeof(limit), "%d",
	    l->mode == LOCK_SHARED ? 0 : l->capacity);
	snprintf(slot, sizeof(slot), "%d", l->slot);
	memcpy(argv + 6, args, (size_t)n * sizeof(*args));
	argv[6 + n] = part;
	return conn_eval(
	    &s->conn, ++s->in_flight.sequence, &script_lock, 2, 7 + n, argv);
}

/* One server hands the lock over; several could disagree to whom. */
static const char *
only_server(const struct server *s)
{
	return s->lease->nservers == 1 ? "1" : "0";
}

/*
 * Whether to acquire it is to start the run, which then goes into the history.
 * Several servers are told afterwards: a candidate leaves no trace there.
 */
static bool
starts_run(const struct server *s)
{
	return s->lease->last && s->lease->nservers == 1;
}

/* What the history says of the run beside its owner; how is that of its end. */
static void
record(const struct lease *l, const char *end_record, char text[RECORD])
{
	int64_t ms = l->held ? l->waited_ms : clock_now_ms() - l->begun_ms;

	snprintf(text, RECORD, " waited=%" PRId64 "%s", ms, end_record);
}

/*
 * A value is never used again once its release is sent: it could be executed
 * late, on a connection that we gave up.
 */
static int
send_release(struct server *s, bool leave)
{
	const struct lease *l = s->lease;
	char rest[24], end[RECORD] = "";
	const char *const args[] = { rest, leave ? "1" : "0", only_server(s),
		end, l->started ? l->details : "" };

	snprintf(rest, sizeof(rest), "%" PRId64, l->rest_ms);
	if (l->end_record[0] != '\0')
		record(l, l->end_record, end);
	else if (!l->started && starts_run(s))
		record(l, " ended=not-run", end);
	return send_script(s, "release", 5, args);
}

/* To be woken, or to be told that it is time to ask again. */
static int
send_wait(struct server *s)
{
	int64_t ms = s->pace.block_ms - clock_now_ms();
	char key[LOCK_KEY + OWNER_TOKEN + 8], seconds[24];
	const char *const argv[] = { "BLPOP", key, seconds };

	snprintf(key, sizeof(key), "%swake:%s", s->lease->aux,
	    s->lease->owner->token);
	snprintf(seconds, sizeof(seconds), "%" PRId64 ".%03" PRId64, ms / 1000,
	    ms % 1000);
	return conn_command(&s->conn, ++s->in_flight.sequence, 3, argv);
}

/*
 * To be told how many replicas have all that was written on this connection.
 * The server looks at its clock ten times a second, so half of the time that it
 * has for its answer is left for that.
 */
static int
send_wait_replicas(struct server *s)
{
	const struct lease *l = s->lease;
	char replicas[12], ms[24];
	const char *const argv[] = { "WAIT", replicas, ms };

	snprintf(replicas, sizeof(replicas), "%d", l->replicas);
	snprintf(ms, sizeof(ms), "%" PRId64, (l->node_timeout_ms + 1) / 2);
	return conn_command(&s->conn, ++s->in_flight.sequence, 3, argv);
}

static int
send_acquire(struct server *s)
{
	const struct lease *l = s->lease;
	char ttl[24], fence[24], ticket[24], heartbeat[24], start[RECORD] = "";
	const char *const args[] = { l->details, ttl, fence, ticket, heartbeat,
		only_server(s), start };
	int64_t beat_ms = l->wait_end_ms != 0 ?
	    HEARTBEAT_MS :
	    BEAT_TIMEOUTS * l->node_timeout_ms;

	/* After a long wait an old proposal is less than a lost counter was. */
	if (clock_wall_us() > *l->proposal_us + PROPOSAL_US)
		*l->proposal_us = clock_wall_us();
	s->in_flight.heals = l->phase == PHASE_HOLD;
	s->queue.sent_ticket = l->ticket != 0;
	snprintf(ttl, sizeof(ttl), "%" PRId64, l->ttl_ms);
	snprintf(fence, sizeof(fence), "%" PRId64, *l->proposal_us);
	snprintf(ticket, sizeof(ticket), "%" PRId64, l->ticket);
	snprintf(heartbeat, sizeof(heartbeat), "%" PRId64,
	    server_queues(s) ? beat_ms : 0);
	if (starts_run(s)) {
		record(l, "", start);
		s->recorded = true;
	}
	return send_script(s, "acquire", 7, args);
}

/* Once in a run it says that this has started; an answer may be lost. */
static int
send_renew(struct server *s)
{
	const struct lease *l = s->lease;
	char ttl[24], fence[24], start[RECORD] = "";
	bool starts = l->started && !s->recorded;
	const char *const args[] = { ttl, fence,
		s->in_flight.leaves ? "1" : "0", start };

	snprintf(ttl, sizeof(ttl), "%" PRId64, l->ttl_ms);
	snprintf(fence, sizeof(fence), "%" PRId64, l->fence);
	if (starts)
		record(l, "", start);
	if (send_script(s, "renew", 4, args) == -1)
		return -1;
	s->recorded = s->recorded || starts;
	return 0;
}

static int
server_send(struct server *s, enum request_kind kind)
{
	int sent;

	switch (kind) {
	case REQUEST_ACQUIRE:
		return send_acquire(s);
	case REQUEST_WAIT:
		return send_wait(s);
	case REQUEST_REPLICAS:
		return send_wait_replicas(s);
	case REQUEST_RENEW:
		s->in_flight.leaves =
		    s->lease->phase == PHASE_HOLD && s->queue.maybe;
		return send_renew(s);
	case REQUEST_LEAVE:
		sent = send_release(s, true);
		s->try++;
		return sent;
	case REQUEST_RELEASE:
		s->release.sent++;
		return send_release(s, true);
	case REQUEST_NONE:
		break;
	}
	return -1;
}

/* The attempt is over here; the next one has a value of its own. */
static void
give_back(struct server *s, bool leave)
{
	send_release(s, leave);
	s->in_flight.kind = REQUEST_NONE;
	s->in_flight.give_up_ms =
	    CLOCK_NEVER; /* the next request has a time of its own */
	s->key.state = KEY_NONE;
	s->valid_ms = s->key.untrusted_since_ms = 0;
	s->try++;
}

void
server_hasten(struct server *s)
{
	s->pace.next_ms = clock_now_ms();
}

void
server_ask_anew(struct server *s)
{
	s->vote = VOTE_PENDING;
	server_hasten(s);
}

void
server_restart(struct server *s)
{
	if (s->conn.state == CONN_READY)
		give_back(s, false);
	if (s->key.state == KEY_OURS)
		s->key.state = KEY_MAYBE;
	s->valid_ms = s->key.untrusted_since_ms = 0;
	s->try++;
	s->vote = VOTE_PENDING;
	s->pace.next_ms = clock_now_ms();
}

void
server_yield(struct server *s)
{
	if (s->conn.state != CONN_READY)
		return; /* it is asked again when it is back */
	give_back(s, false);
	s->vote = VOTE_REFUSED;
	s->view.taken = false;
	s->queue.waiter_ahead = false;
	s->pace.next_ms = clock_now_ms() + clock_jitter(POLL_MS);
}

/* Why it says nothing; while the lock is held, that is its last word. */
static void
note_failure(struct server *s, const char *why)
{
	if (s->lease->phase == PHASE_HOLD)
		server_failed(s, VOTE_UNAVAILABLE, why);
	else
		conn_explain(&s->conn, why, s->why);
}

/*
 * Whether the silence was our own: when the time for the answer was over, we
 * had yet to send the request, or to read what came before the answer.  The
 * server then gets that time once more.
 */
static bool
excused(struct server *s)
{
	const struct lease *l = s->lease;

	if (s->in_flight.excused_ms != 0 ||
	    s->conn.link.active_ms < s->in_flight.give_up_ms)
		return false;
	s->in_flight.give_up_ms = s->conn.link.active_ms + l->node_timeout_ms;
	s->in_flight.excused_ms = s->in_flight.give_up_ms;
	return true;
}

/* What was asked is not answered in time. */
static void
server_unanswered(struct server *s)
{
	const struct lease *l = s->lease;
	char text[DURATION_TEXT], why[CONN_WHY];

	if (s->in_flight.kind == REQUEST_WAIT) {
		/* Nothing can be asked on a connection that is blocked. */
		conn_close(&s->conn, NULL);
		return;
	}
	snprintf(why, sizeof(why), "no answer within %s",
	    duration_format(l->node_timeout_ms, text));
	note_failure(s, why);
	if (s->in_flight.kind == REQUEST_ACQUIRE && conn_connected(&s->conn)) {
		/* It may be executed yet: its release must follow it here. */
		if (l->phase != PHASE_HOLD && l->wait_end_ms == 0) {
			s->in_flight.give_up_ms = CLOCK_NEVER;
			return;
		}
		give_back(s,
		    l->phase != PHASE_ACQUIRE ||
			clock_now_ms() >= l->wait_end_ms);
		conn_finish(&s->conn);
	}
	conn_close(&s->conn, why);
}

/*
 * A server that is being restarted is to be met as soon as it is back; one
 * that wants another password is not worth that.
 */
static int64_t
reopen_after_ms(const struct server *s)
{
	int64_t ttl_ms = s->lease->ttl_ms;

	if (s->conn.failure == REPLY_DENIED)
		return ttl_ms / 3;
	return ttl_ms / 10 < REOPEN_MS ? ttl_ms / 10 : REOPEN_MS;
}

/* The connection is gone, or could not be made. */
static void
server_down(struct server *s, int64_t now)
{
	const struct lease *l = s->lease;
	const struct conn *n = &s->conn;

	/* The next request shows what is wrong with the server, if anything. */
	if (s->in_flight.kind != REQUEST_WAIT)
		note_failure(s, n->why);
	if (s->in_flight.kind == REQUEST_ACQUIRE && n->established)
		server_may_hold(s);
	/* WAIT knows only of what was written on its own connection. */
	if (l->replicas > 0 && l->phase == PHASE_ACQUIRE &&
	    s->vote == VOTE_GRANTED)
		s->vote = VOTE_PENDING;
	s->in_flight.kind = REQUEST_NONE;
	s->in_flight.give_up_ms = CLOCK_NEVER;
	if (s->link.reopen || n->untried > 0) {
		s->link.reopen = false;
		s->pace.next_ms = now;
	} else if (l->phase == PHASE_HOLD)
		s->pace.next_ms = now + reopen_after_ms(s);
	else if (s->key.state != KEY_NONE || n->again ||
	    (l->phase == PHASE_RELEASE && s->queue.maybe))
		s->pace.next_ms = now + clock_jitter(RETRY_MS);
	else {
		server_failed(s,
		    n->failure == REPLY_DENIED ? VOTE_FORBIDDEN :
						 VOTE_UNAVAILABLE,
		    n->why);
		s->pace.next_ms = now + clock_jitter(REOPEN_MS);
	}
}

void
server_open(struct server *s, int64_t now)
{
	int64_t limit = s->lease->node_timeout_ms;

	/* Several addresses share the time that there is. */
	s->in_flight.give_up_ms =
	    now + limit / (s->conn.untried > 1 ? s->conn.untried : 1);
	s->link.opened = true;
	s->link.opened_ms = now;
	s->link.heard = false;
	s->in_flight.excused_ms = 0;
	conn_open(&s->conn);
}

/*
 * When the next request may be sent.  Whatever a server answers, and however
 * fast, it cannot make us ask without end and without pause.
 */
static int64_t
floor_ms(const struct server *s)
{
	return s->pace.paced_ms - BURST * PACE_MS;
}

/* One server's turn.  Returns when it wants the next one. */
int64_t
server_step(struct server *s, int64_t now)
{
	const struct lease *l = s->lease;
	enum request_kind kind;
	bool leaving;

	conn_sweep(&s->conn);
	if (s->link.opened && s->conn.state != CONN_DOWN &&
	    loop_seen_ms(s->conn.link.loop) >= s->in_flight.give_up_ms &&
	    !excused(s))
		server_unanswered(s);
	if (s->link.opened && s->conn.state == CONN_DOWN) {
		s->link.opened = false;
		server_down(s, now);
	}
	s->refresh_cb(s->arg, s);
	kind = server_next_request(s, now);
	if (s->in_flight.kind != REQUEST_NONE || kind == REQUEST_NONE)
		return s->link.opened ? s->in_flight.give_up_ms : CLOCK_NEVER;
	/* A holder leaves the queue at once: others take it for a candidate. */
	leaving = l->phase == PHASE_HOLD && s->queue.maybe &&
	    kind != REQUEST_ACQUIRE && s->conn.state == CONN_READY &&
	    s->vote != VOTE_UNAVAILABLE && s->vote != VOTE_FORBIDDEN;
	if (now < s->pace.next_ms && !leaving) {
		if (l->phase != PHASE_ACQUIRE || l->ticket == 0 ||
		    s->pace.block_ms <= now || s->vote != VOTE_REFUSED ||
		    s->conn.state != CONN_READY)
			return s->pace.next_ms;
		kind = REQUEST_WAIT;
	}
	if (now < floor_ms(s))
		return floor_ms(s);
	if (s->conn.state == CONN_DOWN) {
		server_open(s, now);
		if (s->conn.state == CONN_DOWN)
			return now; /* judged in the next turn */
	}
	if (s->conn.state != CONN_READY)
		return s->in_flight.give_up_ms;
	if (server_send(s, kind) == -1) {
		/* No memory for it; there may be some soon. */
		s->pace.block_ms = 0;
		return s->pace.next_ms = now + clock_jitter(RETRY_MS);
	}
	s->in_flight.kind = kind;
	s->pace.paced_ms =
	    (s->pace.paced_ms > now ? s->pace.paced_ms : now) + PACE_MS;
	if (kind == REQUEST_WAIT)
		s->in_flight.give_up_ms = s->pace.next_ms;
	else if (conn_connected(&s->conn))
		s->in_flight.give_up_ms = now + l->node_timeout_ms;
	return s->in_flight.give_up_ms;
}

bool
server_begin_release(struct server *s, int64_t now)
{
	if (s->in_flight.kind == REQUEST_ACQUIRE) {
		if (conn_connected(&s->conn) || server_may_have_ours(s))
			server_may_hold(s);
		else
			conn_close(&s->conn, s->why[0] != '\0' ? s->why : NULL);
	} else if (s->in_flight.kind == REQUEST_WAIT ||
	    s->in_flight.kind == REQUEST_REPLICAS)
		conn_close(&s->conn, NULL); /* it is blocked */
	s->release.behind_ms = conn_unanswered_ms(&s->conn);
	s->in_flight.kind = REQUEST_NONE;
	s->in_flight.give_up_ms = CLOCK_NEVER;
	s->pace.next_ms = now;
	s->release.sent = 0;
	s->release.vote = VOTE_PENDING;
	if (server_may_have_ours(s))
		return true;
	if (s->lease->started && s->recorded && s->conn.state == CONN_READY)
		send_release(s, false);
	return false;
}

void
server_again(struct server *s)
{
	if (s->in_flight.kind != REQUEST_NONE) {
		s->in_flight.kind = REQUEST_NONE;
		conn_finish(&s->conn);
		conn_close(&s->conn, NULL);
	}
	s->try++;
	s->vote = s->release.vote = VOTE_PENDING;
	if (s->key.state == KEY_OURS)
		s->key.state = KEY_MAYBE;
	s->in_flight.heals = s->queue.sent_ticket = s->recorded =
	    s->queue.waiter_ahead = false;
	s->valid_ms = s->key.untrusted_since_ms = s->key.confirmed_ms =
	    s->key.granted_ms = 0;
	s->pace.block_ms = s->pace.poll_ms = s->pace.next_ms = 0;
	s->fence = 0;
	s->slot = 0;
	s->replicas = s->release.sent = 0;
	s->numbers.odd = NULL;
	s->in_flight.give_up_ms = CLOCK_NEVER;
	s->why[0] = '\0';
}
