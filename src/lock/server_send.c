/*
 * Sends requests to a server, in the form that its scripts and commands expect.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "lock/grant.h"
#include "lock/server_send.h"
#include "protocol/key.h"
#include "protocol/record.h"
#include "scripts.h"
#include "wire.h"

/*
 * Sends a part of the script, with the arguments that all parts have and n
 * more, and the key of a slot for the server to watch, unless that is 0.  Its
 * reply counts only if it is still the last request.  The last release covers
 * all attempts of ours.
 */
static int
send_script(struct server *s, const char *part, int watches, int n,
    const char *const args[])
{
	static const char *const modes[] = { [LOCK_EXCLUSIVE] = "exclusive",
		[LOCK_SHARED] = "shared",
		[LOCK_SLOTTED] = "slots" };
	const struct intent *l = s->intent;
	char id[OWNER_ID], capacity[12], slot[12], watched[LOCK_KEY];
	unsigned int try =
	    l->phase == PHASE_RELEASE && !l->ending.again ? 0 : s->try;
	const char *argv[CONN_ARGS] = { [ARG_KEY] = l->key,
		[ARG_AUX] = l->aux,
		[ARG_ID] = owner_id(l->owner, try, id),
		[ARG_TOKEN] = l->owner->token,
		[ARG_MODE] = modes[l->mode],
		[ARG_CAPACITY] = capacity,
		[ARG_SLOT] = slot };
	int nkeys = ARG_ID, argc = ARG_OWN + n + 1;

	snprintf(capacity, sizeof(capacity), "%d", l->capacity);
	snprintf(slot, sizeof(slot), "%d", l->slot);
	memcpy(argv + ARG_OWN, args, (size_t)n * sizeof(*args));
	argv[ARG_OWN + n] = part;
	if (watches != 0) {
		key_of_slot(watched, l->key, l->aux, watches);
		memmove(argv + nkeys + 1, argv + nkeys,
		    (size_t)(argc - nkeys) * sizeof(*argv));
		argv[nkeys++] = watched;
		argc++;
	}
	return conn_eval(&s->conn, ++s->in_flight.sequence, &script_lock, nkeys,
	    argc, argv);
}

/* One server hands the lock over; several could choose different waiters. */
static const char *
only_server(const struct server *s)
{
	return s->intent->nservers == 1 ? "1" : "0";
}

/* Writes the text of the run's start in the history, and of any other entry. */
static void
write_waited(const struct intent *l, char text[RECORD_TEXT])
{
	record_waited(text,
	    l->held ? l->waited_ms : clock_now_ms() - l->begun_ms);
}

/* Returns what is left of the cooldown. */
static int64_t
cooldown_ms(const struct intent *l)
{
	int64_t now = clock_now_ms();

	return l->ending.cooldown_end_ms > now ?
	    l->ending.cooldown_end_ms - now :
	    0;
}

/*
 * Whether the release records that the run was skipped.  A success explains itself.
 * A run that was superseded may have been refused by one server alone.
 */
static bool
is_skipped(const struct server *s)
{
	const struct intent *l = s->intent;

	return l->ending.skip != SKIP_NONE && !server_names_success(s) &&
	    (s->vote == VOTE_REFUSED || l->ending.later != NULL);
}

/* Writes how the run ended, and how much of its details a success records. */
static void
write_end(const struct intent *l, char end[RECORD_TEXT], char success[24])
{
	if (l->ending.end == NULL)
		return;
	record_end(end, l->ending.end);
	if (record_is_success(l->ending.end))
		snprintf(success, 24, "%zu", owner_head(l->details));
}

/*
 * Counts the attempt up, because a value is never used again once its release
 * is sent: the release may be executed late, on a connection that we gave up.
 */
int
server_send_release(struct server *s, bool leave)
{
	const struct intent *l = s->intent;
	const struct lock_state *v =
	    l->ending.later != NULL ? l->ending.later : &s->view;
	bool skipped = is_skipped(s);
	bool starts = l->ending.end != NULL && !s->recorded &&
	    s->first == NULL; /* a short run ends before its first renewal */
	char rest[24], fence[24], proposal[24], waited[RECORD_TEXT] = "";
	char end[RECORD_TEXT] = "", success[24] = "0";
	char skip[RECORD_TEXT], holder[LOCK_VALUE + 1] = "", held[12];
	const char *const args[RELEASE_ARGS] = { [RELEASE_COOLDOWN] = rest,
		[RELEASE_LEAVING] = leave ? "1" : "0",
		[RELEASE_ONLY] = only_server(s),
		[RELEASE_WAITED] = waited,
		[RELEASE_ENDING] = end,
		[RELEASE_SUCCESS] = success,
		[RELEASE_STARTS] = starts ? "1" : "0",
		[RELEASE_SKIP] = skip,
		[RELEASE_HOLDER] = holder,
		[RELEASE_DETAILS] = l->started || skipped ? l->details : "",
		[RELEASE_FENCE] = fence,
		[RELEASE_PROPOSAL] = proposal,
		[RELEASE_HELD] = held };

	snprintf(rest, sizeof(rest), "%" PRId64, cooldown_ms(l));
	snprintf(fence, sizeof(fence), "%" PRId64, l->fence);
	snprintf(proposal, sizeof(proposal), "%" PRId64, clock_wall_us());
	snprintf(held, sizeof(held), "%u", s->try);
	if (l->ending.end != NULL || skipped)
		write_waited(l, waited);
	write_end(l, end, success);
	record_skip(skip, skipped ? l->ending.skip : SKIP_NONE);
	if (skipped && v->taken)
		snprintf(holder, sizeof(holder), "%.*s", (int)v->len, v->value);
	/*
	 * A run without the lock exits at once, so the reply of a server that
	 * has forgotten the script would come too late: send the text.  But
	 * behind an unanswered acquire the text would not be read, see
	 * conn_eval().
	 */
	if (l->phase == PHASE_RELEASE && !l->started &&
	    conn_unanswered_ms(&s->conn) == CLOCK_NEVER)
		conn_send_text(&s->conn);
	return send_script(s, "release", 0, RELEASE_ARGS, args);
}

/*
 * Sends BLPOP: waits until a script wakes us, or until our place needs a
 * refresh.
 */
static int
send_wait(struct server *s)
{
	int64_t ms = s->pace.block_ms - clock_now_ms();
	char key[LOCK_KEY + OWNER_TOKEN + 8], seconds[24];
	const char *const argv[] = { "BLPOP", key, seconds };

	snprintf(key, sizeof(key), "%swake:%s", s->intent->aux,
	    s->intent->owner->token);
	snprintf(seconds, sizeof(seconds), "%" PRId64 ".%03" PRId64, ms / 1000,
	    ms % 1000);
	return conn_command(&s->conn, ++s->in_flight.sequence, 3, argv);
}

/*
 * Sends WAIT: asks how many replicas have everything that was written on this
 * connection.  Redis checks such a timeout ten times a second, so WAIT gets
 * only half of the time that the server has for its reply.
 */
static int
send_wait_replicas(struct server *s)
{
	const struct intent *l = s->intent;
	char replicas[12], ms[24];
	const char *const argv[] = { "WAIT", replicas, ms };

	snprintf(replicas, sizeof(replicas), "%d", l->replicas);
	snprintf(ms, sizeof(ms), "%" PRId64, (l->node_timeout_ms + 1) / 2);
	return conn_command(&s->conn, ++s->in_flight.sequence, 3, argv);
}

/*
 * A run that asks a single server once sends nothing after the refusal, so the
 * refusal records the skip.  Other runs record it when they leave the queue.
 */
static bool
refusal_records(const struct server *s)
{
	return s->intent->nservers == 1 && s->intent->phase != PHASE_HOLD &&
	    !server_queues(s);
}

/*
 * Returns how long our beat lasts: 0 if we do not queue, and HEARTBEAT_MS only if
 * we wait.
 */
static int64_t
beat_ms(const struct server *s)
{
	int64_t ms = BEAT_TIMEOUTS * s->intent->node_timeout_ms;

	if (!server_queues(s))
		return 0;
	return s->intent->wait_end_ms != 0 ? HEARTBEAT_MS :
	    ms == HEARTBEAT_MS             ? ms + 1 :
					     ms;
}

/* Whether the acquire names --max-waiting: only until we have joined the queue. */
static bool
limits_queue(const struct server *s, const struct next_request *r)
{
	return server_queues(s) && s->intent->wait_end_ms != 0 &&
	    s->intent->max_waiting > 0 && r->ticket == 0;
}

/*
 * Returns the reason for the history if a refusal skips the run without a place
 * in the queue and is the last reply that the run needs.
 */
static enum skip_reason
skip_of_refusal(const struct server *s, const struct next_request *r)
{
	if (refusal_records(s))
		return SKIP_BUSY;
	return s->intent->nservers == 1 && limits_queue(s, r) ?
	    SKIP_QUEUE_FULL :
	    SKIP_NONE;
}

/* Returns how many arguments the acquire has: most runs need not the last ones. */
static int
acquire_args(const struct server *s, const struct next_request *r)
{
	_Static_assert((int)ACQUIRE_LATEST + 1 == (int)ACQUIRE_MAX_WAITING &&
		(int)ACQUIRE_MAX_WAITING + 1 == (int)ACQUIRE_ARGS,
	    "the arguments that may be missing are the last");

	if (limits_queue(s, r))
		return ACQUIRE_ARGS;
	return s->intent->latest && s->intent->phase != PHASE_HOLD ?
	    ACQUIRE_MAX_WAITING :
	    ACQUIRE_LATEST;
}

static int
send_acquire(struct server *s, const struct next_request *r)
{
	const struct intent *l = s->intent;
	char ttl[24], fence[24], ticket[24], heartbeat[24],
	    start[RECORD_TEXT] = "";
	char nonce[24] = "", once_per[24];
	char busy[RECORD_TEXT], mode[RECORD_TEXT];
	char waiting[12];
	bool heals = l->phase == PHASE_HOLD;
	const char *const args[ACQUIRE_ARGS] = { [ACQUIRE_DETAILS] = l->details,
		[ACQUIRE_TTL] = ttl,
		[ACQUIRE_PROPOSAL] = fence,
		[ACQUIRE_TICKET] = ticket,
		[ACQUIRE_HEARTBEAT] = heartbeat,
		[ACQUIRE_ONLY] = only_server(s),
		[ACQUIRE_START] = start,
		[ACQUIRE_NONCE] = nonce,
		[ACQUIRE_HEALS] = heals ? "1" : "0",
		[ACQUIRE_ONCE_PER] = once_per,
		[ACQUIRE_SKIP_BUSY] = busy,
		[ACQUIRE_SKIP_MODE] = mode,
		[ACQUIRE_LATEST] = l->latest ? "1" : "0",
		[ACQUIRE_MAX_WAITING] = waiting };
	int64_t new_nonce = grant_new_nonce(s);

	snprintf(ttl, sizeof(ttl), "%" PRId64, r->length_ms);
	snprintf(fence, sizeof(fence), "%" PRId64, r->fence);
	snprintf(ticket, sizeof(ticket), "%" PRId64, r->ticket);
	snprintf(heartbeat, sizeof(heartbeat), "%" PRId64, beat_ms(s));
	snprintf(once_per, sizeof(once_per), "%" PRId64,
	    heals ? 0 : l->once_per_ms);
	if (new_nonce != 0)
		snprintf(nonce, sizeof(nonce), "%" PRId64, new_nonce);
	if (r->starts)
		write_waited(l, start);
	snprintf(waiting, sizeof(waiting), "%d", l->max_waiting);
	record_skip(busy, skip_of_refusal(s, r));
	record_skip(mode, refusal_records(s) ? SKIP_MODE : SKIP_NONE);
	return send_script(s, "acquire", r->watches, acquire_args(s, r), args);
}

static int
send_ran(struct server *s)
{
	char once_per[24];
	const char *const args[RAN_ARGS] = { [RAN_ONCE_PER] = once_per };

	snprintf(once_per, sizeof(once_per), "%" PRId64,
	    s->intent->once_per_ms);
	return send_script(s, "ran", 0, RAN_ARGS, args);
}

static int
send_renew(struct server *s, const struct next_request *r)
{
	_Static_assert((int)RENEW_TTL == (int)CONFIRM_TTL &&
		(int)RENEW_FENCE == (int)CONFIRM_FENCE &&
		(int)RENEW_START == (int)CONFIRM_START,
	    "a confirmation begins like a renewal");
	const struct intent *l = s->intent;
	char ttl[24], fence[24], start[RECORD_TEXT] = "";
	bool granted = s->key.unconfirmed_ms != 0;
	const char *const args[CONFIRM_ARGS] = { [CONFIRM_TTL] = ttl,
		[CONFIRM_FENCE] = fence,
		[CONFIRM_START] = start,
		[CONFIRM_CARRIED] = granted ? "1" : "0" };
	const char *part = r->leaves ? "confirm" : "renew";
	int n = r->leaves ? (int)CONFIRM_ARGS : (int)RENEW_ARGS;

	snprintf(ttl, sizeof(ttl), "%" PRId64, r->length_ms);
	snprintf(fence, sizeof(fence), "%" PRId64, r->fence);
	if (r->starts)
		write_waited(l, start);
	return send_script(s, part, r->watches, n, args);
}

int
server_send(struct server *s, const struct next_request *r)
{
	switch (r->kind) {
	case REQUEST_ACQUIRE:
		return send_acquire(s, r);
	case REQUEST_WAIT:
		return send_wait(s);
	case REQUEST_REPLICAS:
		return send_wait_replicas(s);
	case REQUEST_RENEW:
		return send_renew(s, r);
	case REQUEST_RAN:
		return send_ran(s);
	case REQUEST_LEAVE:
	case REQUEST_RELEASE:
		return server_send_release(s, true);
	case REQUEST_NONE:
		break;
	}
	return -1;
}
