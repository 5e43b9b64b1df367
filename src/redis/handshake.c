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
send_auth(struct conn *n)
{
	const char *auth[3] = { "AUTH" };
	int argc = 1;

	if (n->address.user[0] != '\0')
		auth[argc++] = n->address.user;
	auth[argc++] = n->address.password;
	conn_send(n, TAG_AUTH, argc, auth);
}

/* Sentinels are asked without a password, unless they want one. */
bool
greet_next(struct conn *n)
{
	const char *const master[] = { "SENTINEL", "GET-MASTER-ADDR-BY-NAME",
		n->address.master };
	const char *const role[] = { "INFO", "replication" };
	const char *const info[] = { "INFO", "server" };
	const char *select[2] = { "SELECT" };
	char db[16];

	n->state = CONN_HANDSHAKE;
	if (n->at_sentinel) {
		conn_send(n, TAG_MASTER, 3, master);
		return false;
	}
	if (n->greeting == GREET_AUTH) {
		n->greeting = GREET_SELECT;
		if (n->address.password[0] != '\0') {
			send_auth(n);
			return false;
		}
	}
	if (n->greeting == GREET_SELECT) {
		n->greeting = GREET_ROLE;
		if (n->address.db != 0) {
			snprintf(db, sizeof(db), "%d", n->address.db);
			select[1] = db;
			conn_send(n, TAG_SELECT, 2, select);
			return false;
		}
	}
	if (n->greeting == GREET_ROLE) {
		n->greeting = GREET_DONE;
		if (n->address.kind == ADDRESS_SENTINEL) {
			conn_send(n, TAG_ROLE, 2, role);
			return false;
		}
	}
	n->state = CONN_READY;
	/* Ahead of the first request, so its answer is there before. */
	if (n->ask_info)
		conn_send(n, TAG_INFO, 2, info);
	return true;
}

/* AUTH or SELECT was answered. */
static bool
greeted(struct conn *n, const struct reply *a)
{
	if (a->kind == REPLY_ERROR || a->kind == REPLY_DENIED)
		conn_abort(n, a->kind, a->text);
	return a->kind == REPLY_OK;
}

/* A Sentinel has said who is the master, or why not. */
static void
master_named(struct conn *n, const struct reply *a)
{
	const char *host = reply_string(a, 0, NULL);
	const char *port = reply_string(a, 1, NULL);

	if (a->kind == REPLY_DENIED && !n->authenticated &&
	    n->address.password[0] != '\0') {
		n->authenticated = true;
		send_auth(n);
	} else if (a->kind == REPLY_OK && host != NULL && port != NULL &&
	    host[0] != '\0' && strlen(host) < sizeof(n->sent_on.host) &&
	    address_port(port) != -1) {
		snprintf(n->sent_on.host, sizeof(n->sent_on.host), "%s", host);
		n->sent_on.port = address_port(port);
		n->hop = true;
	} else if (a->kind == REPLY_OK && host != NULL)
		conn_abort(n, REPLY_ERROR,
		    "the Sentinel's reply is malformed: it has no address");
	else if (a->kind == REPLY_OK)
		conn_abort(n, REPLY_ERROR,
		    "the Sentinel knows no master of that name");
	else if (a->kind != REPLY_LOST)
		conn_abort(n, a->kind, a->text);
}

/* A Sentinel's news may be old. */
static bool
role_told(struct conn *n, const struct reply *a)
{
	const char *text = reply_text(a);
	char role[16];

	if (a->kind == REPLY_OK && text != NULL &&
	    info_field(text, "role", role, sizeof(role)) &&
	    strcmp(role, "master") != 0) {
		conn_abort(n, REPLY_ERROR,
		    "the Sentinel names a master that is a replica");
		return false;
	}
	return a->kind != REPLY_LOST;
}

/* It has told who it is, and for how many whole seconds it has been up. */
static void
informed(struct conn *n, const struct reply *a)
{
	const char *text = reply_text(a);
	int64_t uptime_s;

	if (a->kind != REPLY_OK) {
		snprintf(n->info_error, sizeof(n->info_error), "%s", a->text);
		return;
	}
	uptime_s = text == NULL ? -1 : info_uptime_s(text);
	if (uptime_s < 0) {
		snprintf(n->info_error, sizeof(n->info_error),
		    "it does not say how long it has been up");
		return;
	}
	n->born_ms = clock_now_ms() - uptime_s * 1000;
	info_field(text, "run_id", n->run_id, sizeof(n->run_id));
}

bool
greet_answered(struct conn *n, const struct reply *a)
{
	switch (a->tag) {
	case TAG_MASTER:
		master_named(n, a);
		return false;
	case TAG_INFO:
		informed(n, a);
		return false;
	case TAG_ROLE:
		return role_told(n, a);
	default:
		return greeted(n, a);
	}
}
