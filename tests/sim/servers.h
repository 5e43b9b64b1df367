/*
 * Simulated servers: the functions of conn.h and loop.h without a socket, on a
 * clock that moves only while lock.c waits.  A server's replies are planned in
 * words, "yes=7+40 error lost": the n-th word is for the n-th request, the last
 * one for all that follow; see struct step.  Or, in the model, they follow from
 * the actions of the scripts, after random delays.
 *
 * world.h includes it behind the sources of the lock, which are compiled with
 * this clock: see START below.  Requests on one connection are executed and
 * answered in their order.  Connections overtake each other.  A request is executed
 * even after its connection was closed, but not if the network cut it.
 */
#ifndef SERVERS_H
#define SERVERS_H

#include "../unit/tap.h"
#include "trace.h"

#define START    INT64_C(1000000) /* the clock when a test begins */
#define SERVERS  5
#define SLOTS    3
#define REQUESTS 4096
#define EVENTS   512
#define FOREVER  INT64_C(1000000000)

#define ELEMENT 96

#define SECOND_US INT64_C(1000000)

/*
 * NO, OTHER and QUEUED refuse for three owners, the last one in the queue, RAN
 * for a run that has succeeded lately, LATER for one that waits, and FULL because
 * two runs wait.  ERROR says that nothing was executed, BROKEN says nothing about
 * that.  A waiter is woken to ask, or with a grant: for the nonce that it has sent
 * last or, if that is stale, for one before.  UNLOADED wants the script's text.
 */
enum word {
	YES,
	NO,
	OTHER,
	QUEUED,
	RAN,
	LATER,
	FULL,
	FREE,
	ERROR,
	BROKEN,
	DENIED,
	GARBAGE,
	LOST,
	SILENT,
	WOKEN,
	GRANTED,
	STALE,
	UNLOADED
};

static const char *const words[] = { "yes", "no", "other", "queued", "ran",
	"later", "full", "free", "error", "broken", "denied", "garbage", "lost",
	"silent", "woken", "granted", "stale", "unloaded", "now", "refused",
	"never" };

/* A word of a plan: "yes!=7+40". */
struct step {
	int word;
	int ms;     /* +40: it takes that long */
	int number; /* =7: the fence; of a refusal, how fast its clock is, in us */
	bool ahead; /* !: a waiter has an earlier ticket */
};

/* An owner in the model, and its data in the queue. */
struct waiter {
	int64_t ticket_us; /* 0: not queued */
	int64_t beat_us;
};

/* A server's data about an owner, by its id. */
struct holding {
	char value[OWNER_ID];
	int64_t until_ms;
};

struct made_up {
	struct conn *conn;
	const char *plan;     /* its replies */
	const char *connects; /* "now", "refused" or "never" */
	int greeting_ms;      /* AUTH and SELECT take that long */
	bool unresolved;      /* its name is not known */
	int lookup_ms;        /* looking its name up takes that long */
	bool looks_up;
	const char *tracks; /* see conn_track(); NULL: it pushes */
	int tracked;        /* how often it was asked for that */
	int unsent;         /* so many requests find no memory */
	int connection;     /* how many there have been */
	int npending;
	struct awaited {
		int tag;
		enum request_kind kind;
		int64_t sent_ms;
	} pending[PENDING_MAX];
	struct {
		int connection; /* one that was set aside; 0: none */
		int npending;
		struct awaited pending[PENDING_MAX];
	} aside;
	int64_t executed_ms; /* nothing on this connection before that */
	int64_t answered_ms;
	/* Its INFO now, and as sent on this connection. */
	int64_t started_ms;
	const char *run_id;
	const char *info_error;
	int64_t uptime_s; /* -1: not asked yet */
	/* In the model. */
	int64_t down_ms;           /* down until then */
	int64_t frozen_ms;         /* frozen until then */
	int64_t skew_us;           /* of its wall clock */
	struct holding key[SLOTS]; /* of shared locks: a writer's, and ours */
	int64_t fence;
	int replicas; /* that had the lock when we asked */
	struct waiter us, candidate;
	struct waiter later;       /* a run with --latest */
	char waiting_id[OWNER_ID]; /* the id that our value would have */
	int64_t beat_nonce;        /* which our beat says */
	int64_t nonce;             /* the last that was sent */
	char element[ELEMENT];     /* a grant that wakes us; empty: to ask */
	int woken;                 /* so many words wait on our list */
	int blocked;               /* the request that waits for one; 0: none */
	int64_t rival_ms;          /* until when the rival counts on it */
	int64_t given_back_ms;     /* when we gave it its vote back */
	bool reached;              /* it could be told so at the end */
	bool ended;                /* it has executed our release */
	int waiting;               /* so many other runs wait */
	bool succeeds;             /* the run of the predecessor */
	int64_t success_ms;        /* when the last success began; 0: none */
};

/* Ours, and what a server sends for them. */
enum label { ACQUIRE, RENEW, RELEASE, LEAVE, YIELD, TELL, WAIT, REPLICAS, ASK };

static const char *const labels[] = { "acquire", "renew", "release", "leave",
	"yield", "tell", "wait", "replicas", "ask" };

struct request {
	int server;
	int connection;
	int tag;
	enum request_kind kind;
	enum label label;
	bool leaves;      /* a renewal that leaves the queue */
	bool starts;      /* a release that brings the start along */
	bool left;        /* it waits for the connection otherwise */
	int slot;         /* 0: any */
	char watches[32]; /* the key that it reads; empty: none */
	int64_t at_ms;
	char id[OWNER_ID];
	char args[ACQUIRE_ARGS][64]; /* those behind the token */
};

/* The value that reply_int() and the others read. */
struct made_reply {
	size_t count;
	long long ints[FIELD_HOLDERS + 1];
	const char *text; /* FIELD_VALUE */
};

struct event {
	int64_t at_ms;
	enum {
		LOOKED_UP,
		CONNECTED,
		GREETED,
		EXECUTE,
		REPLY,
		DROP,
		CANCEL,
		RESTART,
		FREEZE,
		DELETE,
		RIVAL,
		HAND_OVER,
		JOIN,
		PUSH
	} kind;
	int server;
	int connection;
	int request;
	int ms; /* how long it lasts */
	struct step step;
	struct made_reply reply;
};

static struct request requests[REQUESTS];
static struct event events[EVENTS];
static char texts[SERVERS][OWNER_ID];
static char elements[SERVERS][ELEMENT]; /* that are on their way */

static struct {
	int64_t now_ms;
	int64_t seen_ms; /* all data from before then has been read */
	bool stepped;    /* the wall clock was set */
	int idle;        /* turns without an event in which no time passed */
	struct made_up servers[SERVERS];
	int nrequests;
	int nevents;
	bool model;
	bool calm;   /* in the model: no server stalls, */
	bool cuts;   /* the network cuts connections, */
	bool faults; /* servers forget */
	bool pushes; /* hiredis parses them, whichever is here */
	int greed;   /* how much of the free locks the rival takes, in % */
	struct made_up *liar; /* no number that it sends can be trusted */
	int lies;
	int64_t overlap_ms; /* when two first held the lock; 0: never */
	uint64_t chance;
	struct lock lock;
	struct locks locks; /* that one alone */
	struct owner owner;
} world;

int64_t
clock_now_ms(void)
{
	return world.now_ms;
}

int64_t
clock_wall_us(void)
{
	return INT64_C(1763635200000000) + (world.now_ms - START) * 1000;
}

int64_t
loop_seen_ms(const struct loop *loop)
{
	(void)loop;
	return world.seen_ms;
}

bool
loop_stepped(struct loop *loop)
{
	bool stepped = world.stepped;

	(void)loop;
	world.stepped = false;
	return stepped;
}

/* A number from 0 to n - 1, the same in every run of the test. */
static int
chance(int n)
{
	world.chance = world.chance * UINT64_C(6364136223846793005) +
	    UINT64_C(1442695040888963407);
	return (int)((world.chance >> 33) % (uint64_t)n);
}

static struct event *
happens(int64_t at_ms, int kind, int server)
{
	struct event *e = &events[world.nevents];

	if (world.nevents++ == EVENTS)
		abort();
	*e = (struct event){ .at_ms = at_ms,
		.kind = kind,
		.server = server,
		.connection = world.servers[server].connection };
	return e;
}

/* Takes the next word from a plan, but never the last. */
static struct step
next_step(const char **plan)
{
	size_t len = strcspn(*plan, " +=!"), all = strcspn(*plan, " ");
	const char *p = *plan + len;
	struct step s = { 0 };

	while (strlen(words[s.word]) != len ||
	    strncmp(words[s.word], *plan, len) != 0)
		if (++s.word == sizeof(words) / sizeof(words[0]))
			abort();
	for (; p < *plan + all; p++) {
		if (*p == '+')
			s.ms = atoi(p + 1);
		else if (*p == '=')
			s.number = atoi(p + 1);
		else if (*p == '!')
			s.ahead = true;
	}
	if ((*plan)[all] == ' ')
		*plan += all + 1;
	return s;
}

static struct made_up *
made_up(const struct conn *n)
{
	return &world.servers[n->address.at[0].port];
}

/* The first answer brings that of INFO, which was ahead of it. */
static void
informed(struct made_up *m)
{
	struct conn *n = m->conn;

	if (!n->ask_info || m->uptime_s < 0)
		return;
	if (m->info_error != NULL) {
		snprintf(n->info.error, sizeof(n->info.error), "%s",
		    m->info_error);
	} else if (n->info.born_ms == 0) {
		n->info.born_ms = world.now_ms - m->uptime_s * 1000;
		snprintf(n->info.run_id, sizeof(n->info.run_id), "%s",
		    m->run_id);
	}
}

static void
answer_first(struct made_up *m, struct awaited pending[], int *n,
    enum reply_kind kind, const char *error, const struct made_reply *reply)
{
	struct reply a = { .kind = kind,
		.tag = pending[0].tag,
		.sent_ms = pending[0].sent_ms,
		.text = error,
		.value = reply };

	memmove(pending, pending + 1, (size_t)-- * n * sizeof(pending[0]));
	m->conn->reply_cb(m->conn->arg, &a);
}

static void
answer(struct made_up *m, enum reply_kind kind, const char *error,
    const struct made_reply *reply)
{
	answer_first(m, m->pending, &m->npending, kind, error, reply);
}

static int64_t
server_us(const struct made_up *m)
{
	return clock_wall_us() + m->skew_us;
}

/* A value as acquire writes it, of this try of an owner. */
static const char *
value_of(const char *token, int try)
{
	static char text[128];

	snprintf(text, sizeof(text),
	    "redlock-run/2 token=%s try=%d since=1 pid=1 host=h user=u "
	    "command=c",
	    token, try);
	return text;
}

static struct made_reply
granted(const struct made_up *m, enum request_kind kind, int64_t fence,
    bool ahead)
{
	return (struct made_reply){ kind == REQUEST_ACQUIRE ? FIELD_NOW + 1 :
		    kind == REQUEST_RENEW                   ? FIELD_FENCE + 1 :
							      FIELD_GRANTED + 1,
		{ 1, fence, ahead, 1, server_us(m) }, NULL };
}

/* Whether the key exists. */
static bool
held(const struct holding *key)
{
	return key->until_ms > world.now_ms;
}

/* A refusal for a key, and the slot that is free first. */
static struct made_reply
refusal(const struct made_up *m, const struct holding *key, const char *value)
{
	struct made_reply r = { FIELD_BEST_PTTL + 1, { 0 }, value };
	const struct holding *best = &m->key[0];

	r.ints[FIELD_SLOT] = r.ints[FIELD_BEST] = 1;
	r.ints[FIELD_NOW] = server_us(m);
	if (value != NULL && world.lock.intent.mode == LOCK_SHARED)
		key = &m->key[0];
	r.ints[FIELD_PTTL] = r.ints[FIELD_BEST_PTTL] =
	    value == NULL ? PTTL_FREE : key->until_ms - world.now_ms;
	if (world.lock.intent.mode != LOCK_SLOTTED)
		return r;
	for (int i = 1; i < world.lock.intent.capacity; i++)
		if (held(best) && m->key[i].until_ms < best->until_ms)
			best = &m->key[i];
	r.ints[FIELD_SLOT] = key - m->key + 1;
	r.ints[FIELD_BEST] = best - m->key + 1;
	r.ints[FIELD_BEST_PTTL] =
	    !held(best) ? PTTL_FREE : best->until_ms - world.now_ms;
	return r;
}

/* The reply to BLPOP; the plan gives the fence of a grant. */
static struct made_reply
wakened(const struct made_up *m, const struct step *s)
{
	const int server = (int)(m - world.servers);
	long long nonce = (long long)m->nonce - (s->word == STALE);

	snprintf(elements[server], ELEMENT, "1");
	if (s->word == GARBAGE)
		snprintf(elements[server], ELEMENT, "%lld 1000", nonce);
	else if (s->word != WOKEN)
		snprintf(elements[server], ELEMENT, "%lld %d %d", nonce,
		    s->number != 0 ? s->number : 1000, HANDOVER_MS);
	return (struct made_reply){ 2, { 0 }, elements[server] };
}

static struct made_reply
reply_in_words(const struct made_up *m, const struct step *s,
    enum request_kind kind)
{
	const int server = (int)(m - world.servers);
	struct made_reply r = refusal(m, &m->key[0], NULL);

	if (kind == REQUEST_WAIT)
		return wakened(m, s);

	if (kind == REQUEST_ACQUIRE)
		r.count = FIELD_TICKET + 1;
	r.ints[FIELD_PTTL] = r.ints[FIELD_BEST_PTTL] =
	    s->word == FREE ? PTTL_FREE : 700;
	r.ints[FIELD_NOW] = r.ints[FIELD_TICKET] = server_us(m) + s->number;
	r.ints[FIELD_AHEAD] = s->ahead;
	switch (s->word) {
	case YES:
		return granted(m, kind, s->number != 0 ? s->number : 1000,
		    s->ahead);
	case NO:
		r.text = value_of("thief", server);
		break;
	case OTHER:
		r.text = "another";
		break;
	case QUEUED:
		r.text = value_of("candidate", server);
		r.ints[FIELD_QUEUED] = 1;
		break;
	case RAN:
		r.text = value_of("success", server);
		r.count = FIELD_REASON + 1;
		r.ints[FIELD_REASON] = REASON_RAN;
		break;
	case LATER:
		r.text = value_of("later", server);
		r.count = FIELD_REASON + 1;
		r.ints[FIELD_REASON] = REASON_SUPERSEDED;
		break;
	case FULL:
		r.text = value_of("thief", server);
		r.count = FIELD_REASON + 1;
		r.ints[FIELD_REASON] = REASON_FULL;
		r.ints[FIELD_WAITING] = 2;
		break;
	case GARBAGE:
		return (struct made_reply){ 1, { 7 }, NULL };
	}
	return r;
}

/* It keeps its grants, but may deny them, and makes up all other numbers. */
static void
lie(const struct made_up *m, struct made_reply *r)
{
	const int64_t now_us = server_us(m), day_us = INT64_C(86400000000);
	const long long lies[] = { 0, 1, 2, 3, 64, 65, -1, -2, -3, INT_MAX,
		INT_MAX + 1LL, INT_MIN, INT64_MAX, INT64_MAX - 1, INT64_MIN,
		FENCE_END, FENCE_END - 1, now_us, now_us + 3 * day_us,
		now_us - 3 * day_us, now_us + day_us / 2,
		now_us + 3650 * day_us };
	int n = 1 + chance(9);

	if (r->ints[FIELD_GRANTED] == 1 && chance(6) == 0) {
		*r = refusal(m, &m->key[0], chance(2) == 0 ? "liar" : NULL);
		r->count = FIELD_TICKET + 1;
		r->ints[FIELD_PTTL] = r->ints[FIELD_BEST_PTTL] = 700;
		r->ints[FIELD_AHEAD] = chance(2);
		r->ints[FIELD_QUEUED] = chance(2);
		r->ints[FIELD_TICKET] = now_us;
	}
	if (chance(8) == 0)
		r->count = (size_t)chance(FIELD_TICKET + 2);
	while (chance(4) != 0 && n-- > 0) {
		int i = 1 + chance(FIELD_TICKET);

		r->ints[i] = lies[chance(sizeof(lies) / sizeof(lies[0]))];
		world.lies++;
	}
}

static void
answered(struct made_up *m, const struct event *e)
{
	struct made_reply r = e->reply;

	informed(m);
	if (e->step.word == ERROR) {
		answer(m, REPLY_ERROR, "LOADING it loads", NULL);
		return;
	}
	if (e->step.word == BROKEN) {
		answer(m, REPLY_ERROR, "ERR it is broken", NULL);
		return;
	}
	if (e->step.word == UNLOADED) {
		answer(m, REPLY_ERROR, "NOSCRIPT No matching script.", NULL);
		return;
	}
	if (e->step.word == DENIED) {
		answer(m, REPLY_DENIED, "NOPERM it may not", NULL);
		return;
	}
	m->conn->topology.untried = 1;
	m->conn->good = true;
	if (!world.model)
		r = reply_in_words(m, &e->step, requests[e->request].kind);
	if (m == world.liar)
		lie(m, &r);
	answer(m, REPLY_OK, NULL, &r);
}

/* A reply on the connection that was set aside. */
static void
answered_aside(struct made_up *m, const struct event *e)
{
	struct made_reply r = e->reply;

	if (!world.model)
		r = reply_in_words(m, &e->step, requests[e->request].kind);
	answer_first(m, m->aside.pending, &m->aside.npending,
	    e->step.word == ERROR ? REPLY_ERROR : REPLY_OK,
	    e->step.word == ERROR ? "LOADING it loads" : NULL, &r);
}

static void
go_down(struct made_up *m, const char *why)
{
	struct conn *n = m->conn;

	m->looks_up = false;
	n->state = CONN_DOWN;
	n->failure = REPLY_LOST;
	if (n->why[0] == '\0')
		snprintf(n->why, sizeof(n->why), "%s", why);
	while (m->npending > 0)
		answer(m, REPLY_LOST, n->why, NULL);
}

/* Whether a waiter is alive and in the queue. */
static bool
waits(const struct made_up *m, const struct waiter *w)
{
	return w->ticket_us != 0 && w->beat_us >= server_us(m);
}

/* Whether the last success keeps out a run with that --once-per. */
static bool
ran_lately(const struct made_up *m, int64_t once_per_ms)
{
	return m->success_ms != 0 && world.now_ms - m->success_ms < once_per_ms;
}

static struct made_reply
refused_by_success(const struct made_up *m, const struct holding *key)
{
	struct made_reply r = refusal(m, key, held(key) ? key->value : NULL);

	r.text = "success";
	r.count = FIELD_REASON + 1;
	r.ints[FIELD_REASON] = REASON_RAN;
	return r;
}

/* Whether a later run with --latest keeps us out: only if we have such a ticket. */
static bool
superseded(const struct made_up *m, const struct request *r)
{
	return r->args[ACQUIRE_LATEST][0] == '1' &&
	    atoll(r->args[ACQUIRE_TICKET]) > 0 && waits(m, &m->later) &&
	    m->later.ticket_us > m->us.ticket_us;
}

static struct made_reply
refused_by_waiters(const struct made_up *m, const struct holding *key,
    const char *value)
{
	struct made_reply r = refusal(m, key, value);

	r.count = FIELD_REASON + 1;
	r.ints[FIELD_TICKET] = server_us(m);
	r.ints[FIELD_WAITING] = m->waiting;
	r.ints[FIELD_REASON] = REASON_FULL;
	return r;
}

/* A request for our own key never shortens it. */
static int64_t
extended_ms(const struct holding *key, int64_t length_ms)
{
	int64_t most_ms = world.now_ms + world.lock.intent.max_ttl_ms;
	int64_t kept_ms = key->until_ms < most_ms ? key->until_ms : most_ms;
	int64_t until_ms = world.now_ms + length_ms;

	return until_ms > kept_ms ? until_ms : kept_ms;
}

static struct made_reply
execute_acquire(struct made_up *m, const struct request *r, struct holding *key,
    const char *value, bool ours)
{
	int64_t ttl_ms = atoll(r->args[ACQUIRE_TTL]);
	int64_t proposal = atoll(r->args[ACQUIRE_PROPOSAL]);
	int64_t ticket_us = atoll(r->args[ACQUIRE_TICKET]);
	bool heartbeat = atoll(r->args[ACQUIRE_HEARTBEAT]) > 0, before;
	int limit = atoi(r->args[ACQUIRE_MAX_WAITING]);
	struct waiter *us = &m->us;
	struct made_reply answer;

	if (!ours && ran_lately(m, atoll(r->args[ACQUIRE_ONCE_PER]))) {
		us->ticket_us = 0;
		return refused_by_success(m, key);
	}
	if (value != NULL && !ours && us->ticket_us == 0 && limit > 0 &&
	    m->waiting >= limit)
		return refused_by_waiters(m, key, value);
	snprintf(m->waiting_id, sizeof(m->waiting_id), "%s", r->id);
	m->beat_nonce = atoll(r->args[ACQUIRE_NONCE]);
	if (heartbeat && (value != NULL || ticket_us > 0)) {
		if (ticket_us > 0 || us->ticket_us == 0)
			us->ticket_us =
			    ticket_us > 0 ? ticket_us : server_us(m);
		us->beat_us =
		    server_us(m) + atoll(r->args[ACQUIRE_HEARTBEAT]) * 1000;
	}
	before = waits(m, &m->candidate) &&
	    (us->ticket_us == 0 || m->candidate.ticket_us < us->ticket_us);
	if (!ours && superseded(m, r)) {
		answer = refusal(m, key, value);
		answer.text = "later";
		answer.count = FIELD_REASON + 1;
		answer.ints[FIELD_TICKET] = us->ticket_us;
		answer.ints[FIELD_REASON] = REASON_SUPERSEDED;
		return answer;
	}
	if (!ours && (value != NULL || before)) {
		answer = refusal(m, key, value);
		answer.count = FIELD_TICKET + 1;
		answer.ints[FIELD_AHEAD] = before;
		answer.ints[FIELD_QUEUED] = value != NULL &&
		    (strstr(value, "TOKEN") != NULL ?
			    us->ticket_us != 0 :
			    strstr(value, "candidate") != NULL &&
				m->candidate.ticket_us != 0);
		answer.ints[FIELD_TICKET] = us->ticket_us != 0 ?
		    us->ticket_us :
		    waits(m, &m->candidate) &&
			m->candidate.ticket_us >= server_us(m) ?
		    m->candidate.ticket_us + 1 :
		    server_us(m);
		return answer;
	}
	if (!ours && heartbeat && us->ticket_us == 0) {
		us->ticket_us = server_us(m);
		us->beat_us =
		    server_us(m) + atoll(r->args[ACQUIRE_HEARTBEAT]) * 1000;
	}
	if (!ours || m->fence == 0 || r->args[ACQUIRE_ONLY][0] == '1') {
		int64_t f, most;

		most = server_us(m) + (m->fence == 0 ? 86400 : 60) * SECOND_US;
		f = proposal < most ? proposal : most;
		m->fence = f > m->fence + 1 ? f : m->fence + 1;
	}
	snprintf(key->value, sizeof(key->value), "%s", r->id);
	key->until_ms = ours ? extended_ms(key, ttl_ms) : world.now_ms + ttl_ms;
	answer = granted(m, r->kind, m->fence, before);
	if (world.lock.intent.mode == LOCK_SLOTTED)
		answer.ints[FIELD_SLOT] = key - m->key + 1;
	return answer;
}

/* The key that a request is about: of any slot the one that is free first. */
static struct holding *
key_of(struct made_up *m, const struct request *r)
{
	struct holding *best = &m->key[0];

	if (world.lock.intent.mode == LOCK_SHARED)
		return &m->key[1];
	if (r->slot > 0)
		return &m->key[r->slot - 1];
	for (int i = 0; i < world.lock.intent.capacity; i++)
		if (held(&m->key[i]) &&
		    strncmp(m->key[i].value, r->id, strlen(r->id)) == 0)
			return &m->key[i];
	for (int i = 1; i < world.lock.intent.capacity; i++)
		if (held(best) && m->key[i].until_ms < best->until_ms)
			best = &m->key[i];
	return best;
}

/* Of a shared lock only a writer excludes us. */
static const char *
value_at(struct made_up *m, struct holding *key)
{
	if (world.lock.intent.mode == LOCK_SHARED && held(&m->key[0]))
		return m->key[0].value;
	return held(key) ? key->value : NULL;
}

static int
try_of(const char *id)
{
	const char *number = strstr(id, "try=");

	return number != NULL ? atoi(number + 4) : 0;
}

/*
 * A run that has ended without the attempt that it held has lost the lock, and what
 * a late request took for it is freed.  Returns whether the reply is a grant.
 */
static bool
execute_release(struct made_up *m, const struct request *r, struct holding *key,
    bool ours)
{
	int64_t cooldown_ms = atoll(r->args[RELEASE_COOLDOWN]);
	bool leaving = r->args[RELEASE_LEAVING][0] == '1';
	bool only = r->args[RELEASE_ONLY][0] == '1';
	bool ended = r->args[RELEASE_ENDING][0] != '\0';
	bool lost = ended &&
	    !(ours && try_of(key->value) == atoi(r->args[RELEASE_HELD]));

	if (leaving)
		m->us.ticket_us = 0;
	if (lost) {
		if (ours)
			key->until_ms = 0;
		return m->ended;
	}
	if (!ours)
		return false;
	m->ended = ended;
	if (only && !leaving && !ended) {
		if (key->until_ms > world.now_ms + GRANT_MS)
			key->until_ms = world.now_ms + GRANT_MS;
	} else if (cooldown_ms > 0) {
		snprintf(key->value, sizeof(key->value), "cooldown");
		key->until_ms = world.now_ms + cooldown_ms;
	} else
		key->until_ms = 0;
	return true;
}

/*
 * An acquire replaces what an earlier attempt of ours has in another slot, and
 * gets nothing if a later one has.  Returns whether that is so.
 */
static bool
attempt_over(struct made_up *m, const struct request *r)
{
	for (int i = 0; i < world.lock.intent.capacity; i++) {
		struct holding *key = &m->key[i];

		if (!held(key) || strstr(key->value, "TOKEN") == NULL)
			continue;
		if (try_of(key->value) > try_of(r->id))
			return true;
		if (try_of(key->value) < try_of(r->id))
			key->until_ms = 0;
	}
	return false;
}

/* A BLPOP takes an element that is on our list already. */
static struct made_reply
taken_element(struct made_up *m)
{
	const int server = (int)(m - world.servers);

	snprintf(elements[server], ELEMENT, "%s",
	    m->element[0] != '\0' ? m->element : "1");
	m->element[0] = '\0';
	m->woken = 0;
	return (struct made_reply){ 2, { 0 }, elements[server] };
}

/* The actions of the scripts.  Another client may hold the key for a while. */
static struct made_reply
execute(struct made_up *m, const struct request *r)
{
	bool over = r->kind == REQUEST_ACQUIRE &&
	    world.lock.intent.mode == LOCK_SLOTTED && attempt_over(m, r);
	struct holding *key = key_of(m, r);
	const char *value = value_at(m, key);
	bool ours = value != NULL && strncmp(value, r->id, strlen(r->id)) == 0;
	int replicas;

	switch (r->kind) {
	case REQUEST_ACQUIRE:
		if (over)
			break;
		return execute_acquire(m, r, key, value, ours);
	case REQUEST_RENEW:
		if (!ours)
			break;
		key->until_ms = extended_ms(key, atoll(r->args[RENEW_TTL]));
		if (atoll(r->args[RENEW_FENCE]) > m->fence)
			m->fence = atoll(r->args[RENEW_FENCE]);
		if (r->leaves)
			m->us.ticket_us = 0;
		return granted(m, r->kind, m->fence, false);
	case REQUEST_REPLICAS:
		replicas = chance(3);
		/* A late one changes nothing that we count. */
		if (r->connection == m->connection)
			m->replicas = replicas;
		return (struct made_reply){ 1, { replicas }, NULL };
	case REQUEST_WAIT:
		return taken_element(m);
	case REQUEST_RAN:
		return ran_lately(m, atoll(r->args[RAN_ONCE_PER])) ?
		    refused_by_success(m, key) :
		    granted(m, r->kind, 0, false);
	case REQUEST_RELEASE:
	case REQUEST_LEAVE:
	case REQUEST_NONE:
		if (execute_release(m, r, key, ours))
			return granted(m, r->kind, 0, false);
		break;
	}
	return refusal(m, key, value);
}

/* A request leaves this host. */
static void
leave_host(struct made_up *m, struct request *r)
{
	struct step step = { .word = YES };
	struct event *e;
	int64_t at_ms;

	r->left = true;
	r->at_ms = world.now_ms;
	if (world.model)
		step.ms =
		    !world.calm && chance(8) == 0 ? chance(600) : chance(20);
	else
		step = next_step(&m->plan);
	at_ms = world.now_ms + (step.word == SILENT ? FOREVER : step.ms);
	if (at_ms < m->frozen_ms)
		at_ms = m->frozen_ms;
	if (at_ms < m->executed_ms)
		at_ms = m->executed_ms;
	m->executed_ms = at_ms;
	e = happens(at_ms, EXECUTE, r->server);
	e->connection = r->connection;
	e->request = (int)(r - requests);
	e->step = step;
	if (world.cuts && chance(20) == 0)
		happens(world.now_ms + chance(100), DROP, r->server);
}

/* A value for a reply that comes later, when the key may have another. */
static const char *
lasting_text(int server, const char *text)
{
	if (strstr(text, "TOKEN") != NULL)
		return memcpy(texts[server], text, sizeof(texts[0]));
	if (strcmp(text, "success") == 0 || strcmp(text, "later") == 0)
		return value_of(text, 1);
	if (strcmp(text, "predecessor") == 0)
		return value_of(text, 1); /* it will wake us */
	return strstr(text, "candidate") != NULL ? "candidate" : "rival";
}

static void
executed(struct made_up *m, const struct event *e)
{
	struct event *answer;
	struct made_reply reply = { 0 };
	int64_t at_ms = world.now_ms;

	if (world.model && requests[e->request].kind == REQUEST_WAIT &&
	    m->woken == 0 && e->connection == m->connection) {
		m->blocked = e->request;
		return; /* only wake() replies */
	}
	if (world.model) {
		reply = execute(m, &requests[e->request]);
		at_ms += chance(15);
		if (reply.text != NULL)
			reply.text = lasting_text(e->server, reply.text);
	}
	if (e->connection == m->aside.connection) {
		answer = happens(at_ms, REPLY, e->server);
		answer->connection = e->connection;
		answer->request = e->request;
		answer->step = e->step;
		answer->reply = reply;
		return;
	}
	if (e->connection != m->connection)
		return;
	if (e->step.word == LOST) {
		go_down(m, "Connection reset");
		return;
	}
	/* By its clock's whole seconds. */
	if (m->uptime_s < 0)
		m->uptime_s = world.now_ms / 1000 - m->started_ms / 1000;
	if (at_ms < m->answered_ms)
		at_ms = m->answered_ms;
	m->answered_ms = at_ms;
	answer = happens(at_ms, REPLY, e->server);
	answer->request = e->request;
	answer->step = e->step;
	answer->reply = reply;
}

/* Our list gets an element, and a BLPOP on it a reply. */
static void
wake(struct made_up *m)
{
	struct event *answer;
	int ms;

	m->woken++;
	if (m->blocked == 0)
		return;
	ms = !world.calm && chance(4) == 0 ? chance(600) : chance(15);
	answer = happens(world.now_ms + ms, REPLY, (int)(m - world.servers));
	answer->request = m->blocked;
	answer->reply = taken_element(m);
	m->blocked = 0;
}

/* A grant is no longer than the lease of its waiter. */
static int64_t
within_lease(int64_t ms)
{
	return ms < world.lock.intent.ttl_ms ? ms : world.lock.intent.ttl_ms;
}

/* The grant goes with the wake. */
static void
pass_on(struct made_up *m, struct holding *key)
{
	int64_t fence = m->fence + 1, ms = within_lease(HANDOVER_MS);

	key->until_ms = world.now_ms + ms;
	m->us.beat_us = server_us(m) + ms * 1000;
	m->fence = fence > server_us(m) ? fence : server_us(m);
	snprintf(m->element, ELEMENT, "%lld %lld %lld",
	    (long long)m->beat_nonce, (long long)m->fence, (long long)ms);
}

/*
 * A holder ends and gives the lock back: one server hands it to the first
 * waiter, several wake it, and so does one that might have to refuse it.
 */
static void
handed_over(struct made_up *m)
{
	struct holding *key = &m->key[0];

	if (!held(key) || strcmp(key->value, "predecessor") != 0)
		return;
	key->until_ms = 0;
	if (m->succeeds)
		m->success_ms = START;
	if (!waits(m, &m->us))
		return;
	if (world.lock.intent.nservers == 1 &&
	    world.lock.intent.once_per_ms == 0 && !waits(m, &m->later)) {
		snprintf(key->value, sizeof(key->value), "%s", m->waiting_id);
		key->until_ms = world.now_ms + within_lease(GRANT_MS);
		if (m->beat_nonce != 0 && chance(4) != 0)
			pass_on(m, key);
	}
	wake(m);
}

/* A later run with --latest joins the queue, and wakes us. */
static void
joined(struct made_up *m)
{
	m->later = (struct waiter){ server_us(m) + 1, INT64_MAX };
	if (waits(m, &m->us))
		wake(m);
}

/* The network drops the requests that have not been executed. */
static void
dropped(struct made_up *m, const struct event *e, bool all)
{
	int kept = 0;

	for (int i = 0; i < world.nevents; i++)
		if (events[i].server != e->server ||
		    (events[i].connection != e->connection && !all) ||
		    events[i].kind != EXECUTE)
			events[kept++] = events[i];
	world.nevents = kept;
	if ((all || e->connection == m->connection) &&
	    m->conn->state != CONN_DOWN)
		go_down(m,
		    e->step.word == YES ? "Connection reset" :
					  "Connection refused");
}

/* It is gone for a while, and has forgotten everything when it is back. */
static void
restarted(struct made_up *m, const struct event *e)
{
	dropped(m, e, true);
	m->down_ms = m->started_ms = world.now_ms + e->ms;
	m->frozen_ms = m->key[0].until_ms = m->fence = 0;
	m->us.ticket_us = m->candidate.ticket_us = 0;
}

static void
frozen(struct made_up *m, const struct event *e)
{
	m->frozen_ms = world.now_ms + e->ms;
	if (m->executed_ms < m->frozen_ms)
		m->executed_ms = m->frozen_ms;
	for (int i = 0; i < world.nevents; i++)
		if (events[i].server == e->server &&
		    events[i].kind == EXECUTE && events[i].at_ms < m->frozen_ms)
			events[i].at_ms = m->frozen_ms;
}

/* Whether our key is there, and one that we count. */
static bool
backed(int server)
{
	const struct made_up *m = &world.servers[server];

	return m->key[0].until_ms > world.now_ms &&
	    strstr(m->key[0].value, "TOKEN") != NULL &&
	    world.lock.servers[server].valid_ms > world.now_ms;
}

/* It pushes that our key was changed; ms: it says which. */
static void
pushed(struct made_up *m, const struct event *e)
{
	struct conn *n = m->conn;
	const char *key = e->ms == 0 ? NULL : e->ms == 1 ? "p:n" : "p:other";

	if (n->state == CONN_READY && n->tracking.state == TRACKING_WORKS)
		n->changed_cb(n->arg, key, key == NULL ? 0 : strlen(key));
}

/* Our key is deleted by hand while a majority still has it. */
static void
deleted(struct made_up *m)
{
	int left = 0;

	for (int i = 0; i < world.lock.intent.nservers; i++)
		left += backed(i) && &world.servers[i] != m;
	if (left >= world.lock.intent.quorum &&
	    strstr(m->key[0].value, "TOKEN") != NULL) {
		m->key[0].until_ms = 0;
		if (world.pushes)
			happens(world.now_ms, PUSH, (int)(m - world.servers))
			    ->ms = 1;
	}
}

/*
 * The rival takes free locks, without the queue, if it finds the server old
 * enough, and relies on them for a whole TTL, whatever happens to the server.
 * Now and then it gives everything back.
 */
static void
rival_acts(void)
{
	const struct lock *l = &world.lock;
	bool gives = chance(60) == 0;

	for (int i = 0; i < l->intent.nservers; i++) {
		struct made_up *m = &world.servers[i];
		int64_t age_ms =
		    (world.now_ms / 1000 - m->started_ms / 1000) * 1000;
		bool there = m->key[0].until_ms > world.now_ms;
		bool its = there && strcmp(m->key[0].value, "rival") == 0;

		if (gives) {
			m->rival_ms = 0;
			m->key[0].until_ms = its ? 0 : m->key[0].until_ms;
			continue;
		}
		if (world.now_ms < m->down_ms || world.now_ms < m->frozen_ms ||
		    age_ms < l->intent.grace_ms + 1000 || (there && !its) ||
		    chance(100) >= world.greed)
			continue;
		snprintf(m->key[0].value, sizeof(m->key[0].value), "rival");
		m->key[0].until_ms = m->rival_ms =
		    world.now_ms + l->intent.ttl_ms;
	}
	happens(world.now_ms + 1 + chance(60), RIVAL, 0);
}

/* Opens the connection, now that the address is known. */
static void
connects(struct made_up *m)
{
	struct conn *n = m->conn;
	const int server = n->address.at[0].port;
	struct step s = next_step(&m->connects);
	bool refused = strcmp(words[s.word], "refused") == 0;
	bool at_once = strcmp(words[s.word], "now") == 0;

	m->looks_up = false;
	if (world.now_ms < m->down_ms || (refused && s.ms == 0)) {
		go_down(m, "Connection refused");
		return;
	}
	n->state = m->greeting_ms > 0 ? CONN_HANDSHAKE : CONN_READY;
	if (m->greeting_ms > 0)
		happens(world.now_ms + s.ms + m->greeting_ms, GREETED, server);
	if (refused)
		happens(world.now_ms + s.ms, DROP, server)->step.word = NO;
	else if (at_once && s.ms == 0)
		n->established = true;
	else if (at_once)
		happens(world.now_ms + s.ms, CONNECTED, server);
}

static void
happen(const struct event *e)
{
	struct made_up *m = &world.servers[e->server];
	bool current =
	    e->connection == m->connection && m->conn->state != CONN_DOWN;

	switch (e->kind) {
	case LOOKED_UP:
		if (current && m->looks_up)
			connects(m);
		break;
	case CONNECTED:
		if (!current)
			break;
		m->conn->established = true;
		for (int i = 0; i < world.nrequests; i++)
			if (requests[i].server == e->server &&
			    requests[i].connection == e->connection &&
			    !requests[i].left)
				leave_host(m, &requests[i]);
		break;
	case GREETED:
		if (current)
			m->conn->state = CONN_READY;
		break;
	case EXECUTE:
		executed(m, e);
		break;
	case REPLY:
		if (current && m->npending > 0)
			answered(m, e);
		else if (e->connection == m->aside.connection &&
		    m->aside.npending > 0)
			answered_aside(m, e);
		break;
	case DROP:
		dropped(m, e, false);
		break;
	case CANCEL:
		lock_cancel(&world.lock);
		break;
	case RESTART:
		restarted(m, e);
		break;
	case FREEZE:
		frozen(m, e);
		break;
	case DELETE:
		deleted(m);
		break;
	case RIVAL:
		rival_acts();
		break;
	case HAND_OVER:
		handed_over(m);
		break;
	case JOIN:
		joined(m);
		break;
	case PUSH:
		pushed(m, e);
		break;
	}
}

/* The first of those that come by until_ms, in the order of their making. */
static bool
take_event(struct event *e, int64_t until_ms)
{
	int first = -1;

	for (int i = 0; i < world.nevents; i++)
		if (events[i].at_ms <= until_ms &&
		    (first == -1 || events[i].at_ms < events[first].at_ms))
			first = i;
	if (first == -1)
		return false;
	*e = events[first];
	world.nevents--;
	memmove(events + first, events + first + 1,
	    (size_t)(world.nevents - first) * sizeof(*e));
	return true;
}

/* The moment from which fewer than a quorum hold our value, as it stands. */
static int64_t
true_deadline_ms(void)
{
	const struct lock *l = &world.lock;
	int64_t until_ms[SERVERS] = { 0 };
	char id[OWNER_ID];

	for (int i = 0; i < l->intent.nservers; i++)
		for (int k = 0; k < SLOTS; k++) {
			const struct holding *h = &world.servers[i].key[k];

			if ((l->intent.mode != LOCK_SLOTTED ||
				l->intent.slot == 0 ||
				k == l->intent.slot - 1) &&
			    strcmp(h->value,
				owner_id(&world.owner, l->servers[i].try,
				    id)) == 0 &&
			    h->until_ms > until_ms[i])
				until_ms[i] = h->until_ms;
		}
	return quorum_largest(until_ms, l->intent.nservers, l->intent.quorum);
}

/* Compares D with the servers' keys, at every moment of the model. */
static void
judge(void)
{
	const struct lock *l = &world.lock;
	int64_t deadline_ms = lock_deadline_ms(l);
	int rivals = 0;

	if (!world.model || l->intent.phase == PHASE_RELEASE ||
	    deadline_ms <= world.now_ms)
		return;
	if (!world.faults && deadline_ms > true_deadline_ms())
		tap_fail("at %lld D is %lld, in truth it is %lld",
		    (long long)(world.now_ms - START),
		    (long long)(deadline_ms - START),
		    (long long)(true_deadline_ms() - START));
	for (int i = 0; i < l->intent.nservers; i++)
		rivals += world.servers[i].rival_ms > world.now_ms;
	if (l->intent.held && rivals >= l->intent.quorum &&
	    world.overlap_ms == 0)
		world.overlap_ms = world.now_ms - START;
}

void
loop_turn(struct loop *loop, int64_t wake_ms)
{
	struct event e;
	bool any = false;

	(void)loop;
	judge();
	while (take_event(&e, any ? world.now_ms : wake_ms)) {
		if (e.at_ms > world.now_ms)
			world.now_ms = e.at_ms;
		any = true;
		happen(&e);
	}
	if (any || wake_ms > world.now_ms)
		world.idle = 0;
	else if (++world.idle > 100) {
		printf("# it spins\n");
		exit(1);
	}
	if (!any && wake_ms == CLOCK_NEVER) {
		printf("# it waits for ever\n");
		exit(1);
	}
	if (!any && wake_ms > world.now_ms)
		world.now_ms = wake_ms;
	world.seen_ms = world.now_ms;
	judge();
}

void
conn_init(struct conn *n, struct resolver *resolver,
    const struct address *address, conn_reply_cb *reply_cb, void *arg)
{
	memset(n, 0, sizeof(*n));
	(void)resolver;
	n->address = *address;
	n->link = &n->links[0];
	n->reply_cb = reply_cb;
	n->arg = arg;
	made_up(n)->conn = n;
	n->topology.untried = 1;
}

bool
conn_looks_up(const struct conn *n)
{
	return made_up(n)->looks_up;
}

void
conn_open(struct conn *n)
{
	struct made_up *m = made_up(n);

	if (n->state != CONN_DOWN)
		tap_fail("a second connection is opened");
	m->connection++;
	m->executed_ms = m->answered_ms = m->given_back_ms = 0;
	m->blocked = 0;
	m->uptime_s = -1;
	n->why[0] = n->info.run_id[0] = '\0';
	n->info.born_ms = 0;
	tracking_begin(&n->tracking);
	n->established = n->good = n->again = false;
	if (n->topology.untried > 0)
		n->topology.untried--;
	if (m->unresolved)
		go_down(m, "Name not known");
	else if (m->lookup_ms > 0) {
		m->looks_up = true;
		n->state = CONN_HANDSHAKE;
		happens(world.now_ms + m->lookup_ms, LOOKED_UP,
		    n->address.at[0].port);
	} else
		connects(m);
}

bool
conn_connected(const struct conn *n)
{
	return n->state != CONN_DOWN && n->established;
}

char *
conn_why_failed(const struct conn *n, const char *why, char buf[CONN_WHY])
{
	(void)n;
	snprintf(buf, CONN_WHY, "%s", why);
	return buf;
}

char *
conn_why_silent(const struct conn *n, const char *within, const char *hint,
    char buf[CONN_WHY])
{
	(void)n, (void)hint;
	snprintf(buf, CONN_WHY, "no answer within %s", within);
	return buf;
}

int64_t
conn_unanswered_ms(const struct conn *n)
{
	const struct made_up *m = &world.servers[n->address.at[0].port];

	return n->state == CONN_DOWN || m->npending == 0 ?
	    CLOCK_NEVER :
	    m->pending[0].sent_ms;
}

void
conn_close(struct conn *n, const char *why)
{
	if (n->state != CONN_DOWN)
		go_down(made_up(n), why != NULL ? why : "closed");
}

void
conn_set_aside(struct conn *n)
{
	struct made_up *m = made_up(n);

	if (n->state != CONN_READY || m->aside.connection != 0)
		tap_fail("a connection is set aside that cannot be");
	m->aside.connection = m->connection;
	m->aside.npending = m->npending;
	memcpy(m->aside.pending, m->pending, sizeof(m->pending));
	m->npending = 0;
	n->state = CONN_DOWN;
}

void
conn_send_text(struct conn *n)
{
	(void)n;
}

bool
conn_track_works(const struct conn *n)
{
	return n->state == CONN_READY && n->tracking.state == TRACKING_WORKS;
}

bool
conn_track_possible(const struct conn *n)
{
	return world.pushes && n->state == CONN_READY &&
	    tracking_may_ask(&n->tracking, n->good);
}

/* The server accepts CLIENT TRACKING, refuses it, or loses it. */
static void
track(struct conn *n, enum reply_kind kind)
{
	const char *const *argv;
	int argc;
	const struct reply reply = { .kind = kind,
		.tag = tracking_request(TRACKING_REQUESTS - 1, &argv, &argc) };

	tracking_reply(&n->tracking, &reply, n->established);
}

/*
 * "no": it refuses; "closes": the connection ends, "once": only the first time;
 * "silent": it goes dead, as the plan says of the request behind.
 */
void
conn_track(struct conn *n)
{
	struct made_up *m = made_up(n);

	trace_request("%lld server=%d/%d track",
	    (long long)(world.now_ms - START), n->address.at[0].port,
	    m->connection);
	m->tracked++;
	tracking_asked(&n->tracking);
	if (m->tracks == NULL) {
		track(n, REPLY_OK);
	} else if (strcmp(m->tracks, "no") == 0) {
		track(n, REPLY_ERROR);
	} else {
		track(n, REPLY_LOST);
		if (strcmp(m->tracks, "silent") != 0)
			happens(world.now_ms, DROP, n->address.at[0].port);
		if (strcmp(m->tracks, "once") == 0)
			m->tracks = NULL;
	}
}

int64_t
conn_second_ms(const struct conn *n)
{
	(void)n;
	return CLOCK_NEVER;
}

void
conn_sweep(struct conn *n)
{
	(void)n;
}

void
conn_finish(struct conn *n)
{
	(void)n;
}

void
conn_release(struct conn *n)
{
	conn_close(n, NULL);
}

static enum label
label_of(enum request_kind kind, const char *const script_args[])
{
	if (kind == REQUEST_ACQUIRE || kind == REQUEST_RENEW)
		return kind == REQUEST_ACQUIRE ? ACQUIRE : RENEW;
	if (kind == REQUEST_RAN)
		return ASK;
	if (script_args[RELEASE_LEAVING][0] == '0')
		return world.lock.intent.phase == PHASE_RELEASE ? TELL : YIELD;
	return world.lock.intent.phase == PHASE_RELEASE ? RELEASE : LEAVE;
}

static const char *const modes[] = { [LOCK_EXCLUSIVE] = "exclusive",
	[LOCK_SHARED] = "shared",
	[LOCK_SLOTTED] = "slots" };

/*
 * Returns how many arguments an acquire without --latest has; only one that queues
 * has the last.
 */
static int
sent_args(int argc, const char *const args[])
{
	bool last = argc == ARG_OWN + 1 + (int)ACQUIRE_ARGS;

	CHECK(!last || strcmp(args[ACQUIRE_HEARTBEAT], "0") != 0);
	return last ? (int)ACQUIRE_ARGS : (int)ACQUIRE_LATEST;
}

/* Writes a request into the trace, each of its arguments by its name. */
static void
trace_send(const struct request *r, const char *const args[])
{
	const long long at_ms = world.now_ms - START;
	char head[128];
	bool once;

	if (r->label == WAIT || r->label == REPLICAS) {
		trace_request("%lld server=%d/%d %s %s %s", at_ms, r->server,
		    r->connection, labels[r->label], args[0], args[1]);
		return;
	}
	snprintf(head, sizeof(head), "%lld server=%d/%d id=%s", at_ms,
	    r->server, r->connection, strstr(r->id, "try="));
	if (world.lock.intent.mode != LOCK_EXCLUSIVE)
		snprintf(head + strlen(head), sizeof(head) - strlen(head),
		    "%s slot=%d", modes[world.lock.intent.mode], r->slot);
	if (r->watches[0] != '\0')
		snprintf(head + strlen(head), sizeof(head) - strlen(head),
		    " watches=%s", r->watches);
	switch (r->kind) {
	case REQUEST_ACQUIRE:
		once = strcmp(args[ACQUIRE_ONCE_PER], "0") != 0;
		trace_request("%s acquire ttl=%s fence=%s ticket=%s "
			      "heartbeat=%s only=%s start=%s%s%s%s%s%s%s%s",
		    head, args[ACQUIRE_TTL], args[ACQUIRE_PROPOSAL],
		    args[ACQUIRE_TICKET], args[ACQUIRE_HEARTBEAT],
		    args[ACQUIRE_ONLY], args[ACQUIRE_START],
		    args[ACQUIRE_NONCE][0] != '\0' ? " nonce=" : "",
		    args[ACQUIRE_NONCE], once ? " once-per=" : "",
		    once ? args[ACQUIRE_ONCE_PER] : "",
		    r->args[ACQUIRE_LATEST][0] == '1' ? " latest" : "",
		    r->args[ACQUIRE_MAX_WAITING][0] != '\0' ? " max-waiting=" :
							      "",
		    r->args[ACQUIRE_MAX_WAITING]);
		break;
	case REQUEST_RENEW:
		trace_request("%s renew ttl=%s fence=%s leave=%s start=%s",
		    head, args[RENEW_TTL], args[RENEW_FENCE],
		    r->leaves ? "1" : "0", args[RENEW_START]);
		break;
	case REQUEST_RAN:
		trace_request("%s ran once-per=%s", head, args[RAN_ONCE_PER]);
		break;
	case REQUEST_RELEASE:
	case REQUEST_LEAVE:
	case REQUEST_NONE:
	case REQUEST_WAIT:
	case REQUEST_REPLICAS:
		trace_request(
		    "%s %s cooldown=%s leave=%s only=%s end=%s%s%s details=%s%s",
		    head, labels[r->label], args[RELEASE_COOLDOWN],
		    args[RELEASE_LEAVING], args[RELEASE_ONLY],
		    args[RELEASE_WAITED], args[RELEASE_ENDING],
		    args[RELEASE_SKIP], args[RELEASE_DETAILS],
		    r->starts ? " starts" : "");
		if (args[RELEASE_ENDING][0] != '\0' &&
		    strcmp(args[RELEASE_HELD], "1") != 0)
			trace_request("%s held=%s", head, args[RELEASE_HELD]);
		break;
	}
}

/*
 * Whatever one server says, the others are asked for the same slot, with a
 * ticket of about now and with a fence that is not far from it.
 */
static void
check_numbers(const struct request *r)
{
	const int64_t day_us = INT64_C(86400000000);

	if (r->kind == REQUEST_ACQUIRE)
		CHECK(atoll(r->args[ACQUIRE_TICKET]) <
		    clock_wall_us() + day_us + 1000000);
	if (r->kind == REQUEST_RENEW)
		CHECK(atoll(r->args[RENEW_FENCE]) <
		    clock_wall_us() + 2 * day_us + 61000000);
}

/* Whether a request can be sent now: the next one, which is counted. */
static bool
may_send(struct made_up *m, int tag, enum request_kind kind)
{
	if (m->conn->state != CONN_READY || m->npending == PENDING_MAX)
		return false;
	if (m->unsent > 0) {
		m->unsent--;
		return false;
	}
	if (world.nrequests++ == REQUESTS) {
		printf("# it asks without end\n");
		exit(1);
	}
	if (m->npending > 0 && kind != REQUEST_RELEASE &&
	    m->pending[m->npending - 1].kind != REQUEST_RELEASE)
		tap_fail("a second request is on its way");
	if (m->npending > 0 && tag <= m->pending[m->npending - 1].tag)
		tap_fail("two requests on their way have one number");
	m->pending[m->npending].tag = tag;
	m->pending[m->npending].kind = kind;
	m->pending[m->npending++].sent_ms = world.now_ms;
	return true;
}

/*
 * A server that has just got its vote back is not asked for it at once: others
 * are to have it first.  Another slot is another matter, and so is a connection
 * that was given up with its vote.
 */
static void
check_given_back(struct made_up *m, const struct request *r)
{
	const struct lock *l = &world.lock;

	if (r->label == YIELD && l->servers[r->server].vote == VOTE_GRANTED &&
	    l->intent.mode != LOCK_SLOTTED)
		m->given_back_ms = world.now_ms;
	else if (r->label == ACQUIRE)
		CHECK(m->given_back_ms != world.now_ms);
}

/* BLPOP by a waiter, or WAIT for the replicas. */
int
conn_command(struct conn *n, int tag, int argc, const char *const argv[])
{
	struct made_up *m = made_up(n);
	struct request *r = &requests[world.nrequests];
	bool blocks = strcmp(argv[0], "BLPOP") == 0;
	enum request_kind kind = blocks ? REQUEST_WAIT : REQUEST_REPLICAS;

	if (!may_send(m, tag, kind))
		return -1;
	CHECK(argc == 3);
	CHECK(strcmp(argv[0], blocks ? "BLPOP" : "WAIT") == 0);
	CHECK(!blocks || strcmp(argv[1], "{p:n}:~wake:TOKEN") == 0);
	*r = (struct request){ .server = n->address.at[0].port,
		.connection = m->connection,
		.tag = tag,
		.kind = kind,
		.label = blocks ? WAIT : REPLICAS };
	trace_send(r, argv + 1);
	if (n->established)
		leave_host(m, r);
	return 0;
}

/* Only with --latest the acquires, but for those that heal, have one more word. */
static bool
is_sent_latest(void)
{
	return world.lock.intent.latest &&
	    world.lock.intent.phase != PHASE_HOLD;
}

/* A third key is the one that the request reads for the server to watch. */
int
conn_eval(struct conn *n, int tag, const struct script *script, int nkeys,
    int argc, const char *const all[])
{
	struct made_up *m = made_up(n);
	struct request *r = &requests[world.nrequests];
	const char *watches = nkeys > ARG_ID ? all[ARG_ID] : "";
	const char *argv[CONN_ARGS] = { all[ARG_KEY], all[ARG_AUX] };
	const char *part = all[argc - 1];
	bool leaves = strcmp(part, "confirm") == 0;
	enum request_kind kind = strcmp(part, "acquire") == 0 ?
	    REQUEST_ACQUIRE :
	    strcmp(part, "renew") == 0 || leaves ? REQUEST_RENEW :
	    strcmp(part, "ran") == 0             ? REQUEST_RAN :
						   REQUEST_RELEASE;
	bool starts;

	if (!may_send(m, tag, kind))
		return -1;
	CHECK(nkeys == ARG_ID || nkeys == ARG_ID + 1);
	CHECK(watches[0] == '\0' || n->tracking.state != TRACKING_UNASKED);
	argc -= nkeys - ARG_ID;
	memcpy(argv + ARG_ID, all + nkeys,
	    (size_t)(argc - ARG_ID) * sizeof(*argv));
	starts =
	    kind == REQUEST_RELEASE && argv[ARG_OWN + RELEASE_STARTS][0] == '1';
	CHECK(strcmp(argv[ARG_KEY], "p:n") == 0);
	CHECK(strcmp(argv[ARG_AUX], "{p:n}:~") == 0);
	CHECK(strcmp(argv[ARG_TOKEN], "TOKEN") == 0);
	CHECK(strcmp(argv[ARG_MODE], modes[world.lock.intent.mode]) == 0);
	CHECK(atoi(argv[ARG_CAPACITY]) == world.lock.intent.capacity);
	CHECK(atoi(argv[ARG_SLOT]) <= world.lock.intent.capacity);
	CHECK(script == &script_lock);
	CHECK(argc ==
	    ARG_OWN + 1 +
		(leaves                         ? (int)CONFIRM_ARGS :
			kind == REQUEST_RENEW   ? (int)RENEW_ARGS :
			kind == REQUEST_RAN     ? (int)RAN_ARGS :
			kind != REQUEST_ACQUIRE ? (int)RELEASE_ARGS :
			is_sent_latest()        ? (int)ACQUIRE_MAX_WAITING :
					   sent_args(argc, argv + ARG_OWN)));
	*r = (struct request){ .server = n->address.at[0].port,
		.connection = m->connection,
		.tag = tag,
		.kind = kind,
		.label = label_of(kind, argv + ARG_OWN),
		.leaves = leaves,
		.starts = starts,
		.slot = atoi(argv[ARG_SLOT]) };
	snprintf(r->id, sizeof(r->id), "%s", argv[ARG_ID]);
	snprintf(r->watches, sizeof(r->watches), "%s", watches);
	for (int i = ARG_OWN; i < argc - 1; i++)
		snprintf(r->args[i - ARG_OWN], sizeof(r->args[0]), "%s",
		    argv[i]);
	if (kind == REQUEST_ACQUIRE && r->args[ACQUIRE_NONCE][0] != '\0') {
		CHECK(world.lock.intent.once_per_ms == 0);
		CHECK(atoll(r->args[ACQUIRE_NONCE]) > m->nonce);
		m->nonce = atoll(r->args[ACQUIRE_NONCE]);
	}
	trace_send(r, argv + ARG_OWN);
	check_numbers(r);
	check_given_back(m, r);
	if (n->established)
		leave_host(m, r);
	return 0;
}

long long
reply_int(const struct reply *a, size_t i)
{
	const struct made_reply *r = a->value;

	return r != NULL && i < r->count ? r->ints[i] : 0;
}

const char *
reply_string(const struct reply *a, size_t i, size_t *len)
{
	const struct made_reply *r = a->value;

	/* The second of two elements wakes us. */
	if (r == NULL || r->text == NULL || i >= r->count ||
	    i != (r->count == 2 ? 1 : FIELD_VALUE))
		return NULL;
	*len = strlen(r->text);
	return r->text;
}

long long
reply_number(const struct reply *a)
{
	return reply_int(a, 0);
}

size_t
reply_count(const struct reply *a)
{
	const struct made_reply *r = a->value;

	return r != NULL ? r->count : 0;
}

/* How the lock is held in the worlds to come. */
static struct {
	enum lock_mode mode;
	int slots;
	int replicas;
	int max_waiting;
	int64_t once_per_ms;
	int64_t max_ttl_ms;
	bool latest;
	bool pushes;
} next_world = { LOCK_EXCLUSIVE, 1, 0, 0, 0, 0, false, false };

static struct resolver no_resolver;

/* A world of n old servers that say yes to everything, at once. */
static void
begin_numbered(uint64_t life, int n, int64_t ttl_ms, int64_t node_timeout_ms,
    int64_t grace_ms)
{
	static const char *const run_ids[] = { "a", "b", "c", "d", "e" };
	struct address addresses[SERVERS] = { 0 };

	memset(&world, 0, sizeof(world));
	trace_begin(life);
	world.now_ms = world.seen_ms = START;
	world.pushes = next_world.pushes;
	for (int i = 0; i < n; i++) {
		world.servers[i].plan = "yes";
		world.servers[i].connects = "now";
		world.servers[i].run_id = run_ids[i];
		world.servers[i].started_ms = -FOREVER;
		addresses[i].at[0].port = i;
		snprintf(addresses[i].text, ADDRESS_TEXT, "server%d", i);
	}
	snprintf(world.owner.token, OWNER_TOKEN, "TOKEN");
	if (lock_init(&world.lock, &no_resolver,
		&(struct lock_config){ .prefix = "p:",
		    .name = "n",
		    .mode = next_world.mode,
		    .capacity = next_world.slots,
		    .replicas = next_world.replicas,
		    .max_waiting = next_world.max_waiting,
		    .once_per_ms = next_world.once_per_ms,
		    .latest = next_world.latest,
		    .addresses = addresses,
		    .naddresses = n,
		    .ttl_ms = ttl_ms,
		    .max_ttl_ms = next_world.max_ttl_ms,
		    .node_timeout_ms = node_timeout_ms,
		    .grace_ms = grace_ms }) == -1)
		abort();
}

static void
begin_with_grace(int n, int64_t ttl_ms, int64_t node_timeout_ms,
    int64_t grace_ms)
{
	begin_numbered(0, n, ttl_ms, node_timeout_ms, grace_ms);
}

static inline void
begin(int n, int64_t ttl_ms, int64_t node_timeout_ms)
{
	begin_with_grace(n, ttl_ms, node_timeout_ms, 0);
}

static int64_t
ignore_wait_cb(void *arg, const struct lock *l)
{
	(void)arg, (void)l;
	return CLOCK_NEVER;
}

static enum lock_outcome
acquire_until(int64_t wait_end_ms)
{
	world.locks = (struct locks){ .lock = &world.lock, .n = 1 };
	locks_connect(&world.locks);
	return locks_acquire(&world.locks, &world.owner, wait_end_ms,
	    ignore_wait_cb, NULL);
}

/* Not all tests do. */
__attribute__((unused)) static enum lock_outcome
acquire(void)
{
	return acquire_until(0);
}

static enum lock_release_result
released(int64_t cooldown_ms)
{
	const struct record end = { .ran_ms = world.now_ms - START,
		.ending = ENDED_EXITED,
		.signal = -1 };

	return locks_release(&world.locks, cooldown_ms, &end);
}

static int64_t
now(void)
{
	return world.now_ms - START;
}

/* D, counted from the beginning; 0 if there is none. */
static int64_t
deadline(void)
{
	int64_t ms = lock_deadline_ms(&world.lock);

	return ms == 0 ? 0 : ms - START;
}

/* The same for one server's vote. */
static inline int64_t
valid(int server)
{
	int64_t ms = world.lock.servers[server].valid_ms;

	return ms == 0 ? 0 : ms - START;
}

/* Holds the lock until then. */
static void
hold(int64_t until_ms)
{
	int64_t wake_ms;

	for (;;) {
		wake_ms = lock_step(&world.lock);
		if (now() >= until_ms)
			return;
		if (wake_ms > START + until_ms)
			wake_ms = START + until_ms;
		loop_turn(NULL, wake_ms);
	}
}

/* The network cuts a server's present connection at that moment. */
static inline void
cut(int server, int64_t at_ms)
{
	happens(START + at_ms, DROP, server);
}

/* The n-th request to a server that left this host; one of zeros after all. */
static const struct request *
nth(int server, int n)
{
	static const struct request none;

	for (int i = 0; i < world.nrequests; i++)
		if (requests[i].server == server && requests[i].left &&
		    n-- == 0)
			return &requests[i];
	return &none;
}

/* Which of them is the first of that kind, and how many there are. */
static inline int
first(int server, enum label label)
{
	int n = 0;

	while (nth(server, n)->left && nth(server, n)->label != label)
		n++;
	return n;
}

static inline int
count(int server, enum label label)
{
	int n = 0;

	for (int i = 0; nth(server, i)->left; i++)
		n += nth(server, i)->label == label;
	return n;
}

/* All that was sent to a server: "acquire@0/1 renew@333/1", connection last. */
static inline const char *
sent(int server)
{
	static char text[4096];
	const struct request *r;
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; (r = nth(server, i))->left && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
		    "%s%s@%lld/%d", used > 0 ? " " : "", labels[r->label],
		    (long long)(r->at_ms - START), r->connection);
	return text;
}

#endif
