/*
 * Made-up servers: the functions of node.h and loop.h without a socket, on a
 * clock that moves only while lock.c waits.  What a server answers is planned
 * in words, "yes+40 error lost": the n-th word is for the n-th request, the
 * last one for all that follow, and +40 is how many milliseconds it takes.
 * Or it follows from what the scripts do, after delays made up by chance.
 *
 * To be included behind lock.c, which has to be compiled with this clock:
 * see START below.  Requests on one connection are executed and answered in
 * their order; connections overtake each other, and what was sent is executed
 * even after the connection was closed, but not when the network cut it.
 */
#ifndef SERVERS_H
#define SERVERS_H

#include "tap.h"

#define START   INT64_C(1000000) /* the clock when a test begins */
#define SERVERS 5
#define FOREVER INT64_C(1000000000)

enum word { YES, NO, FREE, ERROR, DENIED, GARBAGE, LOST, SILENT };

static const char *const words[] = { "yes", "no", "free", "error", "denied",
	"garbage", "lost", "silent", "now", "refused", "never" };

static const char *const asks[] = { "", "acquire", "renew", "release" };

struct made_up {
	struct node *node;
	const char *plan;     /* what it answers */
	const char *connects; /* "now", "refused" or "never" */
	int greeting_ms;      /* AUTH and SELECT take that long */
	bool unresolved;
	int connection; /* how many there have been */
	int npending;
	struct {
		int tag;
		int64_t sent_ms;
	} pending[NODE_PENDING];
	int64_t executed_ms; /* nothing on this connection before that */
	int64_t answered_ms;
	/* In the model: whose the key is, and until when. */
	bool ours;
	int64_t until_ms;
	bool reached; /* it could be told so at the end */
};

struct request {
	int server;
	int connection;
	enum ask ask;
	bool left; /* it waits for the connection otherwise */
	int64_t at_ms;
	char id[OWNER_ID];
	char last[24]; /* its last argument */
};

struct event {
	int64_t at_ms;
	enum { CONNECTED, GREETED, EXECUTE, REPLY, DROP, CANCEL } kind;
	int server;
	int connection;
	enum ask ask;
	enum word word;
};

/* What answer_int() and the others look into. */
struct reply {
	size_t count;
	long long ints[5];
	const char *text;
};

static struct {
	int64_t now_ms;
	int idle; /* turns without an event in which no time passed */
	struct made_up servers[SERVERS];
	struct request requests[512];
	int nrequests;
	struct event events[512];
	int nevents;
	bool model;
	bool cuts; /* in the model: the network cuts connections */
	uint64_t chance;
	struct lock lock;
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

/* A number from 0 to n - 1, the same in every run of the test. */
static int
chance(int n)
{
	world.chance = world.chance * UINT64_C(6364136223846793005) +
	    UINT64_C(1442695040888963407);
	return (int)((world.chance >> 33) % (uint64_t)n);
}

static void
happens(int64_t at_ms, int kind, int server, enum ask ask, enum word word)
{
	if (world.nevents == sizeof(world.events) / sizeof(world.events[0]))
		abort();
	world.events[world.nevents++] = (struct event){ .at_ms = at_ms,
		.kind = kind,
		.server = server,
		.connection = world.servers[server].connection,
		.ask = ask,
		.word = word };
}

/* Takes the next word from a plan, but never the last. */
static int
next_word(const char **plan, int *ms)
{
	size_t len = strcspn(*plan, " +"), all = strcspn(*plan, " ");
	int word = 0;

	while (
	    strlen(words[word]) != len || strncmp(words[word], *plan, len) != 0)
		if (++word == sizeof(words) / sizeof(words[0]))
			abort();
	*ms = (*plan)[len] == '+' ? atoi(*plan + len + 1) : 0;
	if ((*plan)[all] == ' ')
		*plan += all + 1;
	return word;
}

static struct made_up *
made_up(const struct node *n)
{
	return &world.servers[n->address.port];
}

static void
answer(struct made_up *m, enum answer_kind kind, const char *error,
    const struct reply *reply)
{
	struct answer a = { .kind = kind,
		.tag = m->pending[0].tag,
		.sent_ms = m->pending[0].sent_ms,
		.text = error,
		.reply = reply };

	memmove(m->pending, m->pending + 1,
	    (size_t)--m->npending * sizeof(m->pending[0]));
	m->node->answer_cb(m->node->arg, &a);
}

static void
answer_in_words(struct made_up *m, enum word word)
{
	const int64_t server_ms = clock_wall_us() / 1000;
	struct reply r = { 0 };

	if (word != ERROR && word != DENIED)
		m->node->untried = m->node->nips;
	switch (word) {
	case YES:
		r.count = m->pending[0].tag == ASK_ACQUIRE ? 2 : 1;
		r.ints[0] = 1;
		r.ints[1] = 1000 + (m - world.servers);
		break;
	case NO:
		r = (struct reply){ 4, { 0, 0, 700, server_ms }, "a thief" };
		break;
	case FREE:
		r = (struct reply){ 4, { 0, 0, -2, server_ms }, NULL };
		break;
	case GARBAGE:
		r = (struct reply){ 1, { 7 }, NULL };
		break;
	case ERROR:
		answer(m, ANSWER_UNABLE, "LOADING it loads", NULL);
		return;
	case DENIED:
		answer(m, ANSWER_DENIED, "NOPERM it may not", NULL);
		return;
	case LOST:
	case SILENT:
		return;
	}
	answer(m, ANSWER_REPLY, NULL, &r);
}

static void
go_down(struct made_up *m, const char *why)
{
	struct node *n = m->node;

	n->state = NODE_DOWN;
	n->failure = ANSWER_NONE;
	if (n->why[0] == '\0')
		snprintf(n->why, sizeof(n->why), "%s", why);
	while (m->npending > 0)
		answer(m, ANSWER_NONE, n->why, NULL);
}

/* What the script does.  Somebody else may hold the key for a while. */
static enum word
execute(struct made_up *m, enum ask ask)
{
	bool there = m->until_ms > world.now_ms;

	if (there ? !m->ours : ask != ASK_ACQUIRE)
		return there ? NO : FREE;
	m->ours = true;
	m->until_ms = ask == ASK_RELEASE ? 0 : world.now_ms + world.lock.ttl_ms;
	return YES;
}

/* A request leaves this host. */
static void
leave(struct made_up *m, struct request *r)
{
	int64_t at_ms;
	int ms, word = YES;

	r->left = true;
	r->at_ms = world.now_ms;
	if (world.model)
		ms = chance(8) == 0 ? chance(600) : chance(20);
	else
		word = next_word(&m->plan, &ms);
	at_ms = world.now_ms + (word == SILENT ? FOREVER : ms);
	if (at_ms < m->executed_ms)
		at_ms = m->executed_ms;
	m->executed_ms = at_ms;
	happens(at_ms, EXECUTE, r->server, r->ask, (enum word)word);
	if (world.cuts && chance(20) == 0)
		happens(world.now_ms + chance(100), DROP, r->server,
		    ASK_NOTHING, YES);
}

static void
executed(struct made_up *m, const struct event *e)
{
	enum word word = e->word;
	int64_t at_ms = world.now_ms;

	if (world.model) {
		word = execute(m, e->ask);
		at_ms += chance(15);
	}
	if (e->connection != m->connection)
		return;
	if (word == LOST) {
		go_down(m, "Connection reset");
		return;
	}
	if (at_ms < m->answered_ms)
		at_ms = m->answered_ms;
	m->answered_ms = at_ms;
	happens(at_ms, REPLY, e->server, e->ask, word);
}

/* The network takes with it what has not been executed. */
static void
dropped(struct made_up *m, const struct event *e)
{
	int kept = 0;

	for (int i = 0; i < world.nevents; i++)
		if (world.events[i].server != e->server ||
		    world.events[i].connection != e->connection ||
		    world.events[i].kind != EXECUTE)
			world.events[kept++] = world.events[i];
	world.nevents = kept;
	if (e->connection == m->connection && m->node->state != NODE_DOWN)
		go_down(m,
		    e->word == YES ? "Connection reset" : "Connection refused");
}

static void
happen(const struct event *e)
{
	struct made_up *m = &world.servers[e->server];
	bool current =
	    e->connection == m->connection && m->node->state != NODE_DOWN;

	switch (e->kind) {
	case CONNECTED:
		if (!current)
			break;
		m->node->established = true;
		for (int i = 0; i < world.nrequests; i++)
			if (world.requests[i].server == e->server &&
			    world.requests[i].connection == e->connection &&
			    !world.requests[i].left)
				leave(m, &world.requests[i]);
		break;
	case GREETED:
		if (current)
			m->node->state = NODE_READY;
		break;
	case EXECUTE:
		executed(m, e);
		break;
	case REPLY:
		if (current && m->npending > 0)
			answer_in_words(m, e->word);
		break;
	case DROP:
		dropped(m, e);
		break;
	case CANCEL:
		lock_cancel(&world.lock);
		break;
	}
}

/* The first of those that come by until_ms, in the order of their making. */
static bool
take_event(struct event *e, int64_t until_ms)
{
	int first = -1;

	for (int i = 0; i < world.nevents; i++)
		if (world.events[i].at_ms <= until_ms &&
		    (first == -1 ||
			world.events[i].at_ms < world.events[first].at_ms))
			first = i;
	if (first == -1)
		return false;
	*e = world.events[first];
	world.nevents--;
	memmove(world.events + first, world.events + first + 1,
	    (size_t)(world.nevents - first) * sizeof(*e));
	return true;
}

/* The moment from which fewer than a quorum hold our value, as it stands. */
static int64_t
true_deadline_ms(void)
{
	int64_t until_ms[SERVERS] = { 0 };

	for (int i = 0; i < world.lock.nservers; i++)
		if (world.servers[i].ours)
			until_ms[i] = world.servers[i].until_ms;
	return lock_deadline_of(
	    until_ms, world.lock.nservers, world.lock.quorum);
}

void
loop_turn(struct loop *loop, int64_t wake_ms)
{
	struct event e;
	bool any = false;

	(void)loop;
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
	if (world.model && world.lock.phase != PHASE_RELEASE &&
	    lock_deadline_ms(&world.lock) > world.now_ms &&
	    lock_deadline_ms(&world.lock) > true_deadline_ms())
		tap_fail("at %lld D is %lld, in truth it is %lld",
		    (long long)(world.now_ms - START),
		    (long long)(lock_deadline_ms(&world.lock) - START),
		    (long long)(true_deadline_ms() - START));
}

void
node_init(struct node *n, struct loop *loop, const struct address *address,
    node_answer_cb *answer_cb, void *arg)
{
	memset(n, 0, sizeof(*n));
	n->loop = loop;
	n->address = *address;
	n->answer_cb = answer_cb;
	n->arg = arg;
	made_up(n)->node = n;
}

int
node_resolve(struct node *n)
{
	if (made_up(n)->unresolved) {
		snprintf(n->why, sizeof(n->why), "Name not known");
		return -1;
	}
	n->nips = 1;
	return 0;
}

void
node_open(struct node *n)
{
	struct made_up *m = made_up(n);
	const int server = n->address.port;
	int ms, word = next_word(&m->connects, &ms);

	if (n->state != NODE_DOWN)
		tap_fail("a second connection is opened");
	m->connection++;
	m->executed_ms = m->answered_ms = 0;
	n->why[0] = '\0';
	n->established = n->again = false;
	if (n->untried > 0)
		n->untried--;
	if (strcmp(words[word], "refused") == 0 && ms == 0) {
		go_down(m, "Connection refused");
		return;
	}
	n->state = m->greeting_ms > 0 ? NODE_GREETING : NODE_READY;
	if (m->greeting_ms > 0)
		happens(world.now_ms + ms + m->greeting_ms, GREETED, server,
		    ASK_NOTHING, YES);
	if (strcmp(words[word], "refused") == 0)
		happens(world.now_ms + ms, DROP, server, ASK_NOTHING, NO);
	else if (strcmp(words[word], "now") == 0 && ms == 0)
		n->established = true;
	else if (strcmp(words[word], "now") == 0)
		happens(world.now_ms + ms, CONNECTED, server, ASK_NOTHING, YES);
}

bool
node_connected(const struct node *n)
{
	return n->state != NODE_DOWN && n->established;
}

void
node_close(struct node *n, const char *why)
{
	if (n->state != NODE_DOWN)
		go_down(made_up(n), why != NULL ? why : "closed");
}

void
node_sweep(struct node *n)
{
	(void)n;
}

void
node_finish(struct node *n)
{
	(void)n;
}

void
node_release(struct node *n)
{
	node_close(n, NULL);
}

int
node_eval(struct node *n, int tag, const char *script, int nkeys, int argc,
    const char *const argv[])
{
	struct made_up *m = made_up(n);
	struct request *r = &world.requests[world.nrequests];

	if (n->state != NODE_READY || m->npending == NODE_PENDING)
		return -1;
	if (world.nrequests++ ==
	    sizeof(world.requests) / sizeof(world.requests[0])) {
		printf("# it asks without end\n");
		exit(1);
	}
	if (m->npending > 0 && tag != ASK_RELEASE)
		tap_fail("a second request is on its way");
	CHECK(nkeys == 2);
	CHECK(strcmp(argv[0], "p:n") == 0);
	CHECK(strcmp(argv[1], "{p:n}:~fence") == 0);
	CHECK(script ==
	    (tag == ASK_ACQUIRE      ? script_acquire :
		    tag == ASK_RENEW ? script_renew :
				       script_release));
	m->pending[m->npending].tag = tag;
	m->pending[m->npending++].sent_ms = world.now_ms;
	*r = (struct request){ .server = n->address.port,
		.connection = m->connection,
		.ask = (enum ask)tag };
	snprintf(r->id, sizeof(r->id), "%s", argv[2]);
	snprintf(r->last, sizeof(r->last), "%s", argv[argc - 1]);
	if (n->established)
		leave(m, r);
	return 0;
}

long long
answer_int(const struct answer *a, size_t i)
{
	const struct reply *r = a->reply;

	return r != NULL && i < r->count ? r->ints[i] : 0;
}

const char *
answer_string(const struct answer *a, size_t i, size_t *len)
{
	const struct reply *r = a->reply;

	if (r == NULL || i != 1 || i >= r->count || r->text == NULL)
		return NULL;
	*len = strlen(r->text);
	return r->text;
}

size_t
answer_count(const struct answer *a)
{
	const struct reply *r = a->reply;

	return r != NULL ? r->count : 0;
}

/* A world of n servers that say yes to everything, at once. */
static void
begin(int n, int64_t ttl_ms, int64_t node_timeout_ms)
{
	struct address addresses[SERVERS] = { 0 };

	memset(&world, 0, sizeof(world));
	world.now_ms = START;
	for (int i = 0; i < n; i++) {
		world.servers[i].plan = "yes";
		world.servers[i].connects = "now";
		addresses[i].port = i;
		snprintf(addresses[i].text, ADDRESS_TEXT, "server%d", i);
	}
	snprintf(world.owner.token, OWNER_TOKEN, "TOKEN");
	if (lock_init(&world.lock, NULL, "p:", "n", addresses, n, ttl_ms,
		node_timeout_ms) == -1)
		abort();
}

static enum lock_outcome
acquire(void)
{
	if (lock_resolve(&world.lock) == -1)
		return LOCK_UNREACHABLE;
	lock_connect(&world.lock);
	return lock_acquire(&world.lock, &world.owner);
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
static void
cut(int server, int64_t at_ms)
{
	happens(START + at_ms, DROP, server, ASK_NOTHING, YES);
}

/* All that was sent to a server: "acquire@0/1 renew@333/1", connection last. */
static const char *
sent(int server)
{
	static char text[4096];
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < world.nrequests; i++) {
		const struct request *r = &world.requests[i];

		if (r->server == server && r->left)
			used += (size_t)snprintf(text + used,
			    sizeof(text) - used, "%s%s@%lld/%d",
			    used > 0 ? " " : "", asks[r->ask],
			    (long long)(r->at_ms - START), r->connection);
	}
	return text;
}

#endif
