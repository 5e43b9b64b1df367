/*
 * Any replies to a handshake: it ends, only AUTH carries the password, a
 * Sentinel gets no request but the one for the master, and no other request may
 * be sent before AUTH and SELECT have succeeded.
 */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "../../src/redis/handshake.c"
#include "base/secret.h"
#include "redis/error.h"

#define SECRET   "s3cret"
#define NOW_MS   INT64_C(1000000)
#define REQUESTS 6 /* of a handshake, at most */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const urls[] = { "redis://h", "redis://me:" SECRET "@h/3",
	"redis://:" SECRET "@h", "redis://h/1",
	"redis+sentinel://:" SECRET "@h/mymaster/2",
	"redis+sentinel://h/mymaster", "redis+cluster://me:" SECRET "@h" };

static void
insist(bool claim)
{
	if (!claim)
		abort();
}

/* The next reply that the reader has; anything but a reply loses it. */
static redisReply *
next_reply(redisReader *reader)
{
	void *value = NULL;

	if (redisReaderGetReply(reader, &value) != REDIS_OK)
		return NULL;
	return value;
}

static void
judge_request(const struct handshake_request *r, bool at_sentinel)
{
	insist(r->argc >= 2 && r->argc <= 3);
	insist(r->tag < 0);
	for (int i = 0; i < r->argc; i++)
		insist((strstr(r->argv[i], SECRET) != NULL) ==
		    (r->tag == HANDSHAKE_AUTH && i == r->argc - 1));
	if (at_sentinel)
		insist(r->tag == HANDSHAKE_AUTH || r->tag == HANDSHAKE_MASTER);
}

/* Which of AUTH and SELECT have succeeded is in *done, by their tags. */
static void
judge_state(const struct handshake *h, bool at_sentinel, const bool *done)
{
	const struct address *a = h->address;

	switch (h->state) {
	case HANDSHAKE_RUNNING:
		break;
	case HANDSHAKE_DONE:
		insist(!at_sentinel);
		insist(a->password == NULL || done[-HANDSHAKE_AUTH]);
		insist(a->db == 0 || done[-HANDSHAKE_SELECT]);
		break;
	case HANDSHAKE_REDIRECTED:
		insist(at_sentinel);
		insist(h->master.host[0] != '\0');
		insist(h->master.port > 0 && h->master.port < 65536);
		break;
	case HANDSHAKE_FAILED:
		insist(h->why != NULL && h->why[strlen(h->why)] == '\0');
		insist(h->failure == REPLY_ERROR || h->failure == REPLY_DENIED);
		break;
	}
}

static void
run(struct handshake *h, bool at_sentinel, redisReader *reader)
{
	bool done[-HANDSHAKE_AUTH + 1] = { false };
	struct handshake_request request;
	redisReply *value;

	for (int n = 0; handshake_next(h, &request); n++) {
		struct reply reply = { .tag = request.tag };
		enum handshake_state state;

		insist(n < REQUESTS);
		judge_request(&request, at_sentinel);
		judge_state(h, at_sentinel, done);
		if ((value = next_reply(reader)) == NULL)
			return;
		if (value->type == REDIS_REPLY_ERROR) {
			reply.kind = error_kind(value->str);
			reply.text = value->str;
		} else
			reply.value = value;
		if (reply.kind == REPLY_OK)
			done[-request.tag] = true;
		state = handshake_reply(h, &reply, NOW_MS);
		insist(state == h->state);
		judge_state(h, at_sentinel, done);
		freeReplyObject(value);
		if (state != HANDSHAKE_RUNNING)
			return;
	}
	insist(h->state == HANDSHAKE_DONE);
	judge_state(h, at_sentinel, done);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t nurls = sizeof(urls) / sizeof(urls[0]);
	redisReader *reader = redisReaderCreate();
	struct server_info info;
	struct handshake h;
	struct address a;
	bool at_sentinel;

	if (reader == NULL || size == 0 ||
	    redisReaderFeed(reader, (const char *)data + 1, size - 1) !=
		REDIS_OK) {
		redisReaderFree(reader);
		return 0;
	}
	insist(address_parse(&a, urls[data[0] % nurls]) == NULL);
	at_sentinel = a.kind == ADDRESS_SENTINEL && data[0] & 64;
	memset(&info, 0x55, sizeof(info));
	handshake_init(&h, &a, at_sentinel, data[0] & 128 ? &info : NULL);
	handshake_aim(&h, "h", 6379);
	insist(!at_sentinel || h.password == NULL);
	if (at_sentinel && data[0] & 32) {
		a.sentinel_password = SECRET;
		handshake_aim(&h, "h", 6379);
	}
	run(&h, at_sentinel, reader);
	insist(!(data[0] & 128) || info.born_ms <= NOW_MS);
	secret_release();
	redisReaderFree(reader);
	return 0;
}
