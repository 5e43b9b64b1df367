/*
 * The two questions about a name, whose answers the tests give one by one.  A
 * mistake here would keep a run from a server that has an address, or pile up
 * threads.
 */
#include <netdb.h>
#include <pthread.h>
#include <semaphore.h>

static int made_up_getaddrinfo(const char *, const char *,
    const struct addrinfo *, struct addrinfo **);
static int
made_up_thread(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

#define getaddrinfo      made_up_getaddrinfo
#define freeaddrinfo(ai) ((void)(ai))
#define pthread_create   made_up_thread
#include "../../src/redis/resolve.c"
#undef pthread_create
#include "tap.h"

#define JOINT 0
#define IPV4  1

static struct loop loop;
static struct resolver resolver;
static struct resolver_user user;
static sem_t gates[2];
static int errors[2]; /* of getaddrinfo(3); 0: addresses are found */
static atomic_int asked[2];
static bool no_threads;
static bool again; /* the user starts the next lookup */
static int ntold;
static char told[1024];

static int
made_up_getaddrinfo(const char *host, const char *port,
    const struct addrinfo *hints, struct addrinfo **list)
{
	static struct sockaddr_in in = { .sin_family = AF_INET };
	static struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	static struct addrinfo four = { .ai_addrlen = sizeof(in),
		.ai_addr = (struct sockaddr *)&in };
	static struct addrinfo six = { .ai_addrlen = sizeof(in6),
		.ai_addr = (struct sockaddr *)&in6,
		.ai_next = &four };
	int which = hints->ai_family == AF_INET ? IPV4 : JOINT;

	(void)host, (void)port;
	atomic_fetch_add(&asked[which], 1);
	while (sem_wait(&gates[which]) == -1)
		;
	*list = which == IPV4 ? &four : &six;
	return errors[which];
}

static int
made_up_thread(pthread_t *thread, const pthread_attr_t *attr,
    void *(*run)(void *), void *arg)
{
	return no_threads ? EAGAIN : pthread_create(thread, attr, run, arg);
}

static void
told_cb(void *arg, const char *host, const struct resolved *found)
{
	(void)arg;
	ntold++;
	strcat(told, found->n == 0 ? found->why : host);
	for (int i = 0; i < found->n; i++)
		strcat(strcat(told, " "), found->ips[i]);
	strcat(told, "; ");
	CHECK(!resolver_busy(&resolver, host));
	if (again)
		(void)resolver_start(&resolver, host);
	again = false;
}

/* Begins to look up a name. */
static void
begin(int64_t node_timeout_ms)
{
	resolver_init(&resolver, &loop, node_timeout_ms);
	user = (struct resolver_user){ .done_cb = told_cb };
	resolver_add(&resolver, &user);
	for (int i = 0; i < 2; i++) {
		sem_init(&gates[i], 0, 0);
		errors[i] = 0;
		asked[i] = 0;
	}
	ntold = 0;
	told[0] = '\0';
	SAME_INT(resolver_start(&resolver, "h"), 0);
}

static void
answers(int which, int error)
{
	errors[which] = error;
	sem_post(&gates[which]);
}

/* Turns the loop until *what is n, for a minute at most. */
#define AWAIT(what, n)                                                         \
	do {                                                                   \
		for (int i = 0; i < 6000 && (what) != (n); i++)                \
			loop_turn(&loop, clock_now_ms() + 10);                 \
		SAME_INT(what, n);                                             \
	} while (0)

static void
joint_alone(void)
{
	begin(INT64_C(3600000));
	answers(JOINT, 0);
	AWAIT(resolver.nlookups, 0);
	SAME_TEXT(told, "h :: 0.0.0.0; ");
	SAME_INT(asked[IPV4], 0);
}

static void
joint_fails(void)
{
	begin(INT64_C(3600000));
	answers(JOINT, EAI_AGAIN);
	AWAIT(asked[IPV4], 1);
	SAME_INT(ntold, 0);
	CHECK(resolver_busy(&resolver, "h"));
	answers(IPV4, 0);
	AWAIT(resolver.nlookups, 0);
	SAME_TEXT(told, "h 0.0.0.0; ");
}

static void
both_fail(void)
{
	char want[64];

	begin(0);
	AWAIT(asked[IPV4], 1);
	answers(IPV4, EAI_FAIL);
	answers(JOINT, EAI_NONAME);
	AWAIT(resolver.nlookups, 0);
	snprintf(want, sizeof(want), "h: %s; ", gai_strerror(EAI_NONAME));
	SAME_TEXT(told, want);
}

static void
ipv6_alone(void)
{
	begin(0);
	AWAIT(asked[IPV4], 1);
	answers(IPV4, EAI_NONAME);
	AWAIT(resolver.lookups->ipv4.state, ANSWERED);
	SAME_INT(ntold, 0);
	answers(JOINT, 0);
	AWAIT(resolver.nlookups, 0);
	SAME_TEXT(told, "h :: 0.0.0.0; ");
}

static void
joint_late(void)
{
	begin(0);
	answers(IPV4, 0);
	AWAIT(ntold, 1);
	CHECK(!resolver_busy(&resolver, "h"));
	answers(JOINT, 0);
	AWAIT(resolver.nlookups, 0);
	SAME_TEXT(told, "h 0.0.0.0; h :: 0.0.0.0; ");
}

static void
joint_hangs(void)
{
	begin(0);
	again = true;
	for (int n = 1; n < 5; n++) {
		answers(IPV4, 0);
		AWAIT(ntold, n);
		SAME_INT(resolver_start(&resolver, "h"), 0);
		AWAIT(asked[IPV4], n + 1);
	}
	SAME_INT(asked[JOINT], 1);
	answers(IPV4, 0);
	AWAIT(ntold, 5);
	answers(JOINT, 0); /* from before the last request */
	AWAIT(resolver.nlookups, 0);
	SAME_INT(ntold, 5);
}

static void
ipv4_late(void)
{
	begin(0);
	AWAIT(asked[IPV4], 1);
	answers(JOINT, 0);
	AWAIT(ntold, 1);
	SAME_INT(resolver_start(&resolver, "h"), 0);
	answers(JOINT, 0);
	AWAIT(ntold, 2);
	answers(IPV4, 0);
	AWAIT(resolver.nlookups, 0);
	SAME_TEXT(told, "h :: 0.0.0.0; h :: 0.0.0.0; ");
	SAME_INT(asked[JOINT], 2);
	SAME_INT(asked[IPV4], 1);
}

static void
threads_refused(void)
{
	begin(INT64_C(3600000));
	no_threads = true;
	errno = 0;
	SAME_INT(resolver_start(&resolver, "other"), -1);
	SAME_INT(errno, EAGAIN);
	SAME_INT(resolver.nlookups, 1);
	again = true;
	answers(JOINT, 0);
	AWAIT(resolver.nlookups, 0);
	SAME_INT(ntold, 1);
	no_threads = false;
	begin(INT64_C(3600000));
	no_threads = true;
	answers(JOINT, EAI_AGAIN);
	AWAIT(resolver.nlookups, 0);
	SAME_INT(ntold, 1);
	no_threads = false;
}

static void
released(void)
{
	begin(0);
	AWAIT(asked[IPV4], 1);
	resolver_release(&resolver);
	answers(IPV4, 0);
	answers(JOINT, 0);
	SAME_INT(loop.nwatches, 0);
	SAME_INT(ntold, 0);
}

int
main(void)
{
	static const struct tap_test tests[] = {
		{ "one question is enough if it finds addresses", joint_alone },
		{ "IPv4 alone is looked up if both families fail",
		    joint_fails },
		{ "of two failures the users get the first one", both_fail },
		{ "without an IPv4 address the answer for both counts",
		    ipv6_alone },
		{ "IPv4 addresses do not wait for the others, which follow",
		    joint_late },
		{ "a question that hangs is not asked again", joint_hangs },
		{ "a late answer about IPv4 changes nothing", ipv4_late },
		{ "a thread that cannot start is an error", threads_refused },
		{ "threads outlive the resolver", released },
	};

	if (loop_init(&loop) == -1)
		return 1;
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]));
}
