/*
 * The only file that includes hiredis; written to what 0.14 and 1.x share.
 *
 * hiredis frees a connection by itself whenever it fails, so node->ac becomes
 * NULL in exactly one place, the cleanup hook, which runs before every free.
 * No connect callback is set: freeing inside one is a use-after-free in
 * 0.14.1, and a failed connect answers the first request anyway.  A reply
 * that nobody asked for is an assertion in hiredis, and one without end would
 * take all memory; both are stopped while they are parsed, by limits put
 * before hiredis's own reply functions.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "clock.h"
#include "info.h"
#include "node.h"
#include "rule.h"

#define REPLY_MAX (1024 * 1024)

/* Tags of the requests that a node makes for itself. */
enum { TAG_AUTH = -1, TAG_SELECT = -2, TAG_INFO = -3 };

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
	struct node *n = task->privdata;

	if (task->parent == NULL) {
		/* An error out of turn ("max number of clients") is allowed. */
		if (n->head == n->tail && task->type != REDIS_REPLY_ERROR)
			return false;
		n->budget = REPLY_MAX;
	}
	if ((unsigned long long)n->budget < cost)
		return false;
	n->budget -= (long long)cost;
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

static void
limit_replies(struct node *n, redisReader *reader)
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
	reader->privdata = n;
}

static void
set_why(struct node *n, enum answer_kind kind, const char *why)
{
	n->failure = kind;
	snprintf(n->why, sizeof(n->why), "%s", why);
}

/* hiredis wants to read or write: it says so here, poll() sees it. */
static void
add_read_cb(void *arg)
{
	((struct node *)arg)->watch.events |= POLLIN;
}

static void
del_read_cb(void *arg)
{
	((struct node *)arg)->watch.events &= (short)~POLLIN;
}

static void
add_write_cb(void *arg)
{
	((struct node *)arg)->watch.events |= POLLOUT;
}

static void
del_write_cb(void *arg)
{
	((struct node *)arg)->watch.events &= (short)~POLLOUT;
}

/* The connection is about to be freed, by whomever. */
static void
cleanup_cb(void *arg)
{
	struct node *n = arg;

	if (n->why[0] == '\0')
		set_why(n, ANSWER_NONE,
		    n->ac->c.errstr[0] != '\0' ? n->ac->c.errstr :
						 "the connection was closed");
	n->established = (n->ac->c.flags & REDIS_CONNECTED) != 0;
	n->ac = NULL;
	n->state = NODE_DOWN;
	n->doomed = false;
	loop_remove(n->loop, &n->watch);
}

/*
 * Readable, writable or broken.  Either half may free the connection, so ac
 * is looked at again after each.
 */
static void
socket_cb(void *arg, short revents)
{
	struct node *n = arg;

	if ((revents & POLLOUT) && n->ac != NULL)
		redisAsyncHandleWrite(n->ac);
	if ((revents & (POLLIN | POLLERR | POLLHUP)) && n->ac != NULL)
		redisAsyncHandleRead(n->ac);
	if (n->ac != NULL && n->ac->c.reader->len > REPLY_MAX) {
		set_why(n, ANSWER_NONE, "it sends a reply that is too long");
		n->doomed = true;
	}
}

void
node_init(struct node *n, struct loop *loop, const struct address *address,
    node_answer_cb *answer_cb, void *arg)
{
	memset(n, 0, sizeof(*n));
	n->address = *address;
	n->loop = loop;
	n->answer_cb = answer_cb;
	n->arg = arg;
	n->watch =
	    (struct loop_watch){ .fd = -1, .ready_cb = socket_cb, .arg = n };
	set_why(n, ANSWER_NONE, "not connected yet");
}

/* A host that is an address already needs no resolver. */
static bool
numeric(const char *host)
{
	unsigned char buf[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, buf) == 1 ||
	    inet_pton(AF_INET6, host, buf) == 1;
}

int
node_resolve(struct node *n)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list, *ai;
	const char *host = n->address.host;
	int error, count = 0;

	if (host[0] == '\0' || numeric(host)) {
		if ((n->ips = calloc(1, sizeof(*n->ips))) == NULL)
			goto fail;
		snprintf(n->ips[0], sizeof(n->ips[0]), "%.63s", host);
		n->nips = 1;
		return 0;
	}
	if ((error = getaddrinfo(host, NULL, &hints, &list)) != 0) {
		set_why(n, ANSWER_NONE,
		    error == EAI_SYSTEM ? strerror(errno) :
					  gai_strerror(error));
		return -1;
	}
	for (ai = list; ai != NULL; ai = ai->ai_next)
		count++;
	if ((n->ips = calloc((size_t)count, sizeof(*n->ips))) == NULL) {
		freeaddrinfo(list);
		goto fail;
	}
	for (ai = list; ai != NULL; ai = ai->ai_next)
		if (getnameinfo(ai->ai_addr, ai->ai_addrlen, n->ips[n->nips],
			sizeof(n->ips[0]), NULL, 0, NI_NUMERICHOST) == 0)
			n->nips++;
	freeaddrinfo(list);
	n->ip = n->nips - 1;
	return 0;
fail:
	set_why(n, ANSWER_NONE, strerror(errno));
	return -1;
}

/*
 * Which errors mean that we are refused, rather than that the server cannot.
 */
static enum answer_kind
error_kind(const char *text)
{
	static const char *const denials[] = {
		"NOAUTH",
		/* A request of more than ten words, before AUTH. */
		"ERR Protocol error: unauthenticated",
		"WRONGPASS",
		"ERR invalid password",
		"ERR AUTH",
		"ERR Client sent AUTH",
		"ERR wrong number of arguments for 'auth'",
	};

	for (size_t i = 0; i < sizeof(denials) / sizeof(denials[0]); i++)
		if (strncmp(text, denials[i], strlen(denials[i])) == 0)
			return ANSWER_DENIED;
	return rule_denies(text) ? ANSWER_DENIED : ANSWER_UNABLE;
}

static void greet(struct node *);

/* AUTH or SELECT was answered. */
static void
greeted(struct node *n, const struct answer *a)
{
	if (a->kind == ANSWER_REPLY) {
		greet(n);
	} else if (a->kind != ANSWER_NONE) {
		set_why(n, a->kind, a->text);
		n->doomed = true;
	}
}

/* It has told who it is, and for how many whole seconds it has been up. */
static void
informed(struct node *n, const struct answer *a)
{
	const char *text = answer_text(a);
	int64_t uptime_s;

	if (a->kind != ANSWER_REPLY) {
		snprintf(n->info_error, sizeof(n->info_error), "%s", a->text);
		return;
	}
	uptime_s =
	    text == NULL ? -1 : info_number(text, "uptime_in_seconds", -1);
	if (uptime_s < 0) {
		snprintf(n->info_error, sizeof(n->info_error),
		    "it does not say how long it has been up");
		return;
	}
	n->born_ms = clock_now_ms() - uptime_s * 1000;
	info_field(text, "run_id", n->run_id, sizeof(n->run_id));
}

/* Each request ends here once; reply is NULL if the connection was lost. */
static void
reply_cb(struct redisAsyncContext *ac, void *reply, void *arg)
{
	struct node *n = arg;
	const redisReply *r = reply;
	struct answer a = { .reply = r };

	a.tag = n->pending[n->head % NODE_PENDING].tag;
	a.sent_ms = n->pending[n->head++ % NODE_PENDING].sent_ms;
	if (r == NULL) {
		a.kind = ANSWER_NONE;
		a.text = n->why[0] != '\0' ? n->why : ac->c.errstr;
	} else if (r->type == REDIS_REPLY_ERROR) {
		a.kind = error_kind(r->str);
		a.text = r->str;
	} else {
		a.kind = ANSWER_REPLY;
		if (a.tag >= 0)
			n->untried = n->nips;
	}
	if (a.tag == TAG_INFO)
		informed(n, &a);
	else if (a.tag < 0)
		greeted(n, &a);
	else
		n->answer_cb(n->arg, &a);
}

static int
send_argv(struct node *n, int tag, int argc, const char *const argv[])
{
	if (n->tail - n->head == NODE_PENDING || n->ac == NULL ||
	    redisAsyncCommandArgv(n->ac, reply_cb, n, argc,
		(const char **)(uintptr_t)argv, NULL) != REDIS_OK)
		return -1;
	n->pending[n->tail % NODE_PENDING].tag = tag;
	n->pending[n->tail++ % NODE_PENDING].sent_ms = clock_now_ms();
	return 0;
}

/*
 * Sends the next of what must be answered before anything that writes is
 * sent: it would run as the default user, or in database 0.
 */
static void
greet(struct node *n)
{
	const char *auth[3] = { "AUTH" };
	const char *select[2] = { "SELECT" };
	const char *const info[2] = { "INFO", "server" };
	char db[16];
	int argc = 1;

	n->state = NODE_GREETING;
	if (n->greeting == 0) {
		n->greeting++;
		if (n->address.password[0] != '\0') {
			if (n->address.user[0] != '\0')
				auth[argc++] = n->address.user;
			auth[argc++] = n->address.password;
			send_argv(n, TAG_AUTH, argc, auth);
			return;
		}
	}
	if (n->greeting == 1) {
		n->greeting++;
		if (n->address.db != 0) {
			snprintf(db, sizeof(db), "%d", n->address.db);
			select[1] = db;
			send_argv(n, TAG_SELECT, 2, select);
			return;
		}
	}
	n->state = NODE_READY;
	/* Ahead of the first request, so its answer is there before. */
	if (n->ask_info)
		send_argv(n, TAG_INFO, 2, info);
}

static redisAsyncContext *
connect_next(struct node *n)
{
	if (n->address.path[0] != '\0')
		return redisAsyncConnectUnix(n->address.path);
	n->ip = (n->ip + 1) % n->nips;
	return redisAsyncConnect(n->ips[n->ip], n->address.port);
}

void
node_open(struct node *n)
{
	const int on = 1;
	redisAsyncContext *ac;

	if (n->address.path[0] == '\0' && n->nips == 0)
		return; /* its name is not known; why says so */
	n->why[0] = '\0';
	n->head = n->tail = 0;
	n->greeting = 0;
	n->born_ms = 0;
	n->run_id[0] = '\0';
	n->again = n->established = false;
	if (n->untried > 0)
		n->untried--;
	errno = 0;
	if ((ac = connect_next(n)) == NULL) {
		set_why(n, ANSWER_NONE, strerror(ENOMEM));
		return;
	}
	if (ac->err != 0) {
		/* A unix socket whose backlog is full. */
		n->again = errno == EAGAIN;
		set_why(n, ANSWER_NONE, ac->errstr);
		redisAsyncFree(ac);
		return;
	}
	fcntl(ac->c.fd, F_SETFD, FD_CLOEXEC);
	if (n->address.path[0] == '\0')
		setsockopt(ac->c.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	limit_replies(n, ac->c.reader);
	ac->ev.data = n;
	ac->ev.addRead = add_read_cb;
	ac->ev.delRead = del_read_cb;
	ac->ev.addWrite = add_write_cb;
	ac->ev.delWrite = del_write_cb;
	ac->ev.cleanup = cleanup_cb;
	n->ac = ac;
	n->watch.fd = ac->c.fd;
	n->watch.events = POLLIN;
	if (loop_add(n->loop, &n->watch) == -1) {
		node_close(n, strerror(errno));
		return;
	}
	greet(n);
}

bool
node_connected(const struct node *n)
{
	return n->ac != NULL && (n->ac->c.flags & REDIS_CONNECTED) != 0;
}

int64_t
node_unanswered_ms(const struct node *n)
{
	return n->ac == NULL || n->head == n->tail ?
	    CLOCK_NEVER :
	    n->pending[n->head % NODE_PENDING].sent_ms;
}

void
node_close(struct node *n, const char *why)
{
	if (n->ac == NULL)
		return;
	if (n->why[0] == '\0')
		set_why(n, ANSWER_NONE, why != NULL ? why : "closed");
	redisAsyncFree(n->ac);
}

void
node_sweep(struct node *n)
{
	if (n->doomed)
		node_close(n, NULL);
}

void
node_finish(struct node *n)
{
	char discarded[4096];

	if (!node_connected(n))
		return;
	redisAsyncHandleWrite(n->ac);
	if (n->ac == NULL)
		return;
	/* Closed with something unread, the connection would be reset. */
	while (
	    recv(n->ac->c.fd, discarded, sizeof(discarded), MSG_DONTWAIT) > 0)
		continue;
	shutdown(n->ac->c.fd, SHUT_WR);
}

void
node_release(struct node *n)
{
	node_close(n, NULL);
	free(n->ips);
	n->ips = NULL;
}

int
node_command(struct node *n, int tag, int argc, const char *const argv[])
{
	return n->state != NODE_READY ? -1 : send_argv(n, tag, argc, argv);
}

int
node_eval(struct node *n, int tag, const char *script, int nkeys, int argc,
    const char *const argv[])
{
	const char *words[3 + NODE_ARGS];
	char keys[16];

	if (argc > NODE_ARGS)
		return -1;
	snprintf(keys, sizeof(keys), "%d", nkeys);
	words[0] = "EVAL";
	words[1] = script;
	words[2] = keys;
	memcpy(words + 3, argv, (size_t)argc * sizeof(*argv));
	return node_command(n, tag, 3 + argc, words);
}

static const redisReply *
element(const struct answer *a, size_t i)
{
	const redisReply *r = a->reply;

	if (r == NULL || r->type != REDIS_REPLY_ARRAY || i >= r->elements)
		return NULL;
	return r->element[i];
}

long long
answer_int(const struct answer *a, size_t i)
{
	const redisReply *r = element(a, i);

	return r != NULL && r->type == REDIS_REPLY_INTEGER ? r->integer : 0;
}

const char *
answer_string(const struct answer *a, size_t i, size_t *len)
{
	const redisReply *r = element(a, i);

	if (r == NULL || r->type != REDIS_REPLY_STRING)
		return NULL;
	if (len != NULL)
		*len = r->len;
	return r->str;
}

size_t
answer_count(const struct answer *a)
{
	const redisReply *r = a->reply;

	return r != NULL && r->type == REDIS_REPLY_ARRAY ? r->elements : 0;
}

const char *
answer_text(const struct answer *a)
{
	const redisReply *r = a->reply;

	return r != NULL && r->type == REDIS_REPLY_STRING ? r->str : NULL;
}

struct answer
answer_sub(const struct answer *a, size_t i)
{
	struct answer sub = *a;

	sub.reply = element(a, i);
	return sub;
}
