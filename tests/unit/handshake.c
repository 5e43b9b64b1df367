/*
 * The first requests on a connection.  A request sent before the end of the
 * handshake would run as the wrong user, in the wrong database, or on a
 * replica.  A password in the wrong request could be read by others.
 */
#include <hiredis/hiredis.h>

#include "../../src/redis/handshake.c"
#include "tap.h"

static struct {
	struct address address;
	struct server_info info;
	struct handshake handshake;
	struct handshake_request request;
} world;

/* Begins the handshake of a connection at this URL. */
static void
begin_at(const char *url, bool at_sentinel, bool with_info)
{
	const char *wrong = address_parse(&world.address, url);

	if (wrong != NULL)
		tap_fail("%s %s", url, wrong);
	memset(&world.info, 0x55, sizeof(world.info));
	memset(&world.handshake, 0x55, sizeof(world.handshake));
	handshake_init(&world.handshake, &world.address, at_sentinel,
	    with_info ? &world.info : NULL);
	handshake_aim(&world.handshake, "h", 6379);
}

/* The words of the next request; "" if there is none. */
static const char *
next(void)
{
	static char text[256];
	struct handshake_request *r = &world.request;

	text[0] = '\0';
	if (!handshake_next(&world.handshake, r))
		return text;
	for (int i = 0; i < r->argc; i++) {
		strcat(text, i > 0 ? " " : "");
		strcat(text, r->argv[i]);
	}
	return text;
}

static enum handshake_state
take(enum reply_kind kind, const char *error, const redisReply *value)
{
	const struct reply reply = { .kind = kind,
		.tag = world.request.tag,
		.text = error,
		.value = value };

	return handshake_reply(&world.handshake, &reply, 1000000);
}

static enum handshake_state
take_ok(void)
{
	char text[] = "OK";
	redisReply ok = { .type = REDIS_REPLY_STATUS, .str = text, .len = 2 };

	return take(REPLY_OK, NULL, &ok);
}

static enum handshake_state
take_text(const char *text)
{
	redisReply string = { .type = REDIS_REPLY_STRING,
		.str = (char *)(uintptr_t)text,
		.len = strlen(text) };

	return take(REPLY_OK, NULL, &string);
}

/* A Sentinel's reply; a word that is NULL is no string. */
static enum handshake_state
take_words(size_t n, const char *first, const char *second)
{
	const char *words[] = { first, second };
	redisReply strings[2] = { 0 };
	redisReply *elements[] = { &strings[0], &strings[1] };
	redisReply array = {
		.type = REDIS_REPLY_ARRAY, .elements = n, .element = elements
	};

	for (size_t i = 0; i < 2; i++) {
		strings[i].type =
		    words[i] != NULL ? REDIS_REPLY_STRING : REDIS_REPLY_NIL;
		strings[i].str = (char *)(uintptr_t)words[i];
		strings[i].len = words[i] != NULL ? strlen(words[i]) : 0;
	}
	return take(REPLY_OK, NULL, &array);
}

static void
failed(enum handshake_state state, enum reply_kind kind, const char *why)
{
	SAME_INT(state, HANDSHAKE_FAILED);
	SAME_INT(world.handshake.failure, kind);
	SAME_TEXT(world.handshake.why, why);
}

static void
nothing_needed(void)
{
	begin_at("redis://h", false, false);
	SAME_INT(world.handshake.state, HANDSHAKE_RUNNING);
	SAME_TEXT(next(), "");
	SAME_INT(world.handshake.state, HANDSHAKE_DONE);
}

static void
in_order(void)
{
	begin_at("redis://me:secret@h/3", false, true);
	SAME_TEXT(next(), "AUTH me secret");
	SAME_INT(world.handshake.state, HANDSHAKE_RUNNING);
	SAME_INT(take_ok(), HANDSHAKE_RUNNING);
	SAME_TEXT(next(), "SELECT 3");
	SAME_INT(world.handshake.state, HANDSHAKE_RUNNING);
	SAME_INT(take_ok(), HANDSHAKE_RUNNING);
	SAME_TEXT(next(), "INFO server");
	SAME_INT(world.handshake.state, HANDSHAKE_DONE);

	begin_at("redis://:secret@h", false, false);
	SAME_TEXT(next(), "AUTH secret");
	SAME_INT(take_ok(), HANDSHAKE_RUNNING);
	SAME_TEXT(next(), "");
	SAME_INT(world.handshake.state, HANDSHAKE_DONE);
}

static void
refused(void)
{
	begin_at("redis://me:secret@h/3", false, true);
	SAME_TEXT(next(), "AUTH me secret");
	failed(take(REPLY_DENIED, "WRONGPASS", NULL), REPLY_DENIED,
	    "WRONGPASS");

	begin_at("redis://me:secret@h/3", false, true);
	next();
	take_ok();
	SAME_TEXT(next(), "SELECT 3");
	failed(take(REPLY_ERROR, "ERR DB index is out of range", NULL),
	    REPLY_ERROR, "ERR DB index is out of range");
}

static void
sentinel_names_master(void)
{
	begin_at("redis+sentinel://:secret@h/mymaster/3", true, true);
	SAME_TEXT(next(), "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster");
	SAME_INT(take_words(2, "10.0.0.2", "6380"), HANDSHAKE_REDIRECTED);
	SAME_TEXT(world.handshake.master.host, "10.0.0.2");
	SAME_INT(world.handshake.master.port, 6380);
}

static void
sentinel_password(void)
{
	begin_at("redis+sentinel://me:secret@h/mymaster/3", true, true);
	world.address.sentinel_password = "its own";
	handshake_aim(&world.handshake, "h", 26379);
	next();
	SAME_INT(take(REPLY_DENIED, "NOAUTH wanted", NULL), HANDSHAKE_RUNNING);
	SAME_TEXT(next(), "AUTH its own");
	SAME_INT(take_ok(), HANDSHAKE_RUNNING);
	SAME_TEXT(next(), "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster");
	failed(take(REPLY_DENIED, "NOPERM no", NULL), REPLY_DENIED,
	    "NOPERM no");

	/* The master's password is not for it. */
	begin_at("redis+sentinel://:secret@h/mymaster", true, false);
	next();
	failed(take(REPLY_DENIED, "NOAUTH wanted", NULL), REPLY_DENIED,
	    "NOAUTH wanted");
}

static void
sentinel_errors(void)
{
	static const char malformed[] =
	    "malformed reply from the Sentinel: no address";
	static const struct {
		size_t n;
		const char *host, *port;
	} rows[] = { { 1, "h", NULL }, { 2, "h", NULL }, { 2, "", "1" },
		{ 2, "h", "" }, { 2, "h", "0" }, { 2, "h", "65536" },
		{ 2, "h", "1x" }, { 2, "h", "-1" } };
	char host[ADDRESS_HOST + 1];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin_at("redis+sentinel://h/mymaster", true, false);
		next();
		failed(take_words(rows[i].n, rows[i].host, rows[i].port),
		    REPLY_ERROR, malformed);
	}
	for (int spare = 0; spare < 2; spare++) {
		memset(host, 'h', sizeof(host));
		host[ADDRESS_HOST - spare] = '\0';
		begin_at("redis+sentinel://h/mymaster", true, false);
		next();
		if (spare == 0)
			failed(take_words(2, host, "1"), REPLY_ERROR,
			    malformed);
		else
			SAME_INT(take_words(2, host, "1"),
			    HANDSHAKE_REDIRECTED);
	}
	begin_at("redis+sentinel://h/mymaster", true, false);
	next();
	failed(take_words(0, NULL, NULL), REPLY_ERROR,
	    "the Sentinel has no master of that name");
	begin_at("redis+sentinel://h/mymaster", true, false);
	next();
	failed(take(REPLY_ERROR, "ERR unknown", NULL), REPLY_ERROR,
	    "ERR unknown");
}

static void
role(void)
{
	begin_at("redis+sentinel://:secret@h/mymaster/3", false, true);
	SAME_TEXT(next(), "AUTH secret");
	take_ok();
	SAME_TEXT(next(), "SELECT 3");
	take_ok();
	SAME_TEXT(next(), "INFO replication");
	SAME_INT(world.handshake.state, HANDSHAKE_RUNNING);
	SAME_INT(take_text("# R\r\nrole:master\r\n"), HANDSHAKE_RUNNING);
	SAME_TEXT(next(), "INFO server");

	begin_at("redis+sentinel://h/mymaster", false, false);
	SAME_TEXT(next(), "INFO replication");
	failed(take_text("# R\r\nrole:slave\r\nmaster_host:x\r\n"), REPLY_ERROR,
	    "the Sentinel names a replica as the master");

	begin_at("redis+sentinel://h/mymaster", false, false);
	next();
	SAME_INT(take(REPLY_DENIED, "NOPERM info", NULL), HANDSHAKE_RUNNING);
	SAME_TEXT(next(), "");
	SAME_INT(world.handshake.state, HANDSHAKE_DONE);
}

/* Its reply comes after other requests have been sent. */
static void
info(void)
{
	begin_at("redis://h", false, true);
	SAME_INT(world.info.born_ms, 0);
	SAME_TEXT(world.info.run_id, "");
	SAME_TEXT(world.info.error, "");
	SAME_TEXT(next(), "INFO server");
	SAME_INT(take_text("uptime_in_seconds:60\r\nrun_id:abc\r\n"),
	    HANDSHAKE_DONE);
	SAME_INT(world.info.born_ms, 1000000 - 60000);
	SAME_TEXT(world.info.run_id, "abc");
	SAME_TEXT(world.info.error, "");

	begin_at("redis://h", false, true);
	next();
	SAME_INT(take_text("uptime_in_seconds:60\r\nrun_id:0000\r\n"),
	    HANDSHAKE_DONE);
	SAME_INT(world.info.born_ms, 1000000 - 60000);
	SAME_TEXT(world.info.run_id, "");

	begin_at("redis://h", false, true);
	next();
	SAME_INT(take_text("run_id:abc\r\n"), HANDSHAKE_DONE);
	SAME_INT(world.info.born_ms, 0);
	SAME_TEXT(world.info.run_id, "");
	SAME_TEXT(world.info.error, "the server does not report its uptime");

	begin_at("redis://h", false, true);
	next();
	SAME_INT(take(REPLY_DENIED, "NOPERM info", NULL), HANDSHAKE_DONE);
	SAME_INT(world.info.born_ms, 0);
	SAME_TEXT(world.info.error, "NOPERM info");
}

/* The password for that server, in its AUTH; "" if it gets none. */
static const char *
password_at(const char *host, int port)
{
	handshake_aim(&world.handshake, host, port);
	return world.handshake.password == NULL ? "" : world.handshake.password;
}

static void
own_password(void)
{
	static char node[] = "node", watcher[] = "watcher";
	static struct password of[] = {
		{ .host = node, .port = 7001, .word = "the node's" },
		{ .host = watcher, .word = "the watcher's" }
	};
	static const struct passwords lines = { .of = of, .n = 2 };

	begin_at("redis+cluster://:shared@h", false, false);
	world.address.lines = &lines;
	SAME_TEXT(password_at("node", 7001), "the node's");
	SAME_TEXT(password_at("node", 7002), "shared");
	begin_at("redis+sentinel://:shared@h/mymaster", true, false);
	world.address.lines = &lines;
	SAME_TEXT(password_at("watcher", 26379), "the watcher's");
	SAME_TEXT(password_at("another", 26379), "");
	CHECK(strstr(handshake_why_withheld(&world.handshake), "Sentinel") !=
	    NULL);
	begin_at("redis+sentinel://:shared@h/mymaster", false, false);
	world.address.lines = &lines;
	SAME_TEXT(password_at("node", 7001), "shared");
	CHECK(handshake_why_withheld(&world.handshake) == NULL);
}

static const struct tap_test tests[] = {
	{ "a server that needs nothing may be sent requests at once",
	    nothing_needed },
	{ "AUTH comes before SELECT, and that before INFO", in_order },
	{ "a server that refuses AUTH or SELECT gets no other request",
	    refused },
	{ "a Sentinel is asked for the master alone, without the password",
	    sentinel_names_master },
	{ "a Sentinel that requires a password gets its own, once",
	    sentinel_password },
	{ "a Sentinel gets only a password of its own, a node its own or the URL's",
	    own_password },
	{ "a Sentinel without the master's address is of no use",
	    sentinel_errors },
	{ "a replica is no master, whatever the Sentinel says", role },
	{ "INFO tells which process the server is, or why that is unknown",
	    info },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
