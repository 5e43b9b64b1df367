/*
 * Redirections of a cluster, and the order in which addresses are tried.  A
 * mistake here would send a lock to the wrong server, or never reach an
 * address.
 */
#define resolver_start made_up_start
#define resolver_busy  made_up_busy
#include "../../src/redis/topology.c"
#include "tap.h"

static char busy[256]; /* the names being looked up, with blanks around */
static int begun;      /* how many were begun */
static bool no_threads;

int
made_up_start(struct resolver *r, const char *host)
{
	char word[64];

	if (made_up_busy(r, host))
		return 0;
	if (no_threads) {
		errno = EAGAIN;
		return -1;
	}
	begun++;
	snprintf(word, sizeof(word), " %s ", host);
	memcpy(busy + strlen(busy), word, strlen(word) + 1);
	return 0;
}

bool
made_up_busy(const struct resolver *r, const char *host)
{
	char word[64];

	(void)r;
	snprintf(word, sizeof(word), " %s ", host);
	return strstr(busy, word) != NULL;
}

/* As topology_moved() has it, from a copy of text without a byte to spare. */
static int
moved(const char *text, struct endpoint *to, bool *asking)
{
	char *copy = tap_bytes(text, strlen(text) + 1);
	int result;

	memset(to, 0x55, sizeof(*to));
	result = topology_moved(copy, "sayer", to, asking);
	free(copy);
	return result;
}

static void
leads(const char *text, const char *host, int port, bool want_asking)
{
	struct endpoint to;
	bool asking = !want_asking;

	if (moved(text, &to, &asking) == -1)
		tap_fail("'%s' leads nowhere", text);
	else if (strcmp(to.host, host) != 0 || to.port != port ||
	    asking != want_asking)
		tap_fail("'%s' leads to '%s' port %d%s", text, to.host, to.port,
		    asking ? ", asking" : "");
}

static void
leads_nowhere(const char *text)
{
	struct endpoint to;
	bool asking;

	if (moved(text, &to, &asking) != -1)
		tap_fail("'%.100s' leads to '%.100s' port %d", text, to.host,
		    to.port);
}

static void
moves(void)
{
	leads("MOVED 3999 127.0.0.1:6381", "127.0.0.1", 6381, false);
	leads("MOVED 0 h:1", "h", 1, false);
	leads("MOVED 16383 node-1.example:65535", "node-1.example", 65535,
	    false);
}

static void
asks(void)
{
	leads("ASK 3999 127.0.0.1:6381", "127.0.0.1", 6381, true);
	leads("ASK 3999 ::1:6381", "::1", 6381, true);
	leads("ASK 3999 :6381", "sayer", 6381, true);
}

static void
moves_ipv6(void)
{
	leads("MOVED 3999 ::1:6381", "::1", 6381, false);
	leads("MOVED 3999 2001:db8::7:6381", "2001:db8::7", 6381, false);
}

static void
moves_to_the_sayer(void)
{
	leads("MOVED 3999 :6381", "sayer", 6381, false);
	leads("MOVED 3999 ?:6381", "sayer", 6381, false);
}

static void
moves_nowhere(void)
{
	static const char *const bad[] = { "", "M", "MOVED", "MOVED ",
		"MOVED 3999", "MOVED 3999 ", "MOVED 3999 h",
		"MOVED 3999 h:", "MOVED 3999 :", "MOVED 3999 h:0",
		"MOVED 3999 h:-1", "MOVED 3999 h:+1", "MOVED 3999 h: 1",
		"MOVED 3999 h:65536", "MOVED 3999 h:6379x",
		"MOVED 3999 h:6379 ", "MOVED 3999 h:x",
		"MOVED 3999 h:99999999999999999999", "MOVED:3999 h:1",
		"moved 3999 h:1", " MOVED 3999 h:1", "ASK", "ASK ", "ASK 1",
		"ASKING 1 h:1", "ERR MOVED 3999 h:1", "CLUSTERDOWN", "OK" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		leads_nowhere(bad[i]);
}

static void
moves_far(void)
{
	char text[512] = "MOVED 3999 ";
	size_t at = strlen(text);
	struct endpoint to;
	bool asking;

	memset(text + at, 'x', 255);
	snprintf(text + at + 255, sizeof(text) - at - 255, ":1");
	SAME_INT(moved(text, &to, &asking), 0);
	SAME_INT(strlen(to.host), 255);
	memset(text + at, 'x', 256);
	snprintf(text + at + 256, sizeof(text) - at - 256, ":1");
	leads_nowhere(text);
}

static struct address address;
static struct topology topology;
static struct target told; /* by found_cb */
static char told_why[RESOLVE_WHY];

static void
told_cb(void *arg, const struct target *p, const char *why)
{
	(void)arg;
	told_why[0] = '\0';
	if (p != NULL)
		told = *p;
	else
		snprintf(told_why, sizeof(told_why), "%s", why);
}

static void
begin(const char *url)
{
	static struct resolver resolver;

	resolver_init(&resolver, NULL, 1000);
	busy[0] = '\0';
	begun = 0;
	if (address_parse(&address, url) != NULL)
		abort();
	topology_init(&topology, &resolver, &address, told_cb, NULL);
}

static void
next_is(const char *ip, int port)
{
	struct target target;
	char why[RESOLVE_WHY];

	SAME_INT(topology_next(&topology, &target, why), 1);
	SAME_TEXT(target.ip, ip);
	SAME_INT(target.port, port);
}

static void
found(const char *host, const char *first, const char *second)
{
	struct resolved r = { .n = first == NULL ? 0 : second == NULL ? 1 : 2 };

	char word[64], *at;

	snprintf(word, sizeof(word), " %s ", host);
	if ((at = strstr(busy, word)) != NULL)
		memmove(at, at + strlen(word), strlen(at + strlen(word)) + 1);
	snprintf(r.why, sizeof(r.why), "%s: unknown", host);
	if (first != NULL)
		snprintf(r.ips[0], sizeof(r.ips[0]), "%s", first);
	if (second != NULL)
		snprintf(r.ips[1], sizeof(r.ips[1]), "%s", second);
	looked_up_cb(&topology, host, &r);
}

static void
one_host(void)
{
	begin("redis://127.0.0.1:7");
	SAME_INT(topology.nips, 1);
	next_is("127.0.0.1", 7);
	next_is("127.0.0.1", 7);
	topology_release(&topology);
}

static void
hosts_in_turn(void)
{
	begin("redis+cluster://127.0.0.1:7,[::1]:8,127.0.0.3");
	SAME_INT(topology.nips, 3);
	for (int i = 0; i < 2; i++) {
		next_is("127.0.0.1", 7);
		next_is("::1", 8);
		next_is("127.0.0.3", 6379);
	}
	topology_release(&topology);
}

static void
addresses_in_turn(void)
{
	begin("redis+cluster://127.0.0.1:7,127.0.0.2:8");
	found("127.0.0.1", "10.0.0.1", "10.0.0.2");
	SAME_INT(topology.nips, 3);
	for (int i = 0; i < 2; i++) {
		next_is("10.0.0.1", 7);
		next_is("10.0.0.2", 7);
		next_is("127.0.0.2", 8);
	}
	topology_release(&topology);
}

static void
fewer_addresses(void)
{
	begin("redis+cluster://127.0.0.1:7,127.0.0.2:8");
	found("127.0.0.1", "10.0.0.1", "10.0.0.2");
	next_is("10.0.0.1", 7);
	next_is("10.0.0.2", 7);
	found("127.0.0.1", "10.0.0.3", NULL);
	SAME_INT(topology.nips, 2);
	next_is("127.0.0.2", 8);
	next_is("10.0.0.3", 7);
	topology_release(&topology);
}

static void
addresses_kept(void)
{
	begin("redis://127.0.0.1:7");
	found("127.0.0.1", NULL, NULL);
	SAME_INT(topology.nips, 1);
	next_is("127.0.0.1", 7);
	topology_release(&topology);
}

static void
none_known(void)
{
	struct target target;
	char why[RESOLVE_WHY] = "";

	begin("redis://127.0.0.1:7");
	topology.hosts[0].found = (struct resolved){ .why = "h: unknown" };
	topology.nips = 0;
	SAME_INT(topology_next(&topology, &target, why), -1);
	SAME_TEXT(why, "h: unknown");
	found("127.0.0.1", "10.0.0.1", NULL);
	next_is("10.0.0.1", 7);
	topology_release(&topology);
}

static void
redirected(void)
{
	const struct endpoint v4 = { "10.0.0.1", 7 }, v6 = { "fe80::1", 8 };
	struct target target;

	begin("redis+cluster://127.0.0.1:7");
	SAME_INT(topology_redirect(&topology, &v4, &target), 1);
	SAME_TEXT(target.ip, "10.0.0.1");
	SAME_INT(target.port, 7);
	SAME_INT(topology_redirect(&topology, &v6, &target), 1);
	SAME_TEXT(target.ip, "fe80::1");
	SAME_TEXT(target.name, "fe80::1");
	SAME_INT(target.port, 8);
	topology_release(&topology);
}

/* A connection waits for the lookup of a host. */
static void
next_waits_for(const char *name)
{
	struct target target;
	char why[RESOLVE_WHY];

	memset(&told, 0, sizeof(told));
	SAME_INT(topology_next(&topology, &target, why), 0);
	SAME_TEXT(topology_awaited(&topology), name);
}

static void
one_name(void)
{
	begin("redis://h:7");
	SAME_INT(begun, 1);
	SAME_INT(topology.untried, 1);
	next_waits_for("h");
	found("h", "10.0.0.1", "10.0.0.2");
	SAME_TEXT(told.ip, "10.0.0.1");
	SAME_INT(told.port, 7);
	CHECK(topology_awaited(&topology) == NULL);
	SAME_INT(topology.untried, 1);
	next_is("10.0.0.2", 7);
	SAME_INT(topology.untried, 0);
	topology_release(&topology);
}

static void
unknown_name(void)
{
	begin("redis://h:7");
	next_waits_for("h");
	found("h", NULL, NULL);
	SAME_TEXT(told_why, "h: unknown");
	SAME_INT(topology.untried, 0);
	/* The next lookup finds it. */
	next_waits_for("h");
	SAME_INT(begun, 2);
	found("h", "10.0.0.1", NULL);
	SAME_TEXT(told.ip, "10.0.0.1");
	SAME_INT(topology.untried, 0);
	topology_release(&topology);
}

/* Two look-ups of a name are at least LOOK_AGAIN_MS apart. */
static void
looked_up_lately(void)
{
	struct target target;
	struct resolved none = { .began_ms = clock_now_ms() };
	char why[RESOLVE_WHY];

	begin("redis://h:7");
	next_waits_for("h");
	busy[0] = '\0';
	looked_up_cb(&topology, "h", &none);
	SAME_INT(topology_next(&topology, &target, why), -1);
	SAME_INT(begun, 1);
	topology_release(&topology);
}

static void
no_thread(void)
{
	struct target target;
	char why[RESOLVE_WHY];

	no_threads = true;
	begin("redis://h:7");
	no_threads = false;
	SAME_INT(topology.untried, 1);
	SAME_TEXT(topology.hosts[0].found.why,
	    "h: Resource temporarily unavailable");
	next_waits_for("h");
	no_threads = true;
	busy[0] = '\0';
	topology_cancel(&topology);
	SAME_INT(topology_next(&topology, &target, why), -1);
	SAME_TEXT(why, "h: Resource temporarily unavailable");
	no_threads = false;
	topology_release(&topology);
}

static void
slow_name_last(void)
{
	begin("redis+cluster://slow:7,127.0.0.1:8,127.0.0.2:9");
	SAME_INT(topology.untried, 3);
	next_is("127.0.0.1", 8);
	next_is("127.0.0.2", 9);
	next_waits_for("slow");
	SAME_INT(topology.untried, 1);
	/* The time is over. */
	topology_cancel(&topology);
	SAME_INT(topology.untried, 0);
	next_is("127.0.0.1", 8);
	next_is("127.0.0.2", 9);
	next_waits_for("slow");
	SAME_INT(begun, 1);
	found("slow", "10.0.0.1", NULL);
	SAME_TEXT(told.ip, "10.0.0.1");
	next_is("127.0.0.1", 8);
	topology_release(&topology);
}

static void
slow_name_beside_one_that_works(void)
{
	begin("redis+cluster://127.0.0.1:8,slow:7");
	for (int i = 0; i < 3; i++) {
		next_is("127.0.0.1", 8);
		topology_begin_round(&topology);
		SAME_INT(topology.untried, 2);
	}
	topology_release(&topology);
}

static void
found_meanwhile(void)
{
	begin("redis+cluster://127.0.0.1:8,slow:7");
	next_is("127.0.0.1", 8);
	SAME_INT(topology.untried, 1);
	found("slow", "10.0.0.1", "10.0.0.2");
	SAME_INT(topology.untried, 2);
	next_is("10.0.0.1", 7);
	next_is("10.0.0.2", 7);
	SAME_INT(topology.untried, 0);
	topology_release(&topology);
}

static void
first_name_found(void)
{
	begin("redis+sentinel://a:7,b:8/m");
	SAME_INT(begun, 2);
	next_waits_for("a");
	found("a", NULL, NULL);
	CHECK(topology_awaited(&topology) != NULL);
	SAME_TEXT(topology_awaited(&topology), "b");
	found("b", "10.0.0.2", NULL);
	SAME_TEXT(told.ip, "10.0.0.2");
	SAME_INT(told.port, 8);
	SAME_INT(topology.untried, 0);
	topology_release(&topology);
}

/* As if a lookup of where we are sent on to had ended, with two addresses. */
static void
sent_to(const char *ip, bool more)
{
	topology.awaits = AWAITS_REDIRECTION;
	found("other", "10.0.0.9", NULL);
	SAME_TEXT(topology_awaited(&topology), "h");
	found("h", "10.0.0.1", "10.0.0.2");
	SAME_TEXT(told.ip, ip);
	SAME_INT(told.port, 9);
	SAME_INT(told.more, more);
	CHECK(topology_awaited(&topology) == NULL);
}

static void
redirected_in_turn(void)
{
	begin("redis+cluster://127.0.0.1:7");
	topology.redirected = (struct endpoint){ "h", 9 };
	sent_to("10.0.0.1", true);
	sent_to("10.0.0.2", false);
	sent_to("10.0.0.1", false);
	topology_release(&topology);
}

static const struct tap_test tests[] = {
	{ "MOVED names a host and a port", moves },
	{ "ASK does, and says so", asks },
	{ "an IPv6 address stands there without brackets", moves_ipv6 },
	{ "an empty or unknown host is the one that says so",
	    moves_to_the_sayer },
	{ "what is neither leads nowhere", moves_nowhere },
	{ "a host that is too long is refused, never cut", moves_far },
	{ "one address is tried again and again", one_host },
	{ "hosts are tried in turn, the first one first", hosts_in_turn },
	{ "all addresses of a host come before the next", addresses_in_turn },
	{ "a name that has fewer addresses now", fewer_addresses },
	{ "a name that is not found any more keeps what it had",
	    addresses_kept },
	{ "without any address it says why", none_known },
	{ "a name is looked up before its addresses are tried", one_name },
	{ "a name that is not known is looked up again", unknown_name },
	{ "a name is not looked up more than once a second", looked_up_lately },
	{ "without a thread for the lookup it says so", no_thread },
	{ "a name that gets no answer is waited for after all addresses",
	    slow_name_last },
	{ "an address that works is not left for a name without an answer",
	    slow_name_beside_one_that_works },
	{ "addresses found meanwhile are tried in the same round",
	    found_meanwhile },
	{ "of several names the first that is found is tried",
	    first_name_found },
	{ "an address that we are sent on to needs no lookup", redirected },
	{ "a name that we are sent on to: its addresses in turn",
	    redirected_in_turn },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
