/*
 * Only getaddrinfo(3) resolves names as this host is configured to, and it
 * blocks, so it runs in a thread.  A lookup has two owners, the thread and the
 * resolver, and the last one frees it, so nothing ever waits for a thread that
 * hangs.  The thread inherits a mask that blocks all signals.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "redis/resolve.h"
#include "redis/url.h"

struct lookup {
	char host[ADDRESS_HOST];
	struct resolved result;
	int fd; /* readable when it is done */
	atomic_int owners;
};

bool
resolve_is_address(const char *host)
{
	unsigned char buf[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, buf) == 1 ||
	    inet_pton(AF_INET6, host, buf) == 1;
}

void
resolve_now(const char *host, struct resolved *r)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list, *ai;
	int error;

	memset(r, 0, sizeof(*r));
	if (resolve_is_address(host)) {
		snprintf(r->ips[0], sizeof(r->ips[0]), "%.63s", host);
		r->n = 1;
		return;
	}
	if ((error = getaddrinfo(host, NULL, &hints, &list)) != 0) {
		snprintf(r->why, sizeof(r->why), "%s: %s", host,
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
		snprintf(r->why, sizeof(r->why), "%s: no address", host);
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

	resolve_now(l->host, &l->result);
	(void)!write(l->fd, &one, sizeof(one));
	lookup_drop(l);
	return NULL;
}

static void
lookup_cb(void *arg, short revents)
{
	struct resolver *r = arg;
	struct lookup *l = r->lookup;

	(void)revents;
	loop_remove(r->loop, &r->watch);
	r->lookup = NULL;
	r->done_cb(r->arg, l->host, &l->result);
	lookup_drop(l);
}

void
resolver_init(struct resolver *r, struct loop *loop,
    void (*done_cb)(void *arg, const char *host, const struct resolved *),
    void *arg)
{
	memset(r, 0, sizeof(*r));
	r->loop = loop;
	r->done_cb = done_cb;
	r->arg = arg;
	r->watch = (struct loop_watch){
		.fd = -1, .events = POLLIN, .ready_cb = lookup_cb, .arg = r
	};
}

/* Starts a detached thread with all signals blocked. */
static int
start_thread(struct lookup *l)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attr, lookup_run, l);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

int
resolver_start(struct resolver *r, const char *host)
{
	struct lookup *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return -1;
	snprintf(l->host, sizeof(l->host), "%s", host);
	l->owners = 2;
	l->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->fd == -1) {
		free(l);
		return -1;
	}
	r->watch.fd = l->fd;
	if (loop_add(r->loop, &r->watch) == -1 ||
	    (errno = start_thread(l)) != 0) {
		loop_remove(r->loop, &r->watch);
		close(l->fd);
		free(l);
		return -1;
	}
	r->lookup = l;
	return 0;
}

void
resolver_cancel(struct resolver *r)
{
	if (r->lookup == NULL)
		return;
	loop_remove(r->loop, &r->watch);
	lookup_drop(r->lookup);
	r->lookup = NULL;
}
