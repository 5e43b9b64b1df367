/*
 * Only getaddrinfo(3) resolves names as this host is configured to, and it
 * blocks, so it runs in a thread.  A lookup has two owners, the thread and the
 * resolver, and the last one frees it, so nothing ever waits for a thread that
 * hangs.  The thread inherits a mask that blocks all signals.  A lookup that
 * hangs is not begun a second time, or threads would pile up.
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
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sigmask.h"
#include "redis/resolve.h"
#include "redis/address.h"

/* The names of all URLs, and some to which servers redirect. */
#define LOOKUPS_MAX 512

struct lookup {
	struct lookup *next; /* the resolver's */
	struct resolver *resolver;
	struct loop_watch watch;
	char host[ADDRESS_HOST];
	struct resolved result; /* the thread's, until fd is readable */
	int fd;
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
resolve(const char *host, struct resolved *r)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
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

static void *
lookup_run(void *arg)
{
	const uint64_t one = 1;
	struct lookup *l = arg;

	resolve(l->host, &l->result);
	(void)!write(l->fd, &one, sizeof(one));
	lookup_drop(l);
	return NULL;
}

/* Takes the lookup from the list; the caller is its owner then. */
static void
unlist(struct lookup *l)
{
	struct resolver *r = l->resolver;
	struct lookup **at = &r->lookups;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	r->nlookups--;
	loop_remove(r->loop, &l->watch);
}

static void
lookup_cb(void *arg, short revents)
{
	struct lookup *l = arg;
	struct resolver_user *u, *next;

	(void)revents;
	unlist(l);
	for (u = l->resolver->users; u != NULL; u = next) {
		next = u->next;
		u->done_cb(u->arg, l->host, &l->result);
	}
	lookup_drop(l);
}

void
resolver_init(struct resolver *r, struct loop *loop)
{
	*r = (struct resolver){ .loop = loop };
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

/* Starts a detached thread with all signals blocked. */
static int
start_thread(struct lookup *l)
{
	pthread_attr_t attr;
	pthread_t thread;
	const sigset_t all = sigmask_all();
	sigset_t before;
	int error;

	sigmask_set(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attr, lookup_run, l);
	pthread_attr_destroy(&attr);
	sigmask_set(SIG_SETMASK, &before, NULL);
	return error;
}

static struct lookup *
lookup_new(struct resolver *r, const char *host)
{
	struct lookup *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->resolver = r;
	l->owners = 2;
	l->result.began_ms = clock_now_ms();
	l->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->fd == -1) {
		free(l);
		return NULL;
	}
	snprintf(l->host, sizeof(l->host), "%s", host);
	l->watch = (struct loop_watch){
		.fd = l->fd, .events = POLLIN, .ready_cb = lookup_cb, .arg = l
	};
	return l;
}

int
resolver_start(struct resolver *r, const char *host)
{
	struct lookup *l;

	if (resolver_busy(r, host))
		return 0;
	if (r->nlookups == LOOKUPS_MAX) {
		errno = EAGAIN;
		return -1;
	}
	l = lookup_new(r, host);
	if (l == NULL)
		return -1;
	if (loop_add(r->loop, &l->watch) == -1 ||
	    (errno = start_thread(l)) != 0) {
		loop_remove(r->loop, &l->watch);
		close(l->fd);
		free(l);
		return -1;
	}
	l->next = r->lookups;
	r->lookups = l;
	r->nlookups++;
	return 0;
}

bool
resolver_busy(const struct resolver *r, const char *host)
{
	for (const struct lookup *l = r->lookups; l != NULL; l = l->next)
		if (strcmp(l->host, host) == 0)
			return true;
	return false;
}
