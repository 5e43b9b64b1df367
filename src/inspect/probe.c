/*
 * Measures only; findings.c draws the conclusions.  An error is a result as
 * well.  No request changes anything or uses the name of a lock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/clock.h"
#include "inspect/probe.h"
#include "protocol/acl.h"
#include "protocol/key.h"
#include "redis/error.h"
#include "redis/info.h"
#include "scripts.h"
#include "wire.h"

#define SAMPLES    5          /* measurements of the round trip */
#define TIME_END_S 9000000000 /* the year 2255: no server's clock is later */

/* Whether it has saved a snapshot, other than to send it to a replica. */
static bool
has_saved(const char *info)
{
	int64_t syncs = info_number(info, "sync_full", 0);
	int64_t saves = info_number(info, "rdb_saves", -1);

	if (saves >= 0) /* since Redis 7 */
		return saves > syncs;
	return syncs == 0 &&
	    info_number(info, "rdb_last_bgsave_time_sec", -1) >= 0;
}

bool
probe_read_info(struct probe *p, const char *info)
{
	int64_t uptime_s = info_uptime_s(info);

	p->valkey =
	    info_field(info, "valkey_version", p->version, sizeof(p->version));
	if (!p->valkey &&
	    !info_field(info, "redis_version", p->version, sizeof(p->version)))
		return false;
	info_field(info, p->valkey ? "server_mode" : "redis_mode", p->mode,
	    sizeof(p->mode));
	info_field(info, "role", p->role, sizeof(p->role));
	info_field(info, "master_host", p->master, sizeof(p->master));
	p->master_port = info_number(info, "master_port", 0);
	info_run_id(info, p->run_id);
	info_field(info, "maxmemory_policy", p->policy, sizeof(p->policy));
	p->limit_bytes = info_number(info, "maxmemory", 0);
	p->used_bytes = info_number(info, "used_memory", 0);
	p->uptime_ms = uptime_s < 0 ? -1 : uptime_s * 1000;
	p->loading = info_number(info, "loading", 0) != 0;
	p->cluster = info_number(info, "cluster_enabled", 0) != 0;
	p->appends = info_number(info, "aof_enabled", 0) != 0;
	p->saves = has_saved(info);
	p->informed = true;
	return true;
}

static bool
keyed(const struct right *r)
{
	for (int w = 0; w < RIGHT_WORDS && r->words[w] != NULL; w++)
		if (strcmp(r->words[w], "KEY") == 0)
			return true;
	return false;
}

void
probe_tried(struct probe *p, int i, int pattern, enum reply_kind kind,
    const char *error)
{
	const uint32_t bit = RIGHT_BIT(i);

	if (kind == REPLY_DENIED && error_denies_command(error)) {
		p->denied |= bit;
		return;
	}
	p->tried_patterns = p->tried_patterns || keyed(&rights[i]);
	if (kind == REPLY_DENIED)
		p->denied_patterns |= pattern;
	else if (kind == REPLY_ERROR &&
	    strncmp(error, "ERR unknown command", 19) == 0)
		p->unknown |= strcmp(rights[i].words[0], "EVAL") == 0 ?
		    RIGHT_BIT(RIGHT_EVAL) :
		    bit;
	else if (kind == REPLY_ERROR && strncmp(error, "ERR ", 4) != 0 &&
	    p->unable[0] == '\0')
		error_copy(p->unable, sizeof(p->unable), error);
}

static struct probe *
probe_of(struct query_server *s)
{
	return (struct probe *)s->query->arg + (s - s->query->servers);
}

static int
send_info(struct query_server *s, size_t i)
{
	const char *const argv[] = { "INFO" };

	return conn_command(&s->conn, (int)i, 1, argv);
}

static bool
info_replied(struct query_server *s, size_t i, const struct reply *a)
{
	struct probe *p = probe_of(s);
	const char *info = reply_text(a);

	(void)i;
	if (a->kind == REPLY_DENIED && !error_denies(a->text))
		query_server_fail(s, a->kind, a->text);
	else if (a->kind != REPLY_OK)
		error_copy(p->silent, sizeof(p->silent), a->text);
	else if (info == NULL || !probe_read_info(p, info))
		query_server_malformed(s);
	return false;
}

/* A user without CONFIG leaves these unknown. */
static int
send_config(struct query_server *s, size_t i)
{
	const char *const argv[] = { "CONFIG", "GET",
		i == 0 ? "appendfsync" : "save" };

	return conn_command(&s->conn, (int)i, 3, argv);
}

/* A snapshot that somebody asked for does not make a server that saves. */
static bool
config_replied(struct query_server *s, size_t i, const struct reply *a)
{
	struct probe *p = probe_of(s);
	const char *value;

	value = a->kind == REPLY_OK ? reply_string(a, 1, NULL) : NULL;
	if (value != NULL && i == 0)
		snprintf(p->fsync, sizeof(p->fsync), "%s", value);
	else if (value != NULL)
		p->saves = p->saves && value[0] != '\0';
	return false;
}

static int
send_time(struct query_server *s, size_t i)
{
	const char *const argv[] = { "TIME" };
	struct probe *p = probe_of(s);

	p->sample.sent_us = clock_now_us();
	p->sample.sent_wall_us = clock_wall_us();
	return conn_command(&s->conn, (int)i, 1, argv);
}

/* Returns microseconds since 1970, or -1 if the reply is not a time. */
static int64_t
time_us(const struct reply *a)
{
	const char *seconds = reply_string(a, 0, NULL);
	const char *us = reply_string(a, 1, NULL);
	int64_t s, part;

	if (seconds == NULL || us == NULL ||
	    number_parse(seconds, strlen(seconds), TIME_END_S - 1, &s) == -1 ||
	    number_parse(us, strlen(us), 999999, &part) == -1)
		return -1;
	return s * 1000000 + part;
}

static bool
time_replied(struct query_server *s, size_t i, const struct reply *a)
{
	struct probe *p = probe_of(s);
	int64_t rtt_us = clock_now_us() - p->sample.sent_us, its_us;

	(void)i;
	if (p->rtt_us < 0 || rtt_us < p->rtt_us) {
		p->rtt_us = rtt_us;
		if (a->kind == REPLY_OK) {
			its_us = time_us(a);
			if (its_us < 0)
				return query_server_malformed(s);
			p->offset_us =
			    its_us - p->sample.sent_wall_us - rtt_us / 2;
		}
	}
	return --p->sample.left > 0;
}

/* Returns the n-th of these commands. */
static int
nth_right(uint32_t commands, size_t n)
{
	int i = 0;

	while (!(commands & RIGHT_BIT(i)) || n-- > 0)
		i++;
	return i;
}

/* Returns how many there are. */
static size_t
count_rights(uint32_t commands)
{
	size_t n = 0;

	for (int i = 0; i < RIGHTS; i++)
		n += (commands & RIGHT_BIT(i)) != 0;
	return n;
}

/* Writes a name that no lock can have, because of the ":~". */
static void
nobodys_name(char name[64])
{
	snprintf(name, 64, ":~check:%" PRId64 "-%d", clock_wall_us(),
	    (int)getpid());
}

/* Tries each right with the key of no lock, and with its auxiliary key. */
static int
send_right(struct query_server *s, size_t i)
{
	const struct right *r = &rights[nth_right(probe_of(s)->tries, i / 2)];
	const char *argv[RIGHT_WORDS];
	char name[64], key[LOCK_KEY], aux[LOCK_KEY], fence[LOCK_KEY + 8];
	int argc = 0;

	nobodys_name(name);
	key_names(key, aux, s->query->opt->settings.prefix, name);
	snprintf(fence, sizeof(fence), "%sfence", aux);
	for (; argc < RIGHT_WORDS && r->words[argc] != NULL; argc++)
		argv[argc] = strcmp(r->words[argc], "KEY") != 0 ?
		    r->words[argc] :
		    i % 2 == 0 ? key :
				 fence;
	return conn_command(&s->conn, (int)i, argc, argv);
}

static bool
right_replied(struct query_server *s, size_t i, const struct reply *a)
{
	struct probe *p = probe_of(s);

	probe_tried(p, nth_right(p->tries, i / 2),
	    i % 2 == 0 ? PATTERN_LOCK : PATTERN_BESIDE, a->kind,
	    a->kind == REPLY_OK ? "" : a->text);
	return false;
}

/*
 * Renews a lock that does not exist, which writes nothing.  It is the script with
 * which a run takes its lock.
 */
static int
send_renew(struct query_server *s, size_t i)
{
	char name[64], key[LOCK_KEY], aux[LOCK_KEY];
	const char *const argv[] = { [ARG_KEY] = key,
		[ARG_AUX] = aux,
		[ARG_ID] = "~check ",
		[ARG_TOKEN] = "~check",
		[ARG_MODE] = "exclusive",
		[ARG_CAPACITY] = "1",
		[ARG_SLOT] = "1",
		[ARG_OWN + RENEW_TTL] = "1",
		[ARG_OWN + RENEW_FENCE] = "1",
		[ARG_OWN + RENEW_START] = "",
		[ARG_OWN + RENEW_ARGS] = "renew" };

	nobodys_name(name);
	key_names(key, aux, s->query->opt->settings.prefix, name);
	return conn_eval(&s->conn, (int)i, &script_lock, ARG_ID,
	    sizeof(argv) / sizeof(argv[0]), argv);
}

static int
send_status(struct query_server *s, size_t i)
{
	char name[64];

	nobodys_name(name);
	return query_read(s, i, &script_status, name, 1, NULL);
}

/* A server or proxy may let scripts do less than the commands are let. */
static bool
script_replied(struct query_server *s, size_t i, const struct reply *a)
{
	struct probe *p = probe_of(s);

	(void)i;
	if (a->kind == REPLY_ERROR && p->script[0] == '\0')
		error_copy(p->script, sizeof(p->script), a->text);
	return false;
}

/* Comes last, because a proxy may close the connection at HELLO. */
static void
probe_pushes(struct probe *probes, struct query *q)
{
	for (int i = 0; i < q->nservers; i++)
		probes[i].tries = RIGHTS_PUSH;
	query_send(q, 2 * count_rights(RIGHTS_PUSH), send_right, right_replied);
	for (int i = 0; i < q->nservers; i++)
		probes[i].closes = probes[i].failure == REPLY_OK &&
		    q->servers[i].failure != REPLY_OK;
}

void
probe_servers(struct probe *probes, struct query *q)
{
	q->arg = probes;
	for (int i = 0; i < q->nservers; i++) {
		probes[i] =
		    (struct probe){ .address = &q->opt->servers.address[i],
			    .uptime_ms = -1,
			    .rtt_us = -1,
			    .offset_us = PROBE_UNKNOWN,
			    .sample.left = SAMPLES,
			    .deaf = !link_reads_pushes(),
			    .tries = RIGHTS_ALL & ~RIGHTS_PUSH };
	}
	query_send(q, 1, send_info, info_replied);
	query_send(q, 2, send_config, config_replied);
	query_send(q, 1, send_time, time_replied);
	query_send(q, 2 * count_rights(RIGHTS_ALL & ~RIGHTS_PUSH), send_right,
	    right_replied);
	q->sends_text = true;
	query_send(q, 1, send_renew, script_replied);
	query_send(q, 1, send_status, script_replied);
	q->sends_text = false;
	for (int i = 0; i < q->nservers; i++) {
		const struct query_server *s = &q->servers[i];
		struct probe *p = &probes[i];

		p->failure = s->failure;
		snprintf(p->why, sizeof(p->why), "%s",
		    p->silent[0] != '\0' ? p->silent : s->why);
	}
	if (link_reads_pushes())
		probe_pushes(probes, q);
}

/* Tries rights on server i, and leaves the others alone. */
static void
try_rights(struct query *q, int i, struct probe *probes)
{
	enum reply_kind failures[LOCK_SERVERS] = { REPLY_OK };
	char why[CONN_WHY];
	void *arg = q->arg;

	snprintf(why, sizeof(why), "%s", q->servers[i].why);
	for (int j = 0; j < q->nservers; j++) {
		failures[j] = q->servers[j].failure;
		q->servers[j].failure = REPLY_LOST;
	}
	query_server_retry(&q->servers[i]);
	q->arg = probes;
	query_send(q, 2 * count_rights(probes[i].tries), send_right,
	    right_replied);
	q->arg = arg;
	probes[i].failure = q->servers[i].failure;
	snprintf(q->servers[i].why, sizeof(why), "%s", why);
	for (int j = 0; j < q->nservers; j++)
		q->servers[j].failure = failures[j];
}

char *
probe_missing(struct query *q, int i, uint32_t commands, char rule[ACL_TEXT])
{
	struct probe probes[LOCK_SERVERS] = { 0 };
	struct probe *p = &probes[i];
	const char *prefix = q->opt->settings.prefix;
	int patterns;

	p->tries = commands & ~acl_idle(commands);
	try_rights(q, i, probes);
	patterns = p->tried_patterns ? p->denied_patterns : PATTERN_ALL;
	if (p->failure != REPLY_OK || (p->denied == 0 && patterns == 0))
		return acl_part(rule, prefix, PATTERN_ALL, commands);
	return acl_part(rule, prefix, patterns, p->denied);
}
