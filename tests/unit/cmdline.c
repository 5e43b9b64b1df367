/*
 * The values that argv and the environment give to the rest of the program.
 * tests/cli/options.bats tests errors and their messages.
 */
#include <sys/wait.h>

#include "../../src/config/cmdline.c"
#include "../../src/config/credentials.c"
#include "base/clock.h"
#include "base/exit.h"
#include "../../src/config/names.c"
#include "../../src/config/servers.c"
#include "../../src/config/settings.c"
#include "tap.h"

#define WORDS 16

static struct options opt;

static const char *const variables[] = { "REDLOCK_REDIS", "REDLOCK_PREFIX",
	"REDLOCK_TTL", "REDLOCK_KILL_AFTER", "REDLOCK_NODE_TIMEOUT",
	"REDLOCK_RESTART_GRACE", "REDLOCK_PASSWORD_FILE", "REDLOCK_LOG",
	"REDISCLI_AUTH" };

static void
clear_environment(void)
{
	/* Nor may the host's own file be read. */
	setenv("REDLOCK_CONFIG", "/dev/null", 1);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
}

/* Parses words that blanks separate, and " -k n -- true" behind them. */
static void
parse(const char *line)
{
	static char copy[2048];
	static char *argv[WORDS + 1];
	int argc = 0;

	options_release(&opt);
	snprintf(copy, sizeof(copy), "redlock-run %s%s", line,
	    strstr(line, "--status") == NULL ? " -k n -- true" : "");
	for (char *word = strtok(copy, " "); word != NULL && argc < WORDS;
	     word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	memset(&opt, 0x55, sizeof(opt));
	cmdline_parse(&opt, argv);
}

/* Whether the same ends with a usage error. */
static bool
refuses(const char *line)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == -1)
		abort();
	if (pid == 0) {
		close(STDERR_FILENO);
		parse(line);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_USAGE;
}

/* A private file with these bytes. */
static const char *
file_with(const void *bytes, size_t len)
{
	static char path[512];
	const char *dir = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%s/options.XXXXXX",
	    dir != NULL ? dir : "/tmp");
	fd = mkstemp(path);
	if (fd == -1 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
	return path;
}

static void
defaults(void)
{
	parse("");
	SAME_INT(opt.mode, MODE_RUN);
	SAME_TEXT(opt.names.joined, "n");
	SAME_TEXT(opt.command[0], "true");
	CHECK(opt.command[1] == NULL);
	SAME_INT(opt.servers.n, 1);
	SAME_TEXT(opt.servers.address[0].text, ADDRESS_DEFAULT);
	CHECK(opt.servers.address[0].password == NULL);
	CHECK(opt.servers.is_default);
	SAME_TEXT(opt.settings.prefix, "redlock:");
	SAME_INT(opt.settings.ttl_ms, 60000);
	SAME_INT(opt.settings.node_timeout_ms, 3000);
	SAME_INT(opt.settings.grace_ms, 0);
	SAME_INT(opt.min_hold_ms, 0);
	CHECK(opt.max_run_ms == CLOCK_NEVER);
	SAME_INT(opt.settings.kill_after_ms, 5000);
	SAME_INT(opt.conflict_status, 75);
	CHECK(!opt.warn_on_loss && !opt.only_command);
	CHECK(!opt.quiet && !opt.verbose && !opt.json);
}

static void
each_option(void)
{
	parse("-n -E 7 -t 1.5s --min-hold 2s --max-run 3m --kill-after 0");
	SAME_INT(opt.conflict_status, 7);
	SAME_INT(opt.settings.ttl_ms, 1500);
	SAME_INT(opt.min_hold_ms, 2000);
	SAME_INT(opt.max_run_ms, 180000);
	SAME_INT(opt.settings.kill_after_ms, 0);
	parse("--max-run inf");
	CHECK(opt.max_run_ms == CLOCK_NEVER);
	parse("--max-run 0");
	CHECK(opt.max_run_ms == CLOCK_NEVER);
	parse("--on-loss warn -o --prefix x: --node-timeout 40ms -v -r h:1");
	CHECK(opt.warn_on_loss && opt.only_command && opt.verbose);
	SAME_TEXT(opt.settings.prefix, "x:");
	SAME_INT(opt.settings.node_timeout_ms, 40);
	SAME_TEXT(opt.servers.address[0].text, "redis://h:1");
	CHECK(!opt.servers.is_default);
	parse("--on-loss=stop -q -E0");
	CHECK(!opt.warn_on_loss && opt.quiet);
	SAME_INT(opt.conflict_status, 0);
	parse("-E 255");
	SAME_INT(opt.conflict_status, 255);
	parse("--status --json");
	SAME_INT(opt.mode, MODE_STATUS);
	CHECK(opt.json);
	CHECK(opt.names.n == 0);
	parse("-k b -k B -kab -k a");
	SAME_INT(opt.names.n, 5);
	SAME_TEXT(opt.names.name[0], "B");
	SAME_TEXT(opt.names.name[1], "a");
	SAME_TEXT(opt.names.name[2], "ab");
	SAME_TEXT(opt.names.name[3], "b");
	SAME_TEXT(opt.names.joined, "B, a, ab, b, n");
}

static void
node_timeouts(void)
{
	static const struct {
		const char *line;
		int64_t want_ms;
	} rows[] = { { "-t 200ms", 50 }, { "-t 499ms", 50 }, { "-t 510ms", 51 },
		{ "-t 1s", 100 }, { "-t 29s", 2900 }, { "-t 30s", 3000 },
		{ "-t 1d", 3000 }, { "-t 1d --node-timeout 7s", 7000 },
		{ "--node-timeout 1ms", 1 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse(rows[i].line);
		SAME_INT(opt.settings.node_timeout_ms, rows[i].want_ms);
	}
}

/* Whether these are the servers, in this order; NULL ends them. */
static void
same_servers(const char *const texts[])
{
	int n = 0;

	for (; texts[n] != NULL && n < opt.servers.n; n++)
		SAME_TEXT(opt.servers.address[n].text, texts[n]);
	CHECK(texts[n] == NULL && n == opt.servers.n);
	CHECK(!opt.servers.is_default);
}

static void
several_servers(void)
{
	static const char *const three[] = { "redis://a:6379", "redis://b:1",
		"unix:///s?db=2", NULL };
	static const char *const one[] = { "redis://h:6379", NULL };
	char many[32 * 8] = "";

	parse("-r a -r b:1 -r unix:///s?db=2");
	same_servers(three);
	setenv("REDLOCK_REDIS", " redis://a  b:1\tunix:///s?db=2\n", 1);
	parse("");
	same_servers(three);
	parse("-r h");
	same_servers(one);
	setenv("REDLOCK_REDIS", " \t", 1);
	CHECK(refuses(""));
	setenv("REDLOCK_REDIS", "a b:x c", 1);
	CHECK(refuses(""));
	for (int i = 1; i <= 32; i++) {
		setenv("REDLOCK_REDIS", many, 1);
		snprintf(many + strlen(many), sizeof(many) - strlen(many),
		    " h:%d", i);
	}
	parse("");
	SAME_INT(opt.servers.n, 31);
	setenv("REDLOCK_REDIS", many, 1);
	CHECK(refuses(""));
	clear_environment();
}

static void
restart_graces(void)
{
	static const struct {
		const char *line;
		const char *environment;
		int64_t want_ms; /* -1: refused */
	} rows[] = {
		{ "", NULL, 0 },
		{ "-t 1h", NULL, 0 },
		{ "--restart-grace 90", NULL, 90000 },
		{ "", "90s", 90000 },
		{ "-r a -r b", NULL, 60000 },
		{ "-r a -r b -r c -t 60s", NULL, 60000 },
		{ "-r a -r b -r c -t 61s", NULL, -1 },
		{ "-r a -r b -r c -t 1h --restart-grace 0", NULL, 0 },
		{ "-r a -r b -r c -t 1h", "0", 0 },
		{ "-r a -r b -r c --restart-grace 2m", "3m", 120000 },
		{ "-r a -r b -r c", "3m", 180000 },
		{ "-r a -r b -r c", "59s", -1 },
		{ "-r a -r b -r c -t 5s --restart-grace 5s", NULL, 5000 },
		{ "-r a -r b -r c -t 5s --restart-grace 4999ms", NULL, -1 },
		{ "-t 5s --restart-grace 4999ms", NULL, -1 },
		{ "--status -r a -r b -t 61s", NULL, 60000 },
		{ "--restart-grace x", NULL, -1 },
		{ "--restart-grace -1", NULL, -1 },
		{ "", "", -1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].environment != NULL)
			setenv("REDLOCK_RESTART_GRACE", rows[i].environment, 1);
		if (rows[i].want_ms == -1) {
			if (!refuses(rows[i].line))
				tap_fail("'%s' is accepted", rows[i].line);
		} else {
			parse(rows[i].line);
			SAME_INT(opt.settings.grace_ms, rows[i].want_ms);
		}
		clear_environment();
	}
}

static void
servers_named_twice(void)
{
	static const char *const bad[] = { "-r a -r a", "-r a -r b -r a",
		"-r a -r a:6379", "-r a -r redis://a/2",
		"-r redis://u:p@a -r redis://v:q@a",
		"-r unix:///s -r unix:///s", "-r unix:///s -r unix:///s?db=1" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!refuses(bad[i]))
			tap_fail("'%s' is accepted", bad[i]);
	setenv("REDLOCK_REDIS", "a b a:6379", 1);
	CHECK(refuses(""));
	clear_environment();
	parse("-r a:1 -r a:2 -r unix:///a -r unix:///b");
	SAME_INT(opt.servers.n, 4);
}

static void
environments(void)
{
	setenv("REDLOCK_REDIS", "unix:///s?db=2", 1);
	setenv("REDLOCK_PREFIX", "env:", 1);
	setenv("REDLOCK_TTL", "10s", 1);
	setenv("REDLOCK_KILL_AFTER", "1s", 1);
	setenv("REDLOCK_NODE_TIMEOUT", "70ms", 1);
	parse("");
	SAME_TEXT(opt.servers.address[0].text, "unix:///s?db=2");
	CHECK(!opt.servers.is_default);
	SAME_TEXT(opt.settings.prefix, "env:");
	SAME_INT(opt.settings.ttl_ms, 10000);
	SAME_INT(opt.settings.kill_after_ms, 1000);
	SAME_INT(opt.settings.node_timeout_ms, 70);
	parse("-r h -t 20s --prefix x --kill-after 2s --node-timeout 80ms");
	SAME_TEXT(opt.servers.address[0].text, "redis://h:6379");
	SAME_TEXT(opt.settings.prefix, "x");
	SAME_INT(opt.settings.ttl_ms, 20000);
	SAME_INT(opt.settings.kill_after_ms, 2000);
	SAME_INT(opt.settings.node_timeout_ms, 80);
	setenv("REDLOCK_PREFIX", "", 1);
	parse("");
	SAME_TEXT(opt.settings.prefix, "");
	clear_environment();
}

static void
passwords(void)
{
	char line[600];
	const char *path = file_with("from-file\n\n", 11);

	snprintf(line, sizeof(line), "--password-file %s", path);
	setenv("REDISCLI_AUTH", "from-auth", 1);
	parse("");
	SAME_TEXT(opt.servers.address[0].password, "from-auth");
	parse("-r redis://u:own@h");
	SAME_TEXT(opt.servers.address[0].password, "own");
	parse("-r redis://u@h");
	SAME_TEXT(opt.servers.address[0].user, "u");
	SAME_TEXT(opt.servers.address[0].password, "from-auth");
	parse("-r a -r redis://u:own@b -r redis://u@c");
	SAME_TEXT(opt.servers.address[0].password, "from-auth");
	SAME_TEXT(opt.servers.address[1].password, "own");
	SAME_TEXT(opt.servers.address[2].password, "from-auth");
	parse(line);
	SAME_TEXT(opt.servers.address[0].password, "from-file");
	setenv("REDLOCK_PASSWORD_FILE", path, 1);
	parse("");
	SAME_TEXT(opt.servers.address[0].password, "from-file");
	parse("-r redis://u:own@h");
	SAME_TEXT(opt.servers.address[0].password, "own");
	setenv("REDLOCK_PASSWORD_FILE", "/nonexistent", 1);
	parse(line);
	SAME_TEXT(opt.servers.address[0].password, "from-file");
	CHECK(refuses(""));
	clear_environment();
	unlink(path);
	CHECK(refuses("-r redis://u@h"));
	CHECK(refuses("-r redis://u:own@a -r redis://u@b"));
}

static void
password_file(const void *bytes, size_t len, const char *want)
{
	const char *path = file_with(bytes, len);

	setenv("REDLOCK_PASSWORD_FILE", path, 1);
	if (want == NULL)
		CHECK(refuses(""));
	else {
		parse("");
		SAME_TEXT(opt.servers.address[0].password, want);
	}
	clear_environment();
	unlink(path);
}

static void
password_files(void)
{
	char full[ADDRESS_SECRET + 100];

	password_file("secret", 6, "secret");
	password_file("secret\n", 7, "secret");
	password_file("secret\r\n\r\n", 10, "secret");
	password_file("secret\r\nx\r\n", 11, NULL);
	password_file("secret\n# x\n", 11, NULL);
	password_file("#secret\n \n", 10, "#secret");
	password_file("secret \n", 8, NULL);
	password_file("sec\0ret\n", 8, NULL);
	password_file("s%41\n", 5, "s%41");
	password_file("", 0, NULL);
	password_file("\n", 1, NULL);
	password_file("\nsecret\n", 8, NULL);
	memset(full, 'x', sizeof(full));
	password_file(full, sizeof(full), NULL);
	password_file(full, ADDRESS_SECRET, NULL);
	full[ADDRESS_SECRET - 1] = '\0';
	password_file(full, ADDRESS_SECRET - 1, full);
}

/* As from <(a command). */
static void
password_pipe(void)
{
	char path[32];
	int pieces[2], status;
	pid_t pid;

	if (pipe(pieces) == -1 || (pid = fork()) == -1)
		abort();
	if (pid == 0) {
		close(pieces[0]);
		for (const char *c = "secret\n"; *c != '\0'; c++) {
			usleep(10000);
			if (write(pieces[1], c, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	close(pieces[1]);
	snprintf(path, sizeof(path), "/dev/fd/%d", pieces[0]);
	setenv("REDLOCK_PASSWORD_FILE", path, 1);
	parse("");
	SAME_TEXT(opt.servers.address[0].password, "secret");
	clear_environment();
	close(pieces[0]);
	CHECK(waitpid(pid, &status, 0) == pid);
}

static void
long_password(void)
{
	char auth[ADDRESS_SECRET + 1];

	memset(auth, 'x', sizeof(auth) - 1);
	auth[ADDRESS_SECRET] = '\0';
	setenv("REDISCLI_AUTH", auth, 1);
	CHECK(refuses(""));
	auth[ADDRESS_SECRET - 1] = '\0';
	setenv("REDISCLI_AUTH", auth, 1);
	parse("");
	SAME_TEXT(opt.servers.address[0].password, auth);
	clear_environment();
}

static uint64_t
site(const char *line)
{
	parse(line);
	return strtoull(opt.site, NULL, 16);
}

static void
sites(void)
{
	static const char *const others[] = { "-r h", "-r 127.0.0.1:1",
		"-r redis://127.0.0.1/1", "-r redis://u:p@127.0.0.1",
		"-r unix:///127.0.0.1", "--prefix redlock",
		"--prefix redlock::", "-r 127.0.0.1:637 --prefix 9redlock:" };
	uint64_t ours = site("");

	CHECK(site("-r redis://127.0.0.1") == ours);
	CHECK(site("-r 127.0.0.1:6379 --prefix redlock:") == ours);
	CHECK(site("-r redis://:secret@127.0.0.1:6379/0") == ours);
	CHECK(site("-t 7s --max-run 9 -o -q") == ours);
	CHECK(site("--restart-grace 2m") == ours);
	ours = site("-r a -r b");
	CHECK(site("-r b -r redis://:p@a") == ours);
	CHECK(site("-r a") != ours && site("-r b") != ours);
	CHECK(site("-r a -r c") != ours && site("-r a -r b -r c") != ours);
	ours = site("");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (site(others[i]) == ours)
			tap_fail("%s is the same", others[i]);
}

/* As the draft has it for a single byte of 0. */
static void
fnv(void)
{
	CHECK(fnv1a(UINT64_C(14695981039346656037), "") ==
	    UINT64_C(0xaf63bd4c8601b7df));
}

static void
braces(void)
{
	static const char *const good[] = { "", "nightly", "{tag}", "a{tag}b",
		"{a}{b}", "{a}{}", "{a}}", "{{a}", "{", "a{", "{{", "{a" };
	static const char *const bad[] = { "}", "a}", "{}", "a{}b", "{}{a}",
		"}{", "}}", "a}b{c" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (bad_braces(good[i]))
			tap_fail("'%s' is refused", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!bad_braces(bad[i]))
			tap_fail("'%s' is accepted", bad[i]);
}

static const struct tap_test tests[] = {
	{ "without options the defaults hold", defaults },
	{ "every option arrives", each_option },
	{ "the node timeout is a tenth of the TTL, from 50 ms to 3 s",
	    node_timeouts },
	{ "several servers are read, in their order", several_servers },
	{ "the restart grace is 60 s with several servers, and no TTL longer",
	    restart_graces },
	{ "a server named twice is refused", servers_named_twice },
	{ "the environment is read, and the command line beats it",
	    environments },
	{ "the URL's own password beats the file, the file REDISCLI_AUTH, and "
	  "a user needs one",
	    passwords },
	{ "a password file has the password in its first line",
	    password_files },
	{ "a password may come from a pipe, in pieces", password_pipe },
	{ "a password that is too long is refused, never cut", long_password },
	{ "the fingerprint tells servers and prefixes apart, nothing else",
	    sites },
	{ "the fingerprint is FNV-1a", fnv },
	{ "braces are refused unless they make a {tag}", braces },
};

int
main(void)
{
	int status;

	clear_environment();
	status = TAP_MAIN(tests);
	options_release(&opt);
	return status;
}
