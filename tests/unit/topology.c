/*
 * Redirections of a cluster, and the order in which addresses are tried.  A
 * mistake here would send a lock to the wrong server, or never reach an
 * address.
 */
#include "../../src/redis/topology.c"
#include "tap.h"

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
	leads(
	    "MOVED 16383 node-1.example:65535", "node-1.example", 65535, false);
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

/* A topology of hosts that are addresses, so that nothing is looked up. */
static struct address address;
static struct topology topology;

static void
begin(const char *url)
{
	char why[RESOLVE_WHY];

	if (address_parse(&address, url) != NULL)
		abort();
	topology_init(&topology, NULL, &address, NULL, NULL);
	SAME_INT(topology_resolve(&topology, why), 0);
}

static void
next_is(const char *ip, int port)
{
	struct target target;
	char why[RESOLVE_WHY];

	SAME_INT(topology_next(&topology, &target, why), 0);
	SAME_TEXT(target.ip, ip);
	SAME_INT(target.port, port);
}

static void
found(const char *host, const char *first, const char *second)
{
	struct resolved r = { .n = first == NULL ? 0 : second == NULL ? 1 : 2 };

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

static struct target told;

static void
told_cb(void *arg, const struct target *p, const char *why)
{
	(void)arg;
	(void)why;
	told = *p;
}

/* As if a lookup of where we are sent on to had ended, with two addresses. */
static void
sent_to(const char *ip, bool more)
{
	topology.awaited = true;
	found("h", "10.0.0.1", "10.0.0.2");
	SAME_TEXT(told.ip, ip);
	SAME_INT(told.port, 9);
	SAME_INT(told.more, more);
	SAME_INT(topology.awaited, false);
}

static void
redirected_in_turn(void)
{
	begin("redis+cluster://127.0.0.1:7");
	topology.found_cb = told_cb;
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
	{ "an address that we are sent on to needs no lookup", redirected },
	{ "a name that we are sent on to: its addresses in turn",
	    redirected_in_turn },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
