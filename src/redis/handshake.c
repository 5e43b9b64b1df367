/*
 * What a connection begins with.  Each step is answered before the next is
 * sent, and all before anything that writes: that would run as the default
 * user, in database 0, or on a replica.  Only INFO server, which tells how old
 * the server is, goes along with the first request.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "redis/handshake.h"
#include "redis/info.h"

static void
send_auth(struct conn *c)
{
	const char *auth[3] = { "AUTH" };
	int argc = 1;

	if (c->address.user[0] != '\0')
		auth[argc++] = c->address.user;
	auth[argc++] = c->address.password;
	conn_send(c, TAG_AUTH, argc, auth);
}

/* Sentinels are asked without a password, unless they want one. */
bool
greet_next(struct conn *c)
{
	const char *const master[] = { "SENTINEL", "GET-MASTER-ADDR-BY-NAME",
		c->address.master };
	const char *const role[] = { "INFO", "replication" };
	const char *const info[] = { "INFO", "server" };
	const char *select[2] = { "SELECT" };
	char db[16];

	c->state = CONN_HANDSHAKE;
	if (c->at_sentinel) {
		conn_send(c, TAG_MASTER, 3, master);
		return false;
	}
	if (c->greeting == GREET_AUTH) {
		c->greeting = GREET_SELECT;
		if (c->address.password[0] != '\0') {
			send_auth(c);
			return false;
		}
	}
	if (c->greeting == GREET_SELECT) {
		c->greeting = GREET_ROLE;
		if (c->address.db != 0) {
			snprintf(db, sizeof(db), "%d", c->address.db);
			select[1] = db;
			conn_send(c, TAG_SELECT, 2, select);
			return false;
		}
	}
	if (c->greeting == GREET_ROLE) {
		c->greeting = GREET_DONE;
		if (c->address.kind == ADDRESS_SENTINEL) {
			conn_send(c, TAG_ROLE, 2, role);
			return false;
		}
	}
	c->state = CONN_READY;
	/* Ahead of the first request, so its answer is there before. */
	if (c->ask_info)
		conn_send(c, TAG_INFO, 2, info);
	return true;
}

/* AUTH or SELECT was answered. */
static bool
greeted(struct conn *c, const struct reply *a)
{
	if (a->kind == REPLY_ERROR || a->kind == REPLY_DENIED)
		conn_abort(c, a->kind, a->text);
	return a->kind == REPLY_OK;
}

/* A Sentinel has said who is the master, or why not. */
static void
master_named(struct conn *c, const struct reply *a)
{
	const char *host = reply_string(a, 0, NULL);
	const char *port = reply_string(a, 1, NULL);

	if (a->kind == REPLY_DENIED && !c->authenticated &&
	    c->address.password[0] != '\0') {
		c->authenticated = true;
		send_auth(c);
	} else if (a->kind == REPLY_OK && host != NULL && port != NULL &&
	    host[0] != '\0' && strlen(host) < sizeof(c->sent_on.host) &&
	    address_port(port) != -1) {
		snprintf(c->sent_on.host, sizeof(c->sent_on.host), "%s", host);
		c->sent_on.port = address_port(port);
		c->hop = true;
	} else if (a->kind == REPLY_OK && host != NULL)
		conn_abort(c, REPLY_ERROR,
		    "the Sentinel's reply is malformed: it has no address");
	else if (a->kind == REPLY_OK)
		conn_abort(c, REPLY_ERROR,
		    "the Sentinel knows no master of that name");
	else if (a->kind != REPLY_LOST)
		conn_abort(c, a->kind, a->text);
}

/* A Sentinel's news may be old. */
static bool
role_told(struct conn *c, const struct reply *a)
{
	const char *text = reply_text(a);
	char role[16];

	if (a->kind == REPLY_OK && text != NULL &&
	    info_field(text, "role", role, sizeof(role)) &&
	    strcmp(role, "master") != 0) {
		conn_abort(c, REPLY_ERROR,
		    "the Sentinel names a master that is a replica");
		return false;
	}
	return a->kind != REPLY_LOST;
}

/* It has told who it is, and for how many whole seconds it has been up. */
static void
informed(struct conn *c, const struct reply *a)
{
	const char *text = reply_text(a);
	int64_t uptime_s;

	if (a->kind != REPLY_OK) {
		snprintf(c->info_error, sizeof(c->info_error), "%s", a->text);
		return;
	}
	uptime_s = text == NULL ? -1 : info_uptime_s(text);
	if (uptime_s < 0) {
		snprintf(c->info_error, sizeof(c->info_error),
		    "it does not say how long it has been up");
		return;
	}
	c->born_ms = clock_now_ms() - uptime_s * 1000;
	info_field(text, "run_id", c->run_id, sizeof(c->run_id));
}

bool
greet_answered(struct conn *c, const struct reply *a)
{
	switch (a->tag) {
	case TAG_MASTER:
		master_named(c, a);
		return false;
	case TAG_INFO:
		informed(c, a);
		return false;
	case TAG_ROLE:
		return role_told(c, a);
	default:
		return greeted(c, a);
	}
}
