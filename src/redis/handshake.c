/*
 * Each request waits for the reply to the one before it, and every request that
 * writes waits for the handshake.  Otherwise it could run as the default user,
 * in database 0, or on a replica.
 */
#include <stdio.h>
#include <string.h>

#include "redis/error.h"
#include "redis/handshake.h"
#include "redis/passwords.h"

void
handshake_init(struct handshake *h, const struct address *address,
    bool at_sentinel, struct server_info *info)
{
	memset(h, 0, sizeof(*h));
	h->address = address;
	h->at_sentinel = at_sentinel;
	h->info = info;
	h->step = HANDSHAKE_AUTH;
	if (info != NULL)
		memset(info, 0, sizeof(*info));
}

void
handshake_aim(struct handshake *h, const char *host, int port)
{
	const struct address *a = h->address;

	h->password = NULL;
	if (a->lines != NULL && (h->at_sentinel || a->kind == ADDRESS_CLUSTER))
		h->password = passwords_find(a->lines, host, port);
	if (h->password == NULL)
		h->password =
		    h->at_sentinel ? a->sentinel_password : a->password;
}

const char *
handshake_why_withheld(const struct handshake *h)
{
	const struct address *a = h->address;

	if (!h->at_sentinel)
		return a->withheld;
	return a->sentinel_withheld != NULL ?
	    a->sentinel_withheld :
	    "a Sentinel gets only sentinel-password or the line of its host in "
	    "the password file";
}

/* Whether this connection needs the next step. */
static bool
needed(const struct handshake *h)
{
	const struct address *a = h->address;

	switch (h->step) {
	case HANDSHAKE_AUTH:
		/* Most Sentinels have no password, and refuse one. */
		return h->password != NULL &&
		    (!h->at_sentinel || h->sentinel_denied);
	case HANDSHAKE_SELECT:
		return !h->at_sentinel && a->db != 0;
	case HANDSHAKE_ROLE:
		return !h->at_sentinel && a->kind == ADDRESS_SENTINEL;
	case HANDSHAKE_MASTER:
		return h->at_sentinel;
	case HANDSHAKE_INFO:
		return !h->at_sentinel && h->info != NULL;
	case HANDSHAKE_END:
		break;
	}
	return true;
}

static void
add_word(struct handshake_request *r, const char *word)
{
	r->argv[r->argc++] = word;
}

bool
handshake_next(struct handshake *h, struct handshake_request *r)
{
	const struct address *a = h->address;

	while (!needed(h))
		h->step++;
	*r = (struct handshake_request){ .tag = h->step };
	switch (h->step) {
	case HANDSHAKE_AUTH:
		add_word(r, "AUTH");
		/* The user of the URL is the master's. */
		if (a->user[0] != '\0' && !h->at_sentinel)
			add_word(r, a->user);
		add_word(r, h->password);
		break;
	case HANDSHAKE_SELECT:
		snprintf(r->db, sizeof(r->db), "%d", a->db);
		add_word(r, "SELECT");
		add_word(r, r->db);
		break;
	case HANDSHAKE_ROLE:
		add_word(r, "INFO");
		add_word(r, "replication");
		break;
	case HANDSHAKE_MASTER:
		add_word(r, "SENTINEL");
		add_word(r, "GET-MASTER-ADDR-BY-NAME");
		add_word(r, a->master);
		break;
	case HANDSHAKE_INFO:
		add_word(r, "INFO");
		add_word(r, "server");
		h->state = HANDSHAKE_DONE;
		break;
	case HANDSHAKE_END:
		h->state = HANDSHAKE_DONE;
		return false;
	}
	h->step++;
	return true;
}

static void
fail(struct handshake *h, enum reply_kind kind, const char *why)
{
	h->state = HANDSHAKE_FAILED;
	h->failure = kind;
	h->why = why;
}

/* Takes the master's address from a Sentinel, if it knows one. */
static void
master_reply(struct handshake *h, const struct reply *reply)
{
	const char *host = reply_string(reply, 0, NULL);
	const char *port = reply_string(reply, 1, NULL);

	if (reply->kind == REPLY_DENIED && !h->sentinel_denied &&
	    h->password != NULL) {
		h->sentinel_denied = true;
		h->step = HANDSHAKE_AUTH;
	} else if (reply->kind != REPLY_OK) {
		fail(h, reply->kind, reply->text);
	} else if (host == NULL) {
		fail(h, REPLY_ERROR, "the Sentinel has no master of that name");
	} else if (port == NULL || host[0] == '\0' ||
	    strlen(host) >= sizeof(h->master.host) ||
	    address_port(port) == -1) {
		fail(h, REPLY_ERROR,
		    "malformed reply from the Sentinel: no address");
	} else {
		snprintf(h->master.host, sizeof(h->master.host), "%s", host);
		h->master.port = address_port(port);
		h->state = HANDSHAKE_REDIRECTED;
	}
}

/*
 * Checks the role, since a Sentinel's view may be old.  A server that hides its
 * role counts as the master.
 */
static void
role_reply(struct handshake *h, const struct reply *reply)
{
	const char *text = reply_text(reply);
	char role[16];

	if (reply->kind == REPLY_OK && text != NULL &&
	    info_field(text, "role", role, sizeof(role)) &&
	    strcmp(role, "master") != 0)
		fail(h, REPLY_ERROR,
		    "the Sentinel names a replica as the master");
}

/* The server reports its uptime in whole seconds. */
static void
info_reply(struct server_info *info, const struct reply *reply, int64_t now_ms)
{
	const char *text = reply_text(reply);
	int64_t uptime_s = text == NULL ? -1 : info_uptime_s(text);

	if (reply->kind != REPLY_OK) {
		error_copy(info->error, sizeof(info->error), reply->text);
	} else if (uptime_s < 0) {
		snprintf(info->error, sizeof(info->error),
		    "the server does not report its uptime");
	} else {
		info->born_ms = now_ms - uptime_s * 1000;
		info_run_id(text, info->run_id);
	}
}

enum handshake_state
handshake_reply(struct handshake *h, const struct reply *reply, int64_t now_ms)
{
	switch ((enum handshake_step)reply->tag) {
	case HANDSHAKE_AUTH:
	case HANDSHAKE_SELECT:
		if (reply->kind != REPLY_OK)
			fail(h, reply->kind, reply->text);
		break;
	case HANDSHAKE_ROLE:
		role_reply(h, reply);
		break;
	case HANDSHAKE_MASTER:
		master_reply(h, reply);
		break;
	case HANDSHAKE_INFO:
		info_reply(h->info, reply, now_ms);
		break;
	case HANDSHAKE_END:
		break;
	}
	return h->state;
}
