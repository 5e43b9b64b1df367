/*
 * Judges probes by the rules that a run applies.  A finding is bad if no lock
 * should depend on the server, whether or not a run would notice.  Otherwise it
 * is a note.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "base/duration.h"
#include "base/exit.h"
#include "base/number.h"
#include "config/advice.h"
#include "inspect/findings.h"
#include "protocol/acl.h"
#include "redis/link.h"

#define LEAST_VERSION 6
#define CLOCK_NOTE_MS 1000

static void
add(struct findings *, enum level, const char *, ...) PRINTF_LIKE(3, 4);

static void
add(struct findings *v, enum level level, const char *fmt, ...)
{
	struct finding *to = &v->list[v->n];
	va_list ap;

	if (v->n == FINDINGS_MAX)
		return;
	va_start(ap, fmt);
	if (vasprintf(&to->text, fmt, ap) == -1)
		die(EXIT_OS, "%s", strerror(errno));
	va_end(ap);
	to->level = level;
	v->n++;
	if (level > v->worst)
		v->worst = level;
}

void
findings_release(struct findings *v)
{
	for (int i = 0; i < v->n; i++)
		free(v->list[i].text);
	v->n = 0;
}

const char *
findings_persistence(const struct probe *p)
{
	return !p->informed ? NULL :
	    p->appends      ? "aof" :
	    p->saves        ? "rdb" :
			      "none";
}

/* Masks a refused user, which may be a password in the wrong place. */
static const char *
refused_user(const struct probe *p)
{
	return p->address->user_alone ? "***" : address_user(p->address);
}

static bool
local(const struct address *a)
{
	const char *host = a->at[0].host;

	if (a->path[0] != '\0')
		return true;
	return a->kind == ADDRESS_SERVER &&
	    (strncmp(host, "127.", 4) == 0 || strcmp(host, "localhost") == 0 ||
		strcmp(host, "::1") == 0);
}

static void
judge_failure(struct findings *v, const struct probe *p,
    const struct options *opt)
{
	char password[ADVICE_PASSWORD];

	if (p->failure != REPLY_DENIED && strstr(p->why, "raise --ttl") != NULL)
		add(v, LEVEL_BAD, "it cannot be used: %s", p->why);
	else if (p->failure != REPLY_DENIED)
		add(v, LEVEL_BAD,
		    "it cannot be used (%s); check that it runs and is "
		    "reachable from here, or name another with -r",
		    p->why);
	else if (strstr(p->why, "(--tls-cert)") != NULL)
		add(v, LEVEL_REFUSED,
		    "%s; use a certificate, and its --tls-key, from an "
		    "authority that the server trusts",
		    p->why);
	else if (strstr(p->why, "'select'") != NULL)
		add(v, LEVEL_REFUSED,
		    "the user %s may not use database %d (%s); allow it "
		    "with: ACL SETUSER %s +select",
		    address_user(p->address), p->address->db, p->why,
		    address_user(p->address));
	else if (strstr(p->why, "without any password") != NULL)
		add(v, LEVEL_REFUSED,
		    "the user %s has no password, but one was sent (%s); "
		    "set that password on the server, or send none",
		    refused_user(p), p->why);
	else
		add(v, LEVEL_REFUSED, "the server refuses the user %s (%s)%s",
		    refused_user(p), p->why,
		    advice_password(password, opt->settings.file.path, p->why));
}

/*
 * Adds a note for each consequence of missing rights that a run does not need.
 */
static void
judge_spare(struct findings *v, const struct probe *p, uint32_t denied)
{
	char rule[ACL_TEXT], names[ACL_TEXT];
	uint32_t alike;

	for (int i = 0; i < RIGHTS; i++) {
		alike = 0;
		for (int j = i; j < RIGHTS; j++)
			if (denied & RIGHT_BIT(j) &&
			    rights[j].without == rights[i].without)
				alike |= RIGHT_BIT(j);
		if (!(alike & RIGHT_BIT(i)))
			continue;
		denied &= ~alike;
		add(v, LEVEL_NOTE,
		    "%s, because the user %s may not use %s; allow it "
		    "with: ACL SETUSER %s %s",
		    rights[i].without, address_user(p->address),
		    acl_names(names, alike), address_user(p->address),
		    acl_part(rule, "", 0, alike));
	}
}

static void
judge_rights(struct findings *v, const struct probe *p,
    const struct options *opt)
{
	char rule[ACL_TEXT], names[ACL_TEXT];
	const char *keys = "";
	uint32_t denied = p->denied & ~acl_idle(p->denied);
	/*
	 * Redis checks keys last: without a permitted command we cannot test
	 * patterns.
	 */
	int patterns = p->tried_patterns ? p->denied_patterns : PATTERN_ALL;

	if (acl_needed(denied) == 0 && p->denied_patterns == 0) {
		judge_spare(v, p, denied);
		return;
	}
	acl_names(names, denied);
	if (p->denied_patterns == PATTERN_BESIDE)
		keys = "the keys beside a lock";
	else if (p->denied_patterns != 0)
		keys = "the keys of locks";
	add(v, LEVEL_REFUSED,
	    "the user %s may not use %s%s%s%s; allow it with: ACL SETUSER "
	    "%s %s",
	    address_user(p->address), names,
	    names[0] != '\0' && keys[0] != '\0' ? ", nor " : "", keys,
	    p->informed ? "" : ", so nothing else could be checked",
	    address_user(p->address),
	    acl_part(rule, opt->settings.prefix, patterns, denied));
}

/* Judges the kind of server.  Returns whether it could be fit at all. */
static bool
judge_kind(struct findings *v, const struct probe *p)
{
	int64_t major;

	if (strcmp(p->mode, "sentinel") == 0) {
		add(v, LEVEL_BAD,
		    "it is a Sentinel and stores no locks; use a "
		    "redis+sentinel:// URL for the master that it watches");
		return false;
	}
	number_prefix(p->version, strlen(p->version), &major);
	if (!p->valkey && major < LEAST_VERSION)
		add(v, LEVEL_BAD,
		    "Redis %s is too old; update it to %d.0 "
		    "or later",
		    p->version, LEAST_VERSION);
	if (p->cluster && p->address->kind != ADDRESS_CLUSTER)
		add(v, LEVEL_BAD,
		    "it is part of a Redis Cluster and stores only some of "
		    "the locks; use a redis+cluster:// URL");
	else if (!p->cluster && p->address->kind == ADDRESS_CLUSTER)
		add(v, LEVEL_BAD,
		    "it is not part of a Redis Cluster; use a redis:// URL");
	if (p->address->kind == ADDRESS_CLUSTER)
		add(v, LEVEL_NOTE, "only one node of the cluster was checked");
	if (p->address->kind != ADDRESS_SERVER)
		add(v, LEVEL_NOTE,
		    "a failover may lose a lock (SAFETY in "
		    "redlock-run(7)); --replicas makes that less likely, "
		    "several independent masters rule it out");
	if (p->address->kind == ADDRESS_CLUSTER)
		return true; /* a cluster's replica redirects us to its master */
	if (strcmp(p->role, "slave") == 0)
		add(v, LEVEL_BAD,
		    "it is a replica of %s:%" PRId64 "; use a master, one "
		    "without failover to a replica",
		    p->master, p->master_port);
	else if (strcmp(p->role, "master") != 0)
		add(v, LEVEL_BAD, "its role is '%s'; use a master", p->role);
	return true;
}

static void
judge_uptime(struct findings *v, const struct probe *p,
    const struct options *opt)
{
	char up[DURATION_TEXT], grace[DURATION_TEXT], left[DURATION_TEXT];
	int64_t need_ms =
	    opt->settings.grace_ms + 1000; /* INFO reports whole seconds */

	if (opt->settings.grace_ms == 0 || p->uptime_ms >= need_ms)
		return;
	if (p->uptime_ms < 0)
		add(v, LEVEL_BAD,
		    "the server does not report its uptime, so it has no "
		    "vote; needs --restart-grace 0");
	else
		add(v, LEVEL_BAD,
		    "it started %s ago and has no vote until it has been "
		    "up for %s (--restart-grace); wait another %s",
		    p->uptime_ms < 1000 ? "<1s" :
					  duration_format(p->uptime_ms, up),
		    duration_format(need_ms, grace),
		    duration_format(need_ms - p->uptime_ms, left));
}

static void
judge_memory(struct findings *v, const struct probe *p)
{
	if (p->policy[0] != '\0' && strcmp(p->policy, "noeviction") != 0)
		add(v, p->limit_bytes > 0 ? LEVEL_BAD : LEVEL_NOTE,
		    "the server %s evict locks that are held "
		    "(maxmemory-policy %s); set maxmemory-policy noeviction",
		    p->limit_bytes > 0 ? "can" :
					 "would, if it had a maxmemory,",
		    p->policy);
	else if (p->limit_bytes > 0 &&
	    p->used_bytes > p->limit_bytes - p->limit_bytes / 10)
		add(v, LEVEL_NOTE,
		    "memory is nearly full, and a full server grants no "
		    "locks; raise maxmemory, or delete data");
}

/*
 * Judges persistence: a restart must not forget locks, unless the restart grace
 * covers it.
 */
static void
judge_persistence(struct findings *v, const struct probe *p, int n,
    const struct options *opt)
{
	if (n > 1 && opt->settings.grace_ms > 0)
		return;
	if (p->appends && (p->fsync[0] == '\0' || !strcmp(p->fsync, "always")))
		return;
	if (p->appends) {
		add(v, LEVEL_NOTE,
		    "a crash of its machine may forget a lock of the last "
		    "seconds (appendfsync %s); set appendfsync always, or "
		    "use %s",
		    p->fsync, n > 1 ? "a --restart-grace" : "three servers");
		return;
	}
	add(v, LEVEL_NOTE,
	    "a restart may forget a lock that is held (appendonly no); set "
	    "appendonly yes and appendfsync always, or use %s",
	    n > 1 ? "a --restart-grace" : "three servers");
}

/* Returns the difference of two clocks, or 0 if one is unknown. */
static int64_t
apart_ms(const struct probe *a, const struct probe *b)
{
	int64_t us;

	if (a->offset_us == PROBE_UNKNOWN || b->offset_us == PROBE_UNKNOWN)
		return 0;
	us = a->offset_us - b->offset_us;
	return (us < 0 ? -us : us) / 1000;
}

/*
 * Judges a clock: it is bad if it differs by more than a lease from ours, or
 * from more than half of the other servers' clocks.  With three servers that
 * finds the wrong one.
 */
static void
judge_clock(struct findings *v, const struct probe *all, int n, int i,
    const struct options *opt)
{
	static const struct probe ours = { .offset_us = 0 };
	const struct probe *p = &all[i];
	int64_t off_ms = apart_ms(p, &ours);
	char off[DURATION_TEXT], ttl[DURATION_TEXT];
	const char *way = p->offset_us < 0 ? "behind" : "ahead of";
	int others = 0;

	duration_format(off_ms, off);
	duration_format(opt->settings.ttl_ms, ttl);
	for (int j = 0; j < n; j++)
		others += apart_ms(p, &all[j]) > opt->settings.ttl_ms;
	if (off_ms > opt->settings.ttl_ms)
		add(v, LEVEL_BAD,
		    "its clock is %s %s ours, more than a lease of %s: "
		    "correcting it could end a lock that is held; "
		    "synchronize both clocks with NTP",
		    off, way, ttl);
	else if (2 * others > n - 1)
		add(v, LEVEL_BAD,
		    "its clock is more than a lease of %s away from those "
		    "of other servers; synchronize all clocks with NTP",
		    ttl);
	else if (off_ms > CLOCK_NOTE_MS)
		add(v, LEVEL_NOTE,
		    "its clock is %s %s ours; synchronize both clocks with "
		    "NTP",
		    off, way);
}

static void
judge_speed(struct findings *v, const struct probe *p,
    const struct options *opt)
{
	char rtt[DURATION_TEXT], timeout[DURATION_TEXT];

	if (p->rtt_us / 1000 > opt->settings.node_timeout_ms / 2)
		add(v, LEVEL_NOTE,
		    "an answer takes %s, more than half of the node "
		    "timeout of %s; raise --node-timeout and --ttl",
		    duration_format(p->rtt_us / 1000, rtt),
		    duration_format(opt->settings.node_timeout_ms, timeout));
}

/*
 * Judges whether our scripts run, where nothing else explains that they do not.
 */
static void
judge_scripts(struct findings *v, const struct probe *p)
{
	if (p->script[0] != '\0' && v->worst < LEVEL_BAD)
		add(v, LEVEL_BAD,
		    "the server runs the scripts of a lock with an error (%s); "
		    "\"Which Redis\" in redlock-run(7) says where they run",
		    p->script);
}

/* Judges whether the server accepts our commands. */
static void
judge_service(struct findings *v, const struct probe *p,
    const struct options *opt)
{
	const uint32_t unknown =
	    p->unknown & ~(RIGHT_BIT(RIGHT_EVAL) | RIGHTS_PUSH);
	char names[ACL_TEXT];

	if (p->loading)
		add(v, LEVEL_BAD,
		    "the server is still loading its data; try again when "
		    "it is done");
	else if (p->unable[0] != '\0' && !p->cluster &&
	    strcmp(p->role, "slave") != 0)
		add(v, LEVEL_BAD,
		    "the server refuses requests (%s); fix that first",
		    p->unable);
	judge_rights(v, p, opt);
	if (p->unknown & RIGHT_BIT(RIGHT_EVAL))
		add(v, LEVEL_BAD,
		    "this server does not run scripts (EVAL is renamed or "
		    "disabled in its configuration); restore EVAL");
	if (unknown != 0)
		add(v, LEVEL_BAD,
		    "the server does not know %s (renamed or disabled in "
		    "its configuration); restore these commands",
		    acl_names(names, unknown));
	judge_scripts(v, p);
}

/* Without pushes, only renewals notice that a lock is lost. */
static void
judge_pushes(struct findings *v, const struct probe *p)
{
	char names[ACL_TEXT];

	if (p->closes)
		add(v, LEVEL_NOTE,
		    "only a renewal notices that the lock is lost, after a "
		    "third of the lease, because the connection ends at "
		    "HELLO; connect to the server without a proxy");
	else if (p->unknown & RIGHTS_PUSH)
		add(v, LEVEL_NOTE,
		    "only a renewal notices that the lock is lost, after a "
		    "third of the lease, because the server does not know %s; "
		    "restore what its configuration renames or disables",
		    acl_names(names, p->unknown & RIGHTS_PUSH));
}

static void
judge_server(struct findings *v, const struct probe *all, int n, int i,
    const struct options *opt)
{
	const struct probe *p = &all[i];

	if (p->failure != REPLY_OK) {
		judge_failure(v, p, opt);
		return;
	}
	if (!p->informed) {
		judge_rights(v, p, opt);
		if (v->worst != LEVEL_REFUSED)
			add(v, LEVEL_BAD, "INFO failed (%s); fix that first",
			    p->why);
		return;
	}
	if (!judge_kind(v, p))
		return;
	judge_service(v, p, opt);
	judge_pushes(v, p);
	judge_memory(v, p);
	judge_uptime(v, p, opt);
	judge_clock(v, all, n, i, opt);
	judge_persistence(v, p, n, opt);
	judge_speed(v, p, opt);
}

static bool
same_server(const struct probe *a, const struct probe *b)
{
	return a != b && a->run_id[0] != '\0' &&
	    strcmp(a->run_id, b->run_id) == 0;
}

/* Notes a server of several that has no name of its own. */
static void
judge_identity(struct findings *v, const struct probe *p, int n)
{
	if (n > 1 && p->informed && p->run_id[0] == '\0')
		add(v, LEVEL_NOTE,
		    "its INFO has no run_id, so it cannot be told from the "
		    "other servers, and a second URL of it would have a vote "
		    "of its own; make sure that each URL leads to another "
		    "server");
}

/*
 * Notes a server that gets the password of an earlier one.  The owner of one of
 * them could use it to delete locks on the other.
 */
static void
judge_password(struct findings *v, const struct probe *all, int i)
{
	const char *password = all[i].address->password;

	for (int j = 0; j < i && password != NULL; j++) {
		const struct address *other = all[j].address;

		if (other->password == NULL ||
		    strcmp(other->password, password) != 0)
			continue;
		add(v, LEVEL_NOTE,
		    "it gets the same password as %s, and whoever takes it "
		    "from one can delete locks on both; give each its own, in "
		    "lines of a --password-file",
		    other->text);
		break;
	}
}

/*
 * Judges the choice of servers; these findings are printed with the first or
 * the last server.
 */
static void
judge_choice(struct findings *v, const struct probe *all, int n,
    const struct options *opt)
{
	bool no_file = strcmp(opt->settings.file.path, "/dev/null") == 0;
	int here = 0;

	for (int i = 0; i < n; i++)
		here += local(all[i].address);
	if (all[0].deaf)
		add(&v[0], LEVEL_NOTE,
		    "only a renewal notices that a lock is lost, after a third "
		    "of the lease, because hiredis %s parses no pushes; use "
		    "hiredis 1.0 or later, or the static file",
		    link_hiredis_version());
	if (opt->servers.is_default)
		add(&v[0], LEVEL_BAD,
		    "no server is configured, so this is the built-in "
		    "default; name yours in %s%sREDLOCK_REDIS or with -r",
		    no_file ? "" : opt->settings.file.path,
		    no_file ? "" : ", ");
	if (here == n)
		add(&v[0], LEVEL_NOTE,
		    "%s on this machine, so a lock guards this machine "
		    "only; name a server that all hosts can reach",
		    n == 1 ? "it is" : "all servers are");
	if (n % 2 == 0)
		add(&v[n - 1], LEVEL_NOTE,
		    "%d servers survive no more failures than %d do; "
		    "remove one, or add one",
		    n, n - 1);
}

void
findings_judge(struct findings *v, const struct probe *all, int n,
    const struct options *opt)
{
	memset(v, 0, (size_t)n * sizeof(*v));
	for (int i = 0; i < n; i++) {
		judge_server(&v[i], all, n, i, opt);
		judge_identity(&v[i], &all[i], n);
		judge_password(&v[i], all, i);
		for (int j = 0; j < n; j++)
			if (same_server(&all[i], &all[j])) {
				add(&v[i], LEVEL_BAD,
				    "it is the same server as %s, and a "
				    "server has one vote; name each server "
				    "once",
				    all[j].address->text);
				break;
			}
	}
	judge_choice(v, all, n, opt);
}
