/*
 * Looking up the URL's hosts delays nothing: meanwhile their known addresses
 * are tried.  A connection waits for a lookup only when no known address is
 * left, or when a redirection names a host.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "redis/topology.h"

#define LOOK_AGAIN_MS 1000 /* from one lookup of a name to the next, at least */

/* Whether the host is being looked up and has no address yet. */
static bool
pending(const struct topology *t, int i)
{
	return t->hosts != NULL && t->hosts[i].found.n == 0 &&
	    resolver_busy(t->resolver, t->address->at[i].host);
}

/*
 * Stores a host's addresses; after a lookup that found none the old ones stay.
 */
static void
keep(struct topology *t, int i, const struct resolved *found)
{
	struct host *h = &t->hosts[i];

	h->looked_ms = found->began_ms;
	if (found->n == 0 && h->found.n > 0)
		return;
	if (h->found.n == 0)
		t->untried += found->n - h->counted;
	h->counted = false;
	t->nips += found->n - h->found.n;
	h->found = *found;
}

/* Returns the first pending host, or -1. */
static int
first_pending(const struct topology *t)
{
	for (int i = 0; i < t->address->nat; i++)
		if (pending(t, i))
			return i;
	return -1;
}

/* Returns how many known addresses are untried. */
static int
known_untried(const struct topology *t)
{
	int n = t->untried;

	for (int i = 0; i < t->address->nat; i++)
		n -= t->hosts[i].counted;
	return n;
}

static void
set_target(struct target *target, const struct endpoint *at, const char *ip)
{
	snprintf(target->name, sizeof(target->name), "%s", at->host);
	snprintf(target->ip, sizeof(target->ip), "%.63s", ip);
	target->port = at->port;
	target->more = false;
}

/*
 * Like topology_next().  A round tries each known address once, and then, if
 * none of them is untried, waits for the pending hosts.
 */
static int
find_next(struct topology *t, struct target *target, char why[RESOLVE_WHY])
{
	const struct address *a = t->address;
	int left = known_untried(t);
	bool waits = first_pending(t) != -1;

	if (t->nips == 0) {
		t->untried -= left;
		snprintf(why, RESOLVE_WHY, "%s", t->hosts[0].found.why);
		return waits ? 0 : -1;
	}
	t->ip++;
	while (t->ip >= t->hosts[t->host].found.n) {
		t->host = (t->host + 1) % a->nat;
		t->ip = 0;
		if (t->host == 0 && waits && left == 0) {
			t->ip = -1;
			return 0;
		}
	}
	t->untried -= left > 0;
	set_target(target, &a->at[t->host], t->hosts[t->host].found.ips[t->ip]);
	return 1;
}

/* A lookup has ended while a connection waits for any of the hosts. */
static void
host_looked_up(struct topology *t)
{
	struct target target = { .port = 0 };
	char why[RESOLVE_WHY];
	int result = find_next(t, &target, why);

	if (result == 0)
		return;
	t->awaits = AWAITS_NOTHING;
	t->found_cb(t->arg, result == 1 ? &target : NULL, why);
}

static void
redirection_looked_up(struct topology *t, const struct resolved *found)
{
	struct target target = { .port = 0 };

	t->awaits = AWAITS_NOTHING;
	/*
	 * A second redirection to the same name means that its last address
	 * failed.
	 */
	if (found->n > 0) {
		set_target(&target, &t->redirected,
		    found->ips[t->turn % found->n]);
		target.more = ++t->turn < found->n;
	}
	t->found_cb(t->arg, found->n > 0 ? &target : NULL, found->why);
}

static void
looked_up_cb(void *arg, const char *host, const struct resolved *found)
{
	struct topology *t = arg;

	for (int i = 0; i < t->address->nat; i++)
		if (t->hosts != NULL &&
		    strcmp(t->address->at[i].host, host) == 0) {
			keep(t, i, found);
			if (t->awaits == AWAITS_HOST && found->n > 0) {
				t->host = i;
				t->ip = -1;
			}
		}
	switch (t->awaits) {
	case AWAITS_NOTHING:
		break;
	case AWAITS_HOST:
		host_looked_up(t);
		break;
	case AWAITS_REDIRECTION:
		if (strcmp(t->redirected.host, host) == 0)
			redirection_looked_up(t, found);
		break;
	}
}

/* Begins to look a host up.  If that fails, the next call tries again. */
static void
look_up(struct topology *t, int i)
{
	struct host *h = &t->hosts[i];
	const char *name = t->address->at[i].host;

	if (resolver_start(t->resolver, name) == -1)
		snprintf(h->found.why, sizeof(h->found.why), "%.80s: %s", name,
		    strerror(errno));
}

/* Begins to look up all hosts. */
static void
resolve(struct topology *t)
{
	for (int i = 0; i < t->address->nat; i++) {
		const char *name = t->address->at[i].host;
		struct resolved itself = { .n = 1 };

		if (resolve_is_address(name)) {
			snprintf(itself.ips[0], RESOLVE_IP, "%.63s", name);
			keep(t, i, &itself);
		} else
			look_up(t, i);
	}
}

void
topology_begin_round(struct topology *t)
{
	t->untried = t->nips;
	for (int i = 0; i < t->address->nat; i++)
		if (pending(t, i)) {
			t->hosts[i].counted = true;
			t->untried++;
		}
	if (t->untried == 0)
		t->untried = 1; /* a socket */
}

void
topology_init(struct topology *t, struct resolver *resolver,
    const struct address *address,
    void (*found_cb)(void *arg, const struct target *, const char *why),
    void *arg)
{
	memset(t, 0, sizeof(*t));
	t->address = address;
	t->found_cb = found_cb;
	t->arg = arg;
	t->resolver = resolver;
	t->user = (struct resolver_user){ .done_cb = looked_up_cb, .arg = t };
	resolver_add(resolver, &t->user);
	t->hosts = calloc((size_t)address->nat, sizeof(*t->hosts));
	if (t->hosts != NULL)
		resolve(t);
	t->ip = -1; /* the next address is the first one */
	topology_begin_round(t);
}

void
topology_release(struct topology *t)
{
	topology_cancel(t);
	resolver_remove(t->resolver, &t->user);
	free(t->hosts);
	t->hosts = NULL;
	t->nips = 0;
}

/* Looks a host up again, in the background. */
static void
refresh(struct topology *t, int i)
{
	const char *name = t->address->at[i].host;

	if (!resolve_is_address(name) &&
	    clock_now_ms() - t->hosts[i].looked_ms >= LOOK_AGAIN_MS)
		look_up(t, i);
}

int
topology_next(struct topology *t, struct target *target, char why[RESOLVE_WHY])
{
	int result;

	if (t->hosts == NULL) {
		snprintf(why, RESOLVE_WHY, "%s", strerror(ENOMEM));
		return -1;
	}
	for (int i = 0; i < t->address->nat; i++)
		refresh(t, i);
	result = find_next(t, target, why);
	if (result == 0)
		t->awaits = AWAITS_HOST;
	return result;
}

int
topology_redirect(struct topology *t, const struct endpoint *to,
    struct target *target)
{
	if (strcmp(t->redirected.host, to->host) != 0)
		t->turn = 0;
	t->redirected = *to;
	if (resolve_is_address(to->host)) {
		set_target(target, to, to->host);
		return 1;
	}
	/* A lookup that outlasts one attempt serves the next one as well. */
	if (resolver_start(t->resolver, to->host) == -1)
		return -1;
	t->awaits = AWAITS_REDIRECTION;
	return 0;
}

const char *
topology_awaited(const struct topology *t)
{
	switch (t->awaits) {
	case AWAITS_NOTHING:
		return NULL;
	case AWAITS_HOST:
		return t->address->at[first_pending(t)].host;
	case AWAITS_REDIRECTION:
		break;
	}
	return t->redirected.host;
}

void
topology_cancel(struct topology *t)
{
	if (t->awaits == AWAITS_HOST)
		t->untried = known_untried(t);
	for (int i = 0; i < t->address->nat && t->awaits == AWAITS_HOST; i++)
		t->hosts[i].counted = false;
	t->awaits = AWAITS_NOTHING;
}

int
topology_moved(const char *text, const char *sender, struct endpoint *to,
    bool *asking)
{
	const char *host, *colon;
	int port;

	*asking = strncmp(text, "ASK ", 4) == 0;
	if (!*asking && strncmp(text, "MOVED ", 6) != 0)
		return -1;
	host = strchr(strchr(text, ' ') + 1, ' ');
	colon = host == NULL ? NULL : strrchr(host, ':');
	if (colon == NULL || (size_t)(colon - host) > sizeof(to->host))
		return -1;
	host++;
	port = address_port(colon + 1);
	if (port == -1)
		return -1;
	if (colon == host || strncmp(host, "?:", 2) == 0)
		snprintf(to->host, sizeof(to->host), "%s", sender);
	else
		snprintf(to->host, sizeof(to->host), "%.*s",
		    (int)(colon - host), host);
	to->port = port;
	return 0;
}
