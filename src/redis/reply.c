/*
 * hiredis's replies: what they may cost, what an error means, and how the rest
 * of the program reads them.
 *
 * A reply that nobody asked for is an assertion in hiredis, and one without end
 * would take all memory; both are stopped while they are parsed, by limits put
 * before hiredis's own reply functions.
 */
#include <hiredis/hiredis.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "redis/reply.h"

#if HIREDIS_MAJOR < 1
typedef int elements_t;
#else
typedef size_t elements_t;
#endif

static redisReplyObjectFunctions unlimited; /* hiredis's own */
static redisReplyObjectFunctions limited;

/* Whether cost bytes more may be spent on the reply that is being parsed. */
static bool
affordable(const redisReadTask *task, size_t cost)
{
	struct conn *c = task->privdata;

	if (task->parent == NULL) {
		/* An error out of turn ("max number of clients") is allowed. */
		if (c->head == c->tail && task->type != REDIS_REPLY_ERROR)
			return false;
		c->budget = REPLY_MAX;
	}
	if ((unsigned long long)c->budget < cost)
		return false;
	c->budget -= (long long)cost;
	return true;
}

static void *
create_string_cb(const redisReadTask *task, char *str, size_t len)
{
	if (!affordable(task, sizeof(redisReply) + len))
		return NULL;
	return unlimited.createString(task, str, len);
}

static void *
create_array_cb(const redisReadTask *task, elements_t elements)
{
	if ((size_t)elements > REPLY_MAX ||
	    !affordable(task,
		sizeof(redisReply) + (size_t)elements * sizeof(redisReply *)))
		return NULL;
	return unlimited.createArray(task, elements);
}

static void *
create_integer_cb(const redisReadTask *task, long long value)
{
	if (!affordable(task, sizeof(redisReply)))
		return NULL;
	return unlimited.createInteger(task, value);
}

static void *
create_nil_cb(const redisReadTask *task)
{
	if (!affordable(task, sizeof(redisReply)))
		return NULL;
	return unlimited.createNil(task);
}

#if HIREDIS_MAJOR >= 1
static void *
create_double_cb(const redisReadTask *task, double value, char *str, size_t len)
{
	if (!affordable(task, sizeof(redisReply) + len))
		return NULL;
	return unlimited.createDouble(task, value, str, len);
}

static void *
create_bool_cb(const redisReadTask *task, int value)
{
	if (!affordable(task, sizeof(redisReply)))
		return NULL;
	return unlimited.createBool(task, value);
}
#endif

void
reply_limit(struct conn *c, redisReader *reader)
{
	if (unlimited.createString == NULL) {
		unlimited = *reader->fn;
		limited = unlimited;
		limited.createString = create_string_cb;
		limited.createArray = create_array_cb;
		limited.createInteger = create_integer_cb;
		limited.createNil = create_nil_cb;
#if HIREDIS_MAJOR >= 1
		limited.createDouble = create_double_cb;
		limited.createBool = create_bool_cb;
#endif
	}
	reader->fn = &limited;
	reader->privdata = c;
}

bool
reply_wants_eval(const struct reply *a)
{
	if (a->kind == REPLY_DENIED)
		return strstr(a->text, "'evalsha'") != NULL;
	return a->kind == REPLY_ERROR &&
	    (strncmp(a->text, "NOSCRIPT", 8) == 0 ||
		(strncmp(a->text, "ERR unknown command", 19) == 0 &&
		    strstr(a->text, "EVALSHA") != NULL));
}

char *
conn_explain(const struct conn *c, const char *why, char buf[CONN_WHY])
{
	const char *who = c->at_sentinel        ? "Sentinel" :
	    c->address.kind == ADDRESS_SENTINEL ? "master" :
						  "node";
	const char *host = c->at.host;
	bool v6 = strchr(host, ':') != NULL;
	size_t len;

	buf[0] = '\0';
	if (c->address.kind != ADDRESS_SERVER) {
		if (c->at.port != 0)
			snprintf(buf, CONN_WHY, "%s %s%.100s%s:%d: ", who,
			    v6 ? "[" : "", host, v6 ? "]" : "", c->at.port);
		len = strlen(buf);
		if (strncmp(why, buf, len) == 0)
			len = 0;
		snprintf(buf + len, CONN_WHY - len, "%s", why);
	} else if (strncmp(why, "MOVED ", 6) == 0)
		snprintf(buf, CONN_WHY,
		    "%.150s (the URL of a cluster begins with redis+cluster://)",
		    why);
	else if (strncmp(why, "ERR unknown command ", 20) == 0 &&
	    strstr(why, "EVAL") != NULL)
		snprintf(buf, CONN_WHY,
		    "%.26s (if it is a Sentinel, its URL is "
		    "redis+sentinel://host:port/master)",
		    why);
	else
		snprintf(buf, CONN_WHY, "%s", why);
	return buf;
}

static const redisReply *
element(const struct reply *a, size_t i)
{
	const redisReply *r = a->reply;

	if (r == NULL || r->type != REDIS_REPLY_ARRAY || i >= r->elements)
		return NULL;
	return r->element[i];
}

long long
reply_int(const struct reply *a, size_t i)
{
	const redisReply *r = element(a, i);

	return r != NULL && r->type == REDIS_REPLY_INTEGER ? r->integer : 0;
}

const char *
reply_string(const struct reply *a, size_t i, size_t *len)
{
	const redisReply *r = element(a, i);

	if (r == NULL || r->type != REDIS_REPLY_STRING)
		return NULL;
	if (len != NULL)
		*len = r->len;
	return r->str;
}

size_t
reply_count(const struct reply *a)
{
	const redisReply *r = a->reply;

	return r != NULL && r->type == REDIS_REPLY_ARRAY ? r->elements : 0;
}

const char *
reply_text(const struct reply *a)
{
	const redisReply *r = a->reply;

	return r != NULL && r->type == REDIS_REPLY_STRING ? r->str : NULL;
}

struct reply
reply_sub(const struct reply *a, size_t i)
{
	struct reply sub = *a;

	sub.reply = element(a, i);
	return sub;
}

long long
reply_number(const struct reply *a)
{
	const redisReply *r = a->reply;

	return r != NULL && r->type == REDIS_REPLY_INTEGER ? r->integer : 0;
}
