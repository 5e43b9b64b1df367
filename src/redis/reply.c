/*
 * Limits hiredis's reply parser.  An endless reply would take all memory, and
 * one without a request is nonsense.  Our functions run before hiredis's own
 * reply functions and stop both during parsing.
 */
#include <hiredis/hiredis.h>

#include "redis/pending.h"
#include "redis/reply.h"

#if HIREDIS_MAJOR < 1
typedef int elements_t;
#else
typedef size_t elements_t;
#endif

/* The types of RESP3, which hiredis parses since 1.0. */
#ifdef REDIS_REPLY_PUSH
#define TYPE_PUSH     REDIS_REPLY_PUSH
#define TYPE_VERBATIM REDIS_REPLY_VERB
#else
#define TYPE_PUSH     (-1)
#define TYPE_VERBATIM REDIS_REPLY_STRING
#endif

static redisReplyObjectFunctions unlimited; /* hiredis's own */
static redisReplyObjectFunctions limited;

static const char *
too_long(const struct reply_budget *b)
{
	return b->is_push ? "a push is too long" : "the reply is too long";
}

/*
 * Whether something of that type may begin.  An error without a request ("max
 * number of clients") is allowed.
 */
static bool
may_begin(struct reply_budget *b, int type)
{
	b->is_push = type == TYPE_PUSH && b->takes_pushes;
	b->left = b->is_push ? PUSH_MAX : REPLY_MAX;
	if (b->is_push || type == REDIS_REPLY_ERROR ||
	    (!pending_empty(b->requests) && type != TYPE_PUSH))
		return true;
	b->refusal = "a reply without a request";
	return false;
}

/* Whether the reply that is being parsed may take cost more bytes. */
static bool
affordable(const redisReadTask *task, size_t cost)
{
	struct reply_budget *b = task->privdata;

	if (task->parent == NULL && !may_begin(b, task->type))
		return false;
	if (b->left < cost) {
		b->refusal = too_long(b);
		return false;
	}
	b->left -= cost;
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
	const size_t n = (size_t)elements, most = REPLY_MAX;

	if (!affordable(task,
		sizeof(redisReply) +
		    (n < most ? n : most) * sizeof(redisReply *)))
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
reply_limit(struct reply_budget *b, const struct pending *requests,
    redisReader *reader)
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
	*b = (struct reply_budget){ .requests = requests };
	reader->privdata = b;
}

bool
reply_was_push(struct reply_budget *b)
{
	bool was_push = b->is_push;

	b->is_push = false;
	return was_push;
}

const char *
reply_excess(const struct reply_budget *b, size_t unparsed)
{
	return unparsed > (b->is_push ? PUSH_MAX : REPLY_MAX) ? too_long(b) :
								NULL;
}

size_t
reply_cost(const struct reply_budget *b)
{
	return REPLY_MAX - b->left;
}

static const redisReply *
element(const struct reply *a, size_t i)
{
	const redisReply *r = a->value;

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
	const redisReply *r = a->value;

	return r != NULL && r->type == REDIS_REPLY_ARRAY ? r->elements : 0;
}

const char *
reply_text(const struct reply *a)
{
	const redisReply *r = a->value;

	return r != NULL &&
		(r->type == REDIS_REPLY_STRING || r->type == TYPE_VERBATIM) ?
	    r->str :
	    NULL;
}

struct reply
reply_sub(const struct reply *a, size_t i)
{
	struct reply sub = *a;

	sub.value = element(a, i);
	return sub;
}

long long
reply_number(const struct reply *a)
{
	const redisReply *r = a->value;

	return r != NULL && r->type == REDIS_REPLY_INTEGER ? r->integer : 0;
}
