/*
 * Looking up the URL's hosts delays nothing: meanwhile their last known
 * addresses are tried again.  Only a redirection to a new name waits for its
 * lookup.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "redis/topology.h"

#define LOOK_AGAIN_MS 1000 /* from one lookup of a name to the next, at least */

/*
 * Stores a host's addresses; after a lookup that found none the old ones stay.
 */
static void
keep(struct topology *t, int i, const struct resolved *found)
{
	struct host *h = &t->hosts[i];

	if (found->n == 0 && h->found.n > 0)
		return;
	t->nips += found->n - h->found.n;
	h->found = *found;
}

static void
set_target(struct target *target, const struct endpoint *at, const char *ip)
{
	snprintf(target->name, sizeof(target->name), "%s", at->host);
	snprintf(target->ip, sizeof(target->ip), "%.63s", ip);
	target->port = at->port;
	target->more = false;
}

static void
looked_up_cb(void *arg, const char *host, const struct resolved *found)
{
	struct topology *t = arg;
	struct target target = { .port = 0 };

	for (int i = 0; i < t->address->nat; i++)
		if (strcmp(t->address->at[i].host, host) == 0)
			keep(t, i, found);
	if (!t->awaited)
		return;
	t->awaited = false;
	/*
	 * A second redirection to the same name means that its last address
	 * failed.
	 */
	if (found->n > 0) {
		set_target(
		    &target, &t->redirected, found->ips[t->turn % found->n]);
		target.more = ++t->turn < found->n;
	}
	t->found_cb(t->arg, found->n > 0 ? &target : NULL, found->why);
}

void
topology_init(struct topology *t, struct loop *loop,
    const struct address *address,
    void (*found_cb)(void *arg, const struct target *, const char *why),
    void *arg)
{
	memset(t, 0, sizeof(*t));
	t->address = address;
	t->found_cb = found_cb;
	t->arg = arg;
	resolver_init(&t->resolver, loop, looked_up_cb, t);
}

void
topology_release(struct topology *t)
{
	topology_cancel(t);
	resolver_cancel(&t->resolver);
	free(t->hosts);
	t->hosts = NULL;
	t->nips = 0;
}

int
topology_resolve(struct topology *t, char why[RESOLVE_WHY])
{
	struct resolved found;

	t->hosts = calloc((size_t)t->address->nat, sizeof(*t->hosts));
	if (t->hosts == NULL) {
		snprintf(why, RESOLVE_WHY, "%s", strerror(errno));
		return -1;
	}
	for (int i = 0; i < t->address->nat; i++) {
		resolve_now(t->address->at[i].host, &found);
		t->hosts[i].looked_ms = clock_now_ms();
		keep(t, i, &found);
		if (found.n == 0)
			snprintf(why, RESOLVE_WHY, "%s", found.why);
	}
	/* The next address is the first one. */
	t->host = t->address->nat - 1;
	t->ip = RESOLVE_IPS;
	return t->nips > 0 ? 0 : -1;
}

static int
look_up(struct topology *t, const char *host)
{
	if (resolver_start(&t->resolver, host) == -1)
		return -1;
	snprintf(t->looking, sizeof(t->looking), "%s", host);
	return 0;
}

/* Looks up a host again, in the background. */
static void
refresh(struct topology *t, int i)
{
	const char *name = t->address->at[i].host;
	int64_t now = clock_now_ms();

	if (t->resolver.lookup != NULL || resolve_is_address(name) ||
	    now - t->hosts[i].looked_ms < LOOK_AGAIN_MS)
		return;
	t->hosts[i].looked_ms = now;
	(void)look_up(t, name); /* if it fails, the next call tries again */
}

int
topology_next(struct topology *t, struct target *target, char why[RESOLVE_WHY])
{
	const struct address *a = t->address;

	if (t->hosts == NULL) {
		snprintf(why, RESOLVE_WHY, "%s", strerror(ENOMEM));
		return -1;
	}
	for (int i = 0; i < a->nat; i++)
		refresh(t, (t->host + i) % a->nat);
	if (t->nips == 0) {
		snprintf(why, RESOLVE_WHY, "%s", t->hosts[0].found.why);
		return -1;
	}
	t->ip++;
	while (t->ip >= t->hosts[t->host].found.n) {
		t->host = (t->host + 1) % a->nat;
		t->ip = 0;
	}
	set_target(target, &a->at[t->host], t->hosts[t->host].found.ips[t->ip]);
	return 0;
}

int
topology_redirect(
    struct topology *t, const struct endpoint *to, struct target *target)
{
	if (strcmp(t->redirected.host, to->host) != 0)
		t->turn = 0;
	t->redirected = *to;
	if (resolve_is_address(to->host)) {
		set_target(target, to, to->host);
		return 1;
	}
	/* A lookup that outlasts one attempt serves the next one as well. */
	if (t->resolver.lookup == NULL || strcmp(t->looking, to->host) != 0) {
		resolver_cancel(&t->resolver);
		if (look_up(t, to->host) == -1)
			return -1;
	}
	t->awaited = true;
	return 0;
}

void
topology_cancel(struct topology *t)
{
	t->awaited = false;
}

int
topology_moved(
    const char *text, const char *sender, struct endpoint *to, bool *asking)
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
