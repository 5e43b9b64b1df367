/*
 * Only getaddrinfo(3) resolves names as this host is configured to, and it
 * blocks, so it runs in threads.  A lookup has several owners, its threads and
 * the resolver, and the last one frees it, so nothing ever waits for a thread
 * that hangs.  The threads inherit a mask that blocks all signals.
 *
 * The joint question is for the addresses of both families.  musl finds none of
 * them if the name server answers the part about IPv6 with an error, and no libc
 * does while that part gets no answer.  So a question for IPv4 alone follows when
 * the joint one fails, or starts beside it after some time.  A question that
 * hangs is not asked a second time, or threads would pile up: a lookup stays
 * until its threads have ended, and the next request for the name gets it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/kernel.h"
#include "base/sigmask.h"
#include "redis/resolve.h"
#include "redis/address.h"

/* The names of all URLs, and some to which servers redirect. */
#define LOOKUPS_MAX 512

struct question {
	struct lookup *lookup;
	int family;
	enum {
		NOT_ASKED,
		UNDER_WAY,
		ANSWERED
	} state;               /* as lookup_cb() has seen it */
	struct resolved found; /* the thread's, until it has ended */
	atomic_bool ended;
};

struct lookup {
	struct lookup *next; /* the resolver's */
	struct resolver *resolver;
	struct loop_watch watch;
	char host[ADDRESS_HOST];
	struct question joint, ipv4;
	bool wanted; /* the users wait for addresses */
	bool stale;  /* the joint question is older than the last request */
	int fd; /* a timer: the joint one takes long, or a thread has ended */
	atomic_int owners;
};

bool
resolve_is_address(const char *host)
{
	unsigned char buf[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, buf) == 1 ||
	    inet_pton(AF_INET6, host, buf) == 1;
}

/* Resolves host, which may block. */
static void
resolve(const char *host, int family, struct resolved *r)
{
	const struct addrinfo hints = { .ai_family = family,
		.ai_socktype = SOCK_STREAM };
	struct addrinfo *list, *ai;
	int error;

	if ((error = getaddrinfo(host, NULL, &hints, &list)) != 0) {
		snprintf(r->why, sizeof(r->why), "%.80s: %s", host,
		    error == EAI_SYSTEM ? strerror(errno) :
					  gai_strerror(error));
		return;
	}
	for (ai = list; ai != NULL && r->n < RESOLVE_IPS; ai = ai->ai_next)
		if (getnameinfo(ai->ai_addr, ai->ai_addrlen, r->ips[r->n],
			sizeof(r->ips[0]), NULL, 0, NI_NUMERICHOST) == 0)
			r->n++;
	freeaddrinfo(list);
	if (r->n == 0)
		snprintf(r->why, sizeof(r->why), "%.80s: no address", host);
}

static void
lookup_drop(struct lookup *l)
{
	if (atomic_fetch_sub(&l->owners, 1) > 1)
		return;
	close(l->fd);
	free(l);
}

static void
wake_in(const struct lookup *l, int64_t ms)
{
	/* A timer of 0 would never fire. */
	const struct itimerspec its = { .it_value.tv_sec = ms / 1000,
		.it_value.tv_nsec = ms % 1000 * 1000000 + 1 };

	kernel_timerfd_settime(l->fd, 0, &its);
}

static void *
question_run(void *arg)
{
	struct question *q = arg;
	struct lookup *l = q->lookup;

	resolve(l->host, q->family, &q->found);
	atomic_store(&q->ended, true);
	wake_in(l, 0);
	lookup_drop(l);
	return NULL;
}

/*
 * Asks in a detached thread with all signals blocked.  Returns 0, or -1 with
 * errno.
 */
static int
question_ask(struct question *q)
{
	pthread_attr_t attr;
	pthread_t thread;
	const sigset_t all = sigmask_all();
	sigset_t before;
	int error;

	q->found = (struct resolved){ .began_ms = clock_now_ms() };
	atomic_store(&q->ended, false);
	atomic_fetch_add(&q->lookup->owners, 1);
	sigmask_set(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attr, question_run, q);
	pthread_attr_destroy(&attr);
	sigmask_set(SIG_SETMASK, &before, NULL);
	if (error != 0) {
		atomic_fetch_sub(&q->lookup->owners, 1);
		errno = error;
		return -1;
	}
	q->state = UNDER_WAY;
	return 0;
}

static void
question_settle(struct question *q)
{
	if (q->state == UNDER_WAY && atomic_load(&q->ended))
		q->state = ANSWERED;
}

static void
question_forget(struct question *q)
{
	if (q->state == ANSWERED)
		q->state = NOT_ASKED;
}

static bool
found(const struct question *q)
{
	return q->state == ANSWERED && q->found.n > 0;
}

/*
 * Takes the lookup from the list if none of its threads runs and nobody wants
 * its result.
 */
static void
lookup_end(struct lookup *l)
{
	struct resolver *r = l->resolver;
	struct lookup **at = &r->lookups;

	if (l->wanted || l->joint.state == UNDER_WAY ||
	    l->ipv4.state == UNDER_WAY)
		return;
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	r->nlookups--;
	loop_remove(r->loop, &l->watch);
	lookup_drop(l);
}

/*
 * Returns what the users get now, or NULL.  After the addresses of IPv4 they get
 * those of both families when these come.
 */
static const struct resolved *
lookup_result(const struct lookup *l)
{
	if (found(&l->joint) && (l->wanted || !l->stale))
		return &l->joint.found;
	if (!l->wanted)
		return NULL;
	if (found(&l->ipv4))
		return &l->ipv4.found;
	if (l->joint.state == ANSWERED && l->ipv4.state != UNDER_WAY)
		return &l->joint.found;
	return NULL;
}

/* Calls the users, which may want the next lookup of the name at once. */
static void
tell(struct lookup *l, const struct resolved result)
{
	struct resolver_user *u, *next;

	for (u = l->resolver->users; u != NULL; u = next) {
		next = u->next;
		u->done_cb(u->arg, l->host, &result);
	}
}

static void
lookup_cb(void *arg, short revents)
{
	struct lookup *l = arg;
	const struct resolved *result;
	uint64_t fired;

	(void)revents;
	(void)!read(l->fd, &fired, sizeof(fired));
	question_settle(&l->joint);
	question_settle(&l->ipv4);
	if (l->wanted && !found(&l->joint) && l->ipv4.state == NOT_ASKED &&
	    question_ask(&l->ipv4) == 0)
		return;
	result = lookup_result(l);
	if (result != NULL || !l->wanted) {
		l->wanted = false;
		question_forget(&l->joint);
		question_forget(&l->ipv4);
	}
	if (result != NULL)
		tell(l, *result);
	lookup_end(l);
}

void
resolver_init(struct resolver *r, struct loop *loop, int64_t node_timeout_ms)
{
	*r = (struct resolver){ .loop = loop,
		.patience_ms = node_timeout_ms / 4 };
}

void
resolver_release(struct resolver *r)
{
	struct lookup *l, *next;

	for (l = r->lookups; l != NULL; l = next) {
		next = l->next;
		loop_remove(r->loop, &l->watch);
		lookup_drop(l);
	}
	r->lookups = NULL;
	r->nlookups = 0;
}

void
resolver_add(struct resolver *r, struct resolver_user *u)
{
	u->next = r->users;
	r->users = u;
}

void
resolver_remove(struct resolver *r, struct resolver_user *u)
{
	for (struct resolver_user **at = &r->users; *at != NULL;
	     at = &(*at)->next)
		if (*at == u) {
			*at = u->next;
			return;
		}
}

/* Returns the lookup of host, if there is one. */
static struct lookup *
lookup_of(const struct resolver *r, const char *host)
{
	struct lookup *l = r->lookups;

	while (l != NULL && strcmp(l->host, host) != 0)
		l = l->next;
	return l;
}

/* Returns a lookup on the list, or NULL with errno. */
static struct lookup *
lookup_new(struct resolver *r, const char *host)
{
	struct lookup *l;

	if (r->nlookups == LOOKUPS_MAX) {
		errno = EAGAIN;
		return NULL;
	}
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return NULL;
	l->resolver = r;
	l->joint = (struct question){ .lookup = l, .family = AF_UNSPEC };
	l->ipv4 = (struct question){ .lookup = l, .family = AF_INET };
	l->owners = 1;
	snprintf(l->host, sizeof(l->host), "%s", host);
	l->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	l->watch = (struct loop_watch){
		.fd = l->fd, .events = POLLIN, .ready_cb = lookup_cb, .arg = l
	};
	if (l->fd == -1 || loop_add(r->loop, &l->watch) == -1) {
		int error = errno;

		if (l->fd != -1)
			close(l->fd);
		free(l);
		errno = error;
		return NULL;
	}
	l->next = r->lookups;
	r->lookups = l;
	r->nlookups++;
	return l;
}

int
resolver_start(struct resolver *r, const char *host)
{
	struct lookup *l = lookup_of(r, host);
	const bool begun = l != NULL;
	int error;

	if (!begun && (l = lookup_new(r, host)) == NULL)
		return -1;
	if (l->wanted)
		return 0;
	l->stale = l->joint.state == UNDER_WAY;
	if (!l->stale)
		wake_in(l, r->patience_ms);
	/* At most one question is under way, or l would be wanted. */
	if (question_ask(l->stale ? &l->ipv4 : &l->joint) == 0) {
		l->wanted = true;
		return 0;
	}
	error = errno;
	if (!begun) /* lookup_cb() ends the others */
		lookup_end(l);
	errno = error;
	return -1;
}

bool
resolver_busy(const struct resolver *r, const char *host)
{
	const struct lookup *l = lookup_of(r, host);

	return l != NULL && l->wanted;
}
