/*
 * The findings of --check about simulated servers: their INFO, clocks and the
 * rights of their users.
 */
#include "../../src/inspect/findings.c"
#include "lock/lock.h"
#include "tap.h"

#define MINUTE_US INT64_C(60000000)

static struct options opt;
static struct address addresses[5];
static struct probe all[5];
static struct findings found[5];

/* n servers that are fit, for leases of 60s. */
static void
fit(int n)
{
	char info[256];

	opt = (struct options){ .servers.address = addresses,
		.settings.file.path = "/etc/some.conf",
		.servers.n = n,
		.settings.prefix = "redlock:",
		.settings.ttl_ms = 60000,
		.settings.grace_ms = n > 1 ? 60000 : 0,
		.settings.node_timeout_ms = 3000 };
	for (int i = 0; i < n; i++) {
		addresses[i] = (struct address){ .nat = 1 };
		snprintf(addresses[i].at[0].host,
		    sizeof(addresses[i].at[0].host), "redis%d", i);
		snprintf(addresses[i].text, sizeof(addresses[i].text),
		    "redis://redis%d:6379", i);
		all[i] = (struct probe){ .address = &addresses[i],
			.uptime_ms = -1,
			.rtt_us = 200,
			.tried_patterns = true };
		snprintf(info, sizeof(info),
		    "# Server\r\nredis_version:7.0.15\r\nrun_id:%d\r\n"
		    "redis_mode:standalone\r\nuptime_in_seconds:900\r\n"
		    "maxmemory_policy:noeviction\r\naof_enabled:1\r\n"
		    "role:master\r\n",
		    i + 1);
		CHECK(probe_read_info(&all[i], info));
	}
}

static void
judge(void)
{
	for (int i = 0; i < 5; i++)
		findings_release(&found[i]);
	findings_judge(found, all, opt.servers.n, &opt);
}

/* Server i has that finding, beginning with text, and no other. */
static void
only(int line, int i, enum level level, const char *text)
{
	const struct findings *v = &found[i];

	if (v->n != 1)
		tap_fail("line %d: server %d has %d findings (%s)", line, i,
		    v->n, v->n > 0 ? v->list[0].text : "");
	else if (v->worst != level || v->list[0].level != level ||
	    strncmp(v->list[0].text, text, strlen(text)) != 0)
		tap_fail("line %d: \"%s\" (%d), not \"%s\"", line,
		    v->list[0].text, v->worst, text);
}

#define ONLY(i, level, text) only(__LINE__, i, level, text)
#define NOTHING(i)           SAME_INT(found[i].n, 0)

static void
fit_servers(void)
{
	for (int n = 1; n <= 5; n += 2) {
		fit(n);
		judge();
		for (int i = 0; i < n; i++)
			NOTHING(i);
	}
}

static void
versions(void)
{
	const struct {
		const char *info;
		const char *version;
		bool old;
	} cases[] = {
		{ "redis_version:5.0.14\r\nrole:master\r\n", "5.0.14", true },
		{ "redis_version:6.0.0\r\nrole:master\r\n", "6.0.0", false },
		{ "redis_version:10.2.1\r\nrole:master\r\n", "10.2.1", false },
		{ "redis_version:255.255.255\nrole:master\n", "255.255.255",
		    false },
		{ "redis_version:7.2.4\r\nvalkey_version:8.1.0\r\nrole:master",
		    "8.1.0", false },
		{ "redis_version:\r\nrole:master\r\n", "", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fit(1);
		all[0].appends = false;
		CHECK(probe_read_info(&all[0], cases[i].info));
		SAME_TEXT(all[0].version, cases[i].version);
		SAME_INT(all[0].valkey, cases[i].version[0] == '8');
		all[0].appends = true;
		judge();
		if (cases[i].old)
			ONLY(0, LEVEL_BAD, "Redis ");
		else
			NOTHING(0);
	}
}

static void
rude_info(void)
{
	static char info[100000] = "redis_version:";
	struct probe p = { .uptime_ms = -1 };

	CHECK(!probe_read_info(&p, ""));
	CHECK(!probe_read_info(&p, "\n\n\r\n"));
	CHECK(!probe_read_info(&p, "redis_version"));
	CHECK(!probe_read_info(&p, "xredis_version:7\r\n"));
	CHECK(!p.informed);
	memset(info + 14, 'x', sizeof(info) - 15);
	CHECK(probe_read_info(&p, info));
	SAME_INT(strlen(p.version), PROBE_WORD - 1);
	SAME_INT(p.uptime_ms, -1);
	CHECK(probe_read_info(&p,
	    "redis_version:7\nuptime_in_seconds:99999999999999999999999999\n"
	    "maxmemory:-5\nused_memory:1e9\nloading:yes\nmaster_port:\n"));
	CHECK(p.uptime_ms > 0);
	SAME_INT(p.limit_bytes, 0);
	SAME_INT(p.used_bytes, 0);
	SAME_INT(p.master_port, 0);
	CHECK(!p.loading);
	CHECK(probe_read_info(&p,
	    "redis_version:7\r\nuptime_in_seconds:-1\r\nrole:x\ry\r\n"));
	SAME_INT(p.uptime_ms, 0);
	SAME_TEXT(p.role, "x");
}

static void
kinds(void)
{
	fit(1);
	CHECK(probe_read_info(&all[0],
	    "redis_version:7.0.1\r\nrole:slave\r\nmaster_host:10.0.0.7\r\n"
	    "master_port:6380\r\naof_enabled:1\r\n"));
	snprintf(all[0].unable, sizeof(all[0].unable), "READONLY You can't");
	judge();
	ONLY(0, LEVEL_BAD, "it is a replica of 10.0.0.7:6380; ");

	fit(1);
	snprintf(all[0].role, sizeof(all[0].role), "slav");
	judge();
	ONLY(0, LEVEL_BAD, "its role is 'slav'; ");

	fit(1);
	snprintf(all[0].mode, sizeof(all[0].mode), "sentinel");
	all[0].unknown = ~UINT32_C(0);
	judge();
	ONLY(0, LEVEL_BAD, "it is a Sentinel ");

	fit(1);
	all[0].cluster = true;
	snprintf(all[0].unable, sizeof(all[0].unable), "MOVED 1 a:1");
	judge();
	ONLY(0, LEVEL_BAD, "it is part of a Redis Cluster");
}

static void
services(void)
{
	fit(1);
	all[0].loading = true;
	snprintf(all[0].unable, sizeof(all[0].unable), "LOADING Redis is");
	judge();
	ONLY(0, LEVEL_BAD, "the server is still loading ");

	fit(1);
	snprintf(all[0].unable, sizeof(all[0].unable), "MISCONF no disk");
	judge();
	ONLY(0, LEVEL_BAD, "the server refuses requests (MISCONF no disk)");

	fit(1);
	all[0].unknown = RIGHT_BIT(RIGHT_EVAL);
	judge();
	ONLY(0, LEVEL_BAD, "this server does not run scripts (");

	fit(1);
	all[0].unknown = RIGHT_BIT(RIGHT_EVAL) | RIGHT_BIT(RIGHT_EVAL + 2);
	judge();
	SAME_INT(found[0].n, 2); /* the other command is found as well */

	fit(1);
	all[0].failure = REPLY_LOST;
	snprintf(all[0].why, sizeof(all[0].why), "Connection refused");
	judge();
	ONLY(0, LEVEL_BAD, "it cannot be used (Connection refused); ");

	fit(1);
	all[0].failure = REPLY_DENIED;
	snprintf(all[0].why, sizeof(all[0].why), "WRONGPASS invalid");
	judge();
	ONLY(0, LEVEL_REFUSED,
	    "the server refuses the user default (WRONGPASS invalid)");

	fit(1);
	all[0].informed = false;
	snprintf(all[0].why, sizeof(all[0].why), "BUSY Redis is busy");
	judge();
	ONLY(0, LEVEL_BAD, "INFO failed (BUSY Redis is busy)");
}

static void
eviction(void)
{
	const struct {
		const char *policy;
		int64_t limit, used;
		bool finding;
		enum level level;
		const char *text;
	} cases[] = {
		{ "allkeys-lru", 100, 5, true, LEVEL_BAD,
		    "the server can evict locks that are held (maxmemory-policy "
		    "allkeys-lru); set maxmemory-policy noeviction" },
		{ "volatile-ttl", 100, 5, true, LEVEL_BAD,
		    "the server can evict " },
		{ "allkeys-lru", 0, 5, true, LEVEL_NOTE,
		    "the server would, if it had" },
		{ "noeviction", 100, 90, false, LEVEL_NOTE, "" },
		{ "noeviction", 100, 91, true, LEVEL_NOTE,
		    "memory is nearly full" },
		{ "noeviction", 0, 91, false, LEVEL_NOTE, "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fit(1);
		snprintf(all[0].policy, sizeof(all[0].policy), "%s",
		    cases[i].policy);
		all[0].limit_bytes = cases[i].limit;
		all[0].used_bytes = cases[i].used;
		judge();
		if (cases[i].finding)
			ONLY(0, cases[i].level, cases[i].text);
		else
			NOTHING(0);
	}
}

static void
uptime(void)
{
	fit(3);
	all[1].uptime_ms = 61000;
	all[2].uptime_ms = 60000;
	judge();
	NOTHING(0);
	NOTHING(1);
	ONLY(2, LEVEL_BAD,
	    "it started 1m ago and has no vote until it has been up for "
	    "1m1s (--restart-grace); wait another 1s");
	all[2].uptime_ms = -1;
	judge();
	ONLY(2, LEVEL_BAD, "the server does not report its uptime");
	opt.settings.grace_ms = 0;
	judge();
	NOTHING(2);
}

/* Offsets in minutes; the servers whose clock is found bad. */
static void
clocks_of(int n, const int minutes[], const char *bad)
{
	char got[6] = "";

	fit(n);
	for (int i = 0; i < n; i++)
		all[i].offset_us = minutes[i] * MINUTE_US / 2;
	judge();
	for (int i = 0; i < n; i++)
		got[i] = found[i].worst == LEVEL_BAD ? '1' : '0';
	got[n] = '\0';
	SAME_TEXT(got, bad);
}

static void
clocks(void)
{
	fit(1);
	all[0].offset_us = -2 * MINUTE_US;
	judge();
	ONLY(0, LEVEL_BAD,
	    "its clock is 2m behind ours, more than a lease of 1m: ");
	all[0].offset_us = 2 * MINUTE_US;
	judge();
	ONLY(0, LEVEL_BAD, "its clock is 2m ahead of ours, ");
	all[0].offset_us = MINUTE_US;
	judge();
	ONLY(0, LEVEL_NOTE, "its clock is 1m ahead of ours; ");
	all[0].offset_us = -1000999;
	judge();
	NOTHING(0);
	all[0].offset_us = PROBE_UNKNOWN;
	judge();
	NOTHING(0);
	/* In halves of a minute; a lease is two. */
	clocks_of(3, (const int[]){ 2, 2, -1 }, "001");
	clocks_of(3, (const int[]){ 2, 2, 2 }, "000");
	clocks_of(3, (const int[]){ 3, 3, 3 }, "111");
	clocks_of(3, (const int[]){ 0, 0, 9 }, "001");
	clocks_of(2, (const int[]){ 2, -2 }, "11");
	clocks_of(5, (const int[]){ 1, 1, 1, -2, -2 }, "00011");
}

/* Redis makes a snapshot for each replica that needs all data. */
static void
snapshots(void)
{
	static const struct {
		const char *info;
		bool saves;
	} rows[] = { { "", false }, { "rdb_saves:0\r\n", false },
		{ "rdb_saves:1\r\n", true },
		{ "rdb_saves:1\r\nsync_full:1\r\n", false },
		{ "rdb_saves:2\r\nsync_full:1\r\n", true },
		{ "rdb_last_bgsave_time_sec:-1\r\n", false },
		{ "rdb_last_bgsave_time_sec:0\r\n", true },
		{ "rdb_last_bgsave_time_sec:0\r\nsync_full:1\r\n", false } };
	char info[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct probe p = { 0 };

		snprintf(info, sizeof(info), "redis_version:7.0.15\r\n%s",
		    rows[i].info);
		CHECK(probe_read_info(&p, info));
		if (p.saves != rows[i].saves)
			tap_fail("row %zu", i);
	}
}

static void
persistence(void)
{
	fit(1);
	SAME_TEXT(findings_persistence(&all[0]), "aof");
	all[0].appends = false;
	judge();
	ONLY(0, LEVEL_NOTE, "a restart may forget a lock");
	SAME_TEXT(findings_persistence(&all[0]), "none");
	all[0].saves = true;
	SAME_TEXT(findings_persistence(&all[0]), "rdb");
	judge();
	ONLY(0, LEVEL_NOTE, "a restart may forget a lock");
	all[0].informed = false;
	CHECK(findings_persistence(&all[0]) == NULL);

	fit(1);
	snprintf(all[0].fsync, sizeof(all[0].fsync), "always");
	judge();
	NOTHING(0);
	snprintf(all[0].fsync, sizeof(all[0].fsync), "everysec");
	judge();
	ONLY(0, LEVEL_NOTE, "a crash of its machine may forget a lock");

	fit(3);
	all[1].appends = false;
	snprintf(all[2].fsync, sizeof(all[2].fsync), "everysec");
	judge();
	NOTHING(1);
	NOTHING(2);
	all[2].fsync[0] = '\0';
	opt.settings.grace_ms = 0;
	judge();
	NOTHING(0);
	ONLY(1, LEVEL_NOTE, "a restart may forget a lock");
}

static void
speed(void)
{
	fit(1);
	all[0].rtt_us = 1500999;
	judge();
	NOTHING(0);
	all[0].rtt_us = 1501000;
	judge();
	ONLY(0, LEVEL_NOTE,
	    "an answer takes 1s, more than half of the node timeout of 3s");
}

static void
choice(void)
{
	static const char *const hosts[] = { "127.0.0.1", "127.1.2.3",
		"localhost", "::1", "" };

	fit(3);
	snprintf(all[2].run_id, sizeof(all[2].run_id), "%s", all[0].run_id);
	judge();
	ONLY(0, LEVEL_BAD, "it is the same server as redis://redis2:6379, ");
	NOTHING(1);
	ONLY(2, LEVEL_BAD, "it is the same server as redis://redis0:6379, ");

	fit(3);
	for (int i = 0; i < 3; i++)
		all[i].run_id[0] = '\0';
	judge();
	ONLY(0, LEVEL_NOTE, "its INFO has no run_id, so it cannot be told ");
	ONLY(2, LEVEL_NOTE, "its INFO has no run_id, so it cannot be told ");

	fit(1);
	all[0].run_id[0] = '\0';
	judge();
	NOTHING(0);

	fit(4);
	judge();
	NOTHING(0);
	ONLY(3, LEVEL_NOTE, "4 servers survive no more failures than 3 do; ");

	fit(1);
	opt.servers.is_default = true;
	judge();
	ONLY(0, LEVEL_BAD,
	    "no server is configured, so this is the built-in "
	    "default; name yours in /etc/some.conf, REDLOCK_REDIS or with -r");
	opt.settings.file.path = "/dev/null";
	judge();
	ONLY(0, LEVEL_BAD,
	    "no server is configured, so this is the built-in "
	    "default; name yours in REDLOCK_REDIS or with -r");

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		fit(1);
		snprintf(addresses[0].at[0].host,
		    sizeof(addresses[0].at[0].host), "%s", hosts[i]);
		if (hosts[i][0] == '\0')
			snprintf(addresses[0].path, sizeof(addresses[0].path),
			    "/run/redis.sock");
		judge();
		ONLY(0, LEVEL_NOTE, "it is on this machine, ");
	}
	fit(3);
	snprintf(addresses[0].at[0].host, sizeof(addresses[0].at[0].host),
	    "127.0.0.1");
	judge();
	NOTHING(0);
}

/* The servers' errors for a command or a key that is not permitted. */
static void
denials(void)
{
	static const struct {
		const char *error;
		bool command;
	} cases[] = {
		{ "NOPERM this user has no permissions to run the 'get' command "
		  "or its subcommand",
		    true },
		{ "NOPERM this user has no permissions to run the 'get' command",
		    true },
		{ "NOPERM User me has no permissions to run the 'get' command",
		    true },
		{ "ERR The user executing the script can't run this command or "
		  "subcommand",
		    true },
		{ "ERR NOPERM ACL failure in script: User me has no permissions "
		  "to run the 'lpush' command",
		    true },
		{ "NOPERM this user has no permissions to access one of the keys "
		  "used as arguments",
		    false },
		{ "NOPERM No permissions to access a key", false },
		{ "NOPERM ACL failure in script: No permissions to access a key",
		    false },
		{ "ERR The user executing the script can't access at least one "
		  "of the keys mentioned in the command arguments",
		    false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct probe p = { 0 };

		probe_tried(&p, 9, PATTERN_BESIDE, REPLY_DENIED,
		    cases[i].error);
		SAME_INT(p.denied, cases[i].command ? 1 << 9 : 0);
		SAME_INT(p.denied_patterns,
		    cases[i].command ? 0 : PATTERN_BESIDE);
		SAME_INT(p.tried_patterns, !cases[i].command);
		SAME_INT(p.unknown, 0);
		SAME_TEXT(p.unable, "");
	}
}

static void
attempts(void)
{
	struct probe p = { 0 };

	probe_tried(&p, 4, PATTERN_LOCK, REPLY_OK, "");
	CHECK(!p.tried_patterns); /* TIME has no key */
	probe_tried(&p, 9, PATTERN_LOCK, REPLY_OK, "");
	CHECK(p.tried_patterns);
	probe_tried(&p, 11, PATTERN_LOCK, REPLY_ERROR, "ERR syntax error");
	SAME_INT(p.unknown, 0);
	SAME_TEXT(p.unable, "");
	probe_tried(&p, 2, PATTERN_LOCK, REPLY_ERROR,
	    "ERR unknown command `SCAN`, with args beginning with: ");
	SAME_INT(p.unknown, 1 << 2);
	/* LPUSH is tried by a script, so nothing is known about it. */
	probe_tried(&p, 18, PATTERN_LOCK, REPLY_ERROR,
	    "ERR unknown command 'EVAL', with args beginning with: ");
	SAME_INT(p.unknown, 1 << RIGHT_EVAL | 1 << 2);
	probe_tried(&p, 11, PATTERN_LOCK, REPLY_ERROR, "OOM command not");
	probe_tried(&p, 12, PATTERN_LOCK, REPLY_ERROR, "MISCONF Redis");
	SAME_TEXT(p.unable, "OOM command not");
	SAME_INT(p.denied, 0);
	SAME_INT(p.denied_patterns, 0);
}

static uint32_t
bits(const char *names)
{
	uint32_t all_bits = 0;
	char list[64];

	snprintf(list, sizeof(list), "%s", names);
	for (char *w = strtok(list, " "); w != NULL; w = strtok(NULL, " "))
		for (int i = 0; i < RIGHTS; i++)
			if (strcmp(rights[i].command, w) == 0)
				all_bits |= RIGHT_BIT(i);
	return all_bits;
}

static void
permissions(void)
{
	const struct {
		const char *user;
		const char *denied;
		int patterns;
		bool tried;
		enum level level;
		const char *text;
	} cases[] = {
		{ "", "lpush", 0, true, LEVEL_REFUSED,
		    "the user default may not use lpush; allow it with: ACL "
		    "SETUSER default +lpush" },
		{ "me", "eval select xadd", 0, true, LEVEL_REFUSED,
		    "the user me may not use eval, xadd; allow it with: ACL "
		    "SETUSER me +eval +xadd" },
		{ "me", "", PATTERN_BESIDE, true, LEVEL_REFUSED,
		    "the user me may not use the keys beside a lock; allow it "
		    "with: ACL SETUSER me ~{redlock:*" },
		{ "me", "get", PATTERN_ALL, true, LEVEL_REFUSED,
		    "the user me may not use get, nor the keys of locks; allow "
		    "it with: ACL SETUSER me ~redlock:* ~{redlock:* +get" },
		{ "me", "get", 0, false, LEVEL_REFUSED,
		    "the user me may not use get; allow it with: ACL SETUSER me "
		    "~redlock:* ~{redlock:* +get" },
		{ "me", "scan", 0, true, LEVEL_NOTE,
		    "--status and --history need -k, because the user me may not "
		    "use scan; allow it with: ACL SETUSER me +scan" },
		{ "me", "xadd xrevrange", 0, true, LEVEL_NOTE,
		    "there is no history, because the user me may not use xadd, "
		    "xrevrange; allow it with: ACL SETUSER me +xadd +xrevrange" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fit(1);
		snprintf(addresses[0].user, sizeof(addresses[0].user), "%s",
		    cases[i].user);
		all[0].denied = bits(cases[i].denied);
		all[0].denied_patterns = cases[i].patterns;
		all[0].tried_patterns = cases[i].tried;
		judge();
		ONLY(0, cases[i].level, cases[i].text);
		if (found[0].n > 0)
			SAME_TEXT(found[0].list[0].text, cases[i].text);
	}
	fit(1);
	all[0].denied = bits("select");
	judge();
	NOTHING(0);
	all[0].denied = bits("scan xrevrange");
	judge();
	SAME_INT(found[0].n, 2);
	SAME_INT(found[0].worst, LEVEL_NOTE);
}

static void
pushes(void)
{
	fit(1);
	all[0].deaf = true;
	judge();
	ONLY(0, LEVEL_NOTE, "only a renewal notices that a lock is lost, ");
	CHECK(strstr(found[0].list[0].text, "because hiredis ") != NULL);
	fit(1);
	all[0].closes = true;
	judge();
	ONLY(0, LEVEL_NOTE,
	    "only a renewal notices that the lock is lost, after a third of "
	    "the lease, because the connection ends at HELLO");
	fit(1);
	all[0].unknown = bits("hello client|tracking");
	judge();
	ONLY(0, LEVEL_NOTE,
	    "only a renewal notices that the lock is lost, after a third of "
	    "the lease, because the server does not know hello, "
	    "client|tracking; ");
	fit(1);
	all[0].denied = bits("client|tracking");
	judge();
	ONLY(0, LEVEL_NOTE,
	    "only a renewal notices that the lock is lost, after a third of "
	    "the lease, because the user default may not use client|tracking; "
	    "allow it with: ACL SETUSER default +client|tracking");
}

static void
rules(void)
{
	char text[ACL_TEXT], prefix[LOCK_NAME + 1];

	SAME_TEXT(acl_part(text, "redlock:", PATTERN_ALL, 1),
	    "~redlock:* ~{redlock:* +eval");
	SAME_TEXT(acl_part(text, "a*?[b]\\", PATTERN_BESIDE, 0),
	    "~{a\\*\\?\\[b]\\\\*");
	SAME_TEXT(acl_part(text, "", PATTERN_ALL, 0), "~*");
	SAME_TEXT(acl_part(text, "{tag}:", PATTERN_BESIDE, 2),
	    "~{tag}:* +evalsha");
	SAME_TEXT(acl_part(text, "p", 0, 3), "+eval +evalsha");
	memset(prefix, '*', LOCK_NAME);
	prefix[LOCK_NAME] = '\0';
	SAME_INT(strlen(acl_text(text, prefix)),
	    strlen(acl_part(text, "", 0, RIGHTS_ALL)) + 4 * LOCK_NAME + 7);
}

int
main(void)
{
	static const struct tap_test tests[] = {
		{ "nothing is found about servers that are fit", fit_servers },
		{ "a version before 6.0 is bad, and Valkey is known",
		    versions },
		{ "INFO may be anything", rude_info },
		{ "a replica, a Sentinel, a part of a cluster are bad", kinds },
		{ "a server that does not serve is bad", services },
		{ "eviction is bad where there is a limit", eviction },
		{ "a server within its restart grace is bad", uptime },
		{ "a clock that is off by more than the lease is bad", clocks },
		{ "a snapshot for a replica is no persistence", snapshots },
		{ "what a restart may forget is noted", persistence },
		{ "slow answers are noted", speed },
		{ "which servers are named is judged", choice },
		{ "a denied command and a denied key are told apart", denials },
		{ "an attempt that fails as it should is none", attempts },
		{ "the rule to add is what is missing", permissions },
		{ "where nothing is pushed is noted, with the reason", pushes },
		{ "a rule is for the prefix to the letter", rules },
	};

	return TAP_MAIN(tests);
}
