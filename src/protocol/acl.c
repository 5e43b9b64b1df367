/*
 * Access control lists: the one list of commands that a user needs, the rule
 * that we suggest, and tests for missing permissions.  The rule does not
 * mention channels, because Redis 6.0 would reject it.
 *
 * Servers check the number of arguments first, then the permission, then the
 * arguments.  So a call with a nonsensical word ("?") or an absent key tests
 * the permission and does nothing.
 */
#include <string.h>

#include "protocol/acl.h"
#include "protocol/key.h"

/*
 * LPUSH would always add an element, so it is tried in a script that must not
 * write.  Redis 6 does not support such scripts; there a missing LPUSH goes
 * unnoticed.
 */
static const char lpush[] =
    "#!lua flags=no-writes\nreturn redis.pcall('LPUSH',KEYS[1],1)";

static const char no_list[] = "--status and --history need -k";
static const char no_need[] = ""; /* a server that has it tries it first */
static const char no_history[] = "there is no history";
static const char no_xdel[] =
    "an attempt that was given up can stay in the history as a run that died";
static const char no_replicas[] = "--replicas cannot be used";
static const char no_pushes[] =
    "only a renewal notices that the lock is lost, after a third of the lease";
static const char no_type[] = "a key that is no lock is named without its type";
static const char no_digest[] =
    "renewals are 100 times as long, and a lock that a stalled server grants "
    "too late can stay until its lease ends";
static const char unknown_digest[] = "0000000000000000000000000000000000000000";

const struct right rights[RIGHTS] = {
	[RIGHT_EVAL] = { "eval", { "EVAL", "return 0", "1", "KEY" }, NULL,
	    true },
	{ "evalsha", { "EVALSHA", unknown_digest, "?" }, no_digest, true },
	{ "info", { "INFO", "server" }, NULL, false },
	{ "scan", { "SCAN", "?" }, no_list, true },
	{ "select", { "SELECT", "?" }, no_need, true },
	{ "time", { "TIME" }, NULL, true },
	{ "exists", { "EXISTS", "KEY" }, NULL, true },
	{ "del", { "DEL", "KEY" }, NULL, false },
	{ "pexpire", { "PEXPIRE", "KEY", "?" }, NULL, false },
	{ "pttl", { "PTTL", "KEY" }, NULL, true },
	{ "get", { "GET", "KEY" }, NULL, true },
	{ "mget", { "MGET", "KEY" }, NULL, true },
	{ "type", { "TYPE", "KEY" }, no_type, true },
	{ "set", { "SET", "KEY", "", "?" }, NULL, false },
	{ "hget", { "HGET", "KEY", "" }, NULL, true },
	{ "hgetall", { "HGETALL", "KEY" }, NULL, true },
	{ "hset", { "HSET", "KEY", "", "", "?" }, NULL, false },
	{ "hdel", { "HDEL", "KEY", "" }, NULL, false },
	{ "lpush", { "EVAL", lpush, "1", "KEY" }, NULL, false },
	{ "blpop", { "BLPOP", "KEY", "?" }, NULL, false },
	{ "zadd", { "ZADD", "KEY", "?", "" }, NULL, false },
	{ "zcard", { "ZCARD", "KEY" }, NULL, true },
	{ "zrange", { "ZRANGE", "KEY", "0", "0" }, NULL, true },
	{ "zrem", { "ZREM", "KEY", "" }, NULL, false },
	{ "zscore", { "ZSCORE", "KEY", "" }, NULL, true },
	{ "xadd", { "XADD", "KEY", "?", "", "" }, no_history, false },
	{ "xrevrange", { "XREVRANGE", "KEY", "+", "-", "COUNT", "1" },
	    no_history, true },
	{ "xdel", { "XDEL", "KEY", "?" }, no_xdel, false },
	[RIGHT_WAIT] = { "wait", { "WAIT", "?", "?" }, no_replicas, false },
	[RIGHT_HELLO] = { "hello", { "HELLO", "2" }, no_pushes, false },
	[RIGHT_TRACKING] = { "client|tracking", { "CLIENT", "TRACKING", "?" },
	    no_pushes, false },
};

/*
 * Appends the prefix with the characters escaped that have a meaning in a
 * pattern.
 */
static char *
add_literally(char *dst, const char *prefix)
{
	for (; *prefix != '\0'; prefix++) {
		if (strchr("*?[\\", *prefix) != NULL)
			*dst++ = '\\';
		*dst++ = *prefix;
	}
	return dst;
}

/*
 * Whether the pattern of the locks' own keys covers the auxiliary keys as well.
 */
static bool
serves_all(const char *prefix)
{
	char key[LOCK_KEY], aux[LOCK_KEY];

	key_names(key, aux, prefix, "");
	return strncmp(key, aux, strlen(key)) == 0;
}

char *
acl_part(char dst[ACL_TEXT], const char *prefix, int patterns,
    uint32_t commands)
{
	char *to = dst;

	/* Redis rejects a further pattern beside ~*. */
	if (patterns != 0 && serves_all(prefix))
		patterns = PATTERN_LOCK;
	for (int p = PATTERN_LOCK; p <= PATTERN_BESIDE; p++)
		if (patterns & p) {
			to = stpcpy(to, p == PATTERN_LOCK ? " ~" : " ~{");
			to = add_literally(to, prefix);
			*to++ = '*';
		}
	*to = '\0';
	for (int i = 0; i < RIGHTS; i++)
		if (commands & RIGHT_BIT(i))
			to = stpcpy(stpcpy(to, " +"), rights[i].command);
	if (to > dst)
		memmove(dst, dst + 1,
		    (size_t)(to - dst)); /* drops the leading blank */
	return dst;
}

char *
acl_text(char dst[ACL_TEXT], const char *prefix)
{
	return acl_part(dst, prefix, PATTERN_ALL, RIGHTS_ALL);
}

char *
acl_names(char dst[ACL_TEXT], uint32_t commands)
{
	char *to = dst;

	*to = '\0';
	for (int i = 0; i < RIGHTS; i++)
		if (commands & RIGHT_BIT(i))
			to = stpcpy(stpcpy(to, to > dst ? ", " : ""),
			    rights[i].command);
	return dst;
}

uint32_t
acl_needed(uint32_t commands)
{
	for (int i = 0; i < RIGHTS; i++)
		if (rights[i].without != NULL)
			commands &= ~RIGHT_BIT(i);
	return commands;
}

uint32_t
acl_asking(uint32_t commands)
{
	for (int i = 0; i < RIGHTS; i++)
		if (!rights[i].asks)
			commands &= ~RIGHT_BIT(i);
	return commands;
}

uint32_t
acl_idle(uint32_t commands)
{
	for (int i = 0; i < RIGHTS; i++)
		if (rights[i].without == NULL || rights[i].without[0] != '\0')
			commands &= ~RIGHT_BIT(i);
	return commands;
}
