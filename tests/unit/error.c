/* The texts of errors as users read them. */
#include "../../src/redis/error.c"
#include "tap.h"

static void
trimmed(const char *text, const char *want)
{
	char *copy = tap_bytes(text, strlen(text) + 1);

	error_trim(copy);
	SAME_TEXT(copy, want);
	free(copy);
}

static void
trims(void)
{
	trimmed("READONLY You can't write against a read only replica. "
		"script: 8d1f5f9e1c5d4f3f9a1e, on @user_script:7.",
	    "READONLY You can't write against a read only replica.");
	trimmed("OOM command not allowed script: f_1, on @user_script: 7.",
	    "OOM command not allowed");
	trimmed("ERR script: killed", "ERR script: killed");
	trimmed("ERR ACL failure in script: User a has no permissions to run "
		"the 'del' command script: 8d1f, on @user_script:7.",
	    "ERR ACL failure in script: User a has no permissions to run "
	    "the 'del' command");
	trimmed("ERR unknown command", "ERR unknown command");
	trimmed("", "");
}

static void
copied(size_t size, const char *text, const char *want)
{
	char *buf = calloc(1, size);

	CHECK(error_copy(buf, size, text) == buf);
	SAME_TEXT(buf, want);
	free(buf);
}

static void
cuts(void)
{
	copied(20, "Connection refused", "Connection refused");
	copied(19, "Connection refused", "Connection refused");
	copied(18, "Connection refused", "Connection...");
	copied(13, "one two three four", "one two...");
	copied(8, "Connection refused", "Conn...");
	copied(8, "", "");
}

static void
passes(void)
{
	static const char *const passing[] = {
		"BUSY Redis is busy running a script.",
		"MISCONF Redis is configured to save RDB snapshots",
		"NOREPLICAS Not enough good replicas to write.",
		"LOADING Redis is loading the dataset in memory",
		"MASTERDOWN Link with MASTER is down",
		"OOM command not allowed when used memory > 'maxmemory'.",
		"CLUSTERDOWN The cluster is down",
		/* Redis 6 */
		("ERR Error running script (call to f_1): @user_script:7: "
		 "@user_script: 7: -MISCONF Redis is configured"),
	};
	static const char *const others[] = { "ERR unknown command",
		"BUSYGROUP Consumer Group name already exists", "BUSY", "",
		"ERR BUSY ", "NOPERM it may not", "TRYAGAIN later",
		"WRONGTYPE Operation against a key of another kind",
		"ERR @user_script:7: -ERR it is broken" };
	const char *replica = "READONLY You can't write against a replica.";

	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
		CHECK(error_may_pass(passing[i]));
		CHECK(!error_is_of_replica(passing[i]));
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK(!error_may_pass(others[i]));
	CHECK(error_may_pass(replica));
	CHECK(error_is_of_replica(replica));
}

int
main(void)
{
	static const struct tap_test tests[] = {
		{ "the place in a script is cut off", trims },
		{ "a text that is cut ends behind a word, with ...", cuts },
		{ "some errors say that nothing was executed", passes },
	};

	return TAP_MAIN(tests);
}
