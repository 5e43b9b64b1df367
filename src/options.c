/*
 * The only file that exits for a usage error, and the only one that reads the
 * environment.  Each value is checked here, once, with the name under which
 * the user gave it; the rest of the program trusts struct options.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "exitcode.h"
#include "locks.h"
#include "log.h"
#include "options.h"
#include "owner.h"

static const char usage[] =
    "usage: redlock-run [OPTION]... -k NAME [--] COMMAND [ARG]...\n"
    "       redlock-run --status [-k NAME]... [--json | --watch]\n"
    "       redlock-run --history [-k NAME]... [--json]\n"
    "       redlock-run --break -k NAME [--token TOKEN]\n"
    "       redlock-run --check [--json]\n"
    "\n"
    "Runs COMMAND while holding the lock NAME in Redis, or says who holds it.\n"
    "\n"
    "The lock:\n"
    "  -k, --key NAME            the lock; repeat it to take several, all or none\n"
    "  -w, --wait DURATION       wait for our turn up to that long, or 'inf' (0)\n"
    "  -n, --nonblock            the same as -w 0\n"
    "  -s, --shared              share it with others that do so\n"
    "      --slots N             at most N hold it at a time (1)\n"
    "  -E, --conflict-exit-code N\n"
    "                            exit status when it is busy (75)\n"
    "  -t, --ttl DURATION        the lease, renewed at every third of it (60s)\n"
    "      --at-least DURATION   keep the lock for that long at least (0)\n"
    "\n"
    "The command:\n"
    "      --at-most DURATION    stop COMMAND after that long, exit 124\n"
    "      --kill-after DURATION from SIGTERM to SIGKILL when COMMAND has to be\n"
    "                            stopped (5s)\n"
    "      --on-loss stop|warn   what to do when the lock cannot be held (stop)\n"
    "  -o, --only-command        release when COMMAND itself exits, even if\n"
    "                            processes that it started live on\n"
    "\n"
    "The servers:\n"
    "  -r, --redis URL           redis://[user[:password]@]host[:port][/db],\n"
    "                            unix:///path[?db=N] or host[:port]\n"
    "                            (" ADDRESS_DEFAULT "); repeat it (3, 5, ...)\n"
    "                            for a quorum of independent servers\n"
    "      --prefix TEXT         what goes before NAME in the key (redlock:)\n"
    "      --node-timeout DURATION\n"
    "                            how long a server may take to answer (a tenth\n"
    "                            of the TTL, at least 50ms, at most 3s)\n"
    "      --restart-grace DURATION\n"
    "                            with several servers: one that has been up for\n"
    "                            less has no vote (60s)\n"
    "      --password-file FILE  the password, if the URL has none\n"
    "\n"
    "Asking and telling:\n"
    "      --status              show who holds the lock, or all locks\n"
    "      --watch               and again every second, until q or ^C\n"
    "      --history             show the last runs\n"
    "      --break               take the lock away from a dead holder\n"
    "      --token TOKEN         which one that is\n"
    "      --check               look whether the servers are fit for locks\n"
    "      --json                the same for programs\n"
    "  -q, --quiet               errors only, not even \"busy\"\n"
    "  -v, --verbose             say what happens and how long it took\n"
    "  -h, --help                this text\n"
    "  -V, --version             the version\n"
    "\n"
    "DURATION is a number with ms, s, m, h or d; a bare number is seconds.\n"
    "Also from the environment: REDLOCK_REDIS, REDLOCK_PREFIX, REDLOCK_TTL,\n"
    "REDLOCK_KILL_AFTER, REDLOCK_NODE_TIMEOUT, REDLOCK_RESTART_GRACE,\n"
    "REDLOCK_PASSWORD_FILE and REDISCLI_AUTH.\n"
    "\n"
    "Exit status: COMMAND's; 64 usage, 69 unreachable, 71 system,\n"
    "75 busy, 77 refused, 79 lock lost, 124 --at-most passed, 126 and 127 COMMAND\n"
    "not executable, not found.  See redlock-run(1).\n";

enum {
	OPT_AT_LEAST = 256,
	OPT_AT_MOST,
	OPT_KILL_AFTER,
	OPT_ON_LOSS,
	OPT_PREFIX,
	OPT_NODE_TIMEOUT,
	OPT_PASSWORD_FILE,
	OPT_RESTART_GRACE,
	OPT_SLOTS,
	OPT_STATUS,
	OPT_HISTORY,
	OPT_BREAK,
	OPT_CHECK,
	OPT_WATCH,
	OPT_TOKEN,
	OPT_JSON
};

static const char short_options[] = "+:k:nsE:t:or:qvhVw:";
static const struct option long_options[] = { { "key", required_argument, NULL,
						  'k' },
	{ "wait", required_argument, NULL, 'w' },
	{ "nonblock", no_argument, NULL, 'n' },
	{ "shared", no_argument, NULL, 's' },
	{ "slots", required_argument, NULL, OPT_SLOTS },
	{ "conflict-exit-code", required_argument, NULL, 'E' },
	{ "ttl", required_argument, NULL, 't' },
	{ "at-least", required_argument, NULL, OPT_AT_LEAST },
	{ "at-most", required_argument, NULL, OPT_AT_MOST },
	{ "kill-after", required_argument, NULL, OPT_KILL_AFTER },
	{ "on-loss", required_argument, NULL, OPT_ON_LOSS },
	{ "only-command", no_argument, NULL, 'o' },
	{ "redis", required_argument, NULL, 'r' },
	{ "prefix", required_argument, NULL, OPT_PREFIX },
	{ "node-timeout", required_argument, NULL, OPT_NODE_TIMEOUT },
	{ "restart-grace", required_argument, NULL, OPT_RESTART_GRACE },
	{ "password-file", required_argument, NULL, OPT_PASSWORD_FILE },
	{ "status", no_argument, NULL, OPT_STATUS },
	{ "history", no_argument, NULL, OPT_HISTORY },
	{ "break", no_argument, NULL, OPT_BREAK },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "watch", no_argument, NULL, OPT_WATCH },
	{ "token", required_argument, NULL, OPT_TOKEN },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "quiet", no_argument, NULL, 'q' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' }, { NULL, 0, NULL, 0 } };

/* A value and where it came from, for messages. */
struct setting {
	const char *name;  /* "--ttl", "REDLOCK_TTL" */
	const char *value; /* NULL: not given */
};

static _Noreturn void usage_error(const char *, ...) PRINTF_LIKE(1, 2);

static _Noreturn void
usage_error(const char *fmt, ...)
{
	char text[1536];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	die(EXIT_USAGE, "%s; see redlock-run --help", text);
}

/* What -h and -V say must arrive. */
static _Noreturn void
print_and_exit(const char *text)
{
	if (fputs(text, stdout) == EOF || fflush(stdout) == EOF)
		die(EXIT_OS, "standard output: %s", strerror(errno));
	exit(0);
}

static struct setting
environment(const char *name)
{
	return (struct setting){ name, getenv(name) };
}

/* The command line's if it was given, else the environment's. */
static struct setting
either(struct setting option, const char *variable)
{
	return option.value != NULL ? option : environment(variable);
}

static int64_t
duration(struct setting s, int64_t fallback_ms, int64_t least_ms)
{
	char text[DURATION_TEXT];
	int64_t ms;

	if (s.value == NULL)
		return fallback_ms;
	if (duration_parse(s.value, &ms) == -1)
		usage_error("%s: '%s' is not a duration (as 500ms, 1.5s, 10m, "
			    "2h, 1d)",
		    s.name, s.value);
	if (ms < least_ms)
		usage_error("%s: '%s' is too short, it must be at least %s",
		    s.name, s.value, duration_format(least_ms, text));
	return ms;
}

static int64_t
wait_limit(const char *text)
{
	const struct setting s = { "--wait", text };

	return strcmp(text, "inf") == 0 ? CLOCK_NEVER : duration(s, 0, 0);
}

/* Digits and nothing else. */
static int
number(
    const char *option, const char *what, const char *text, int least, int most)
{
	const char *p = text;
	int n = 0;

	for (; *p >= '0' && *p <= '9' && n <= most; p++)
		n = n * 10 + (*p - '0');
	if (p == text || *p != '\0' || n < least || n > most)
		usage_error("%s: '%s' is not %s from %d to %d", option, text,
		    what, least, most);
	return n;
}

static bool
has_control(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

/* Whether braces would put the keys beside the lock into another slot. */
static bool
bad_braces(const char *s)
{
	const char *open = strchr(s, '{');
	const char *close = open == NULL ? NULL : strchr(open, '}');

	return strchr(s, '}') != NULL && (close == NULL || close == open + 1);
}

static void
check_name(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > LOCK_NAME)
		usage_error("-k: a name has 1 to %d bytes, '%.64s%s' has %zu",
		    LOCK_NAME, name, len > 64 ? "..." : "", len);
	if (has_control(name))
		usage_error("-k: '%s' has a control character in it", name);
	if (strstr(name, ":~") != NULL)
		usage_error(
		    "-k: '%s' has ':~' in it, which marks our own keys", name);
	if (bad_braces(name))
		usage_error("-k: '%s' has a '}' but no {tag}", name);
}

/* In its place: bytewise order, whatever order they were given in. */
static void
add_name(struct options *opt, const char *name)
{
	const char **names;
	int i = opt->nnames;

	check_name(name);
	if (opt->nnames == LOCKS_MAX)
		usage_error("-k: more than %d locks", LOCKS_MAX);
	names = realloc(
	    opt->names, (size_t)(opt->nnames + 1) * sizeof(*opt->names));
	if (names == NULL)
		die(EXIT_OS, "%s", strerror(errno));
	opt->names = names;
	for (; i > 0 && strcmp(names[i - 1], name) >= 0; i--) {
		if (strcmp(names[i - 1], name) == 0)
			usage_error("-k: '%s' is named twice", name);
		names[i] = names[i - 1];
	}
	names[i] = name;
	opt->nnames++;
}

static char *
joined_names(const struct options *opt)
{
	size_t size = 1, used = 0;
	char *text;

	for (int i = 0; i < opt->nnames; i++)
		size += strlen(opt->names[i]) + 2;
	if ((text = malloc(size)) == NULL)
		die(EXIT_OS, "%s", strerror(errno));
	text[0] = '\0';
	for (int i = 0; i < opt->nnames; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s",
		    i > 0 ? ", " : "", opt->names[i]);
	return text;
}

static void
check_prefix(struct setting s)
{
	if (strlen(s.value) > LOCK_NAME)
		usage_error("%s: '%.64s...' is longer than %d bytes", s.name,
		    s.value, LOCK_NAME);
	if (has_control(s.value))
		usage_error(
		    "%s: '%s' has a control character in it", s.name, s.value);
	if (strstr(s.value, ":~") != NULL)
		usage_error("%s: '%s' has ':~' in it, which marks our own "
			    "keys",
		    s.name, s.value);
	if (bad_braces(s.value))
		usage_error("%s: '%s' has a '}' but no {tag}", s.name, s.value);
}

/* The first line of a file, into a buffer of ADDRESS_SECRET. */
static void
read_password(struct setting file, char *password)
{
	char buf[ADDRESS_SECRET + 2];
	int fd = open(file.value, O_RDONLY | O_CLOEXEC);
	struct stat st;
	size_t used = 0;
	ssize_t n;

	if (fd == -1 || fstat(fd, &st) == -1)
		n = -1;
	else /* a pipe may bring it in pieces */
		while ((n = read(fd, buf + used, sizeof(buf) - 1 - used)) > 0)
			used += (size_t)n;
	if (n == -1)
		usage_error("%s: '%s' cannot be read: %s", file.name,
		    file.value, strerror(errno));
	close(fd);
	if (S_ISREG(st.st_mode) && (st.st_mode & S_IROTH) != 0)
		usage_error("%s: '%s' can be read by others; chmod 600 it",
		    file.name, file.value);
	buf[used] = '\0';
	buf[strcspn(buf, "\r\n")] = '\0';
	if (buf[0] == '\0')
		usage_error("%s: '%s' holds no password in its first line",
		    file.name, file.value);
	if (strlen(buf) >= ADDRESS_SECRET)
		usage_error("%s: '%s' holds a password that is longer than "
			    "%d bytes",
		    file.name, file.value, ADDRESS_SECRET - 1);
	memcpy(password, buf, strlen(buf) + 1);
}

/* The password for a URL without one of its own; empty if there is none. */
static void
find_password(struct setting option, char *password)
{
	struct setting file = either(option, "REDLOCK_PASSWORD_FILE");
	struct setting auth = environment("REDISCLI_AUTH");

	password[0] = '\0';
	if (file.value != NULL)
		read_password(file, password);
	else if (auth.value != NULL) {
		if (strlen(auth.value) >= ADDRESS_SECRET)
			usage_error("%s is longer than %d bytes", auth.name,
			    ADDRESS_SECRET - 1);
		memcpy(password, auth.value, strlen(auth.value) + 1);
	}
}

static bool
same_place(const struct address *a, const struct address *b)
{
	return a->port == b->port && strcmp(a->host, b->host) == 0 &&
	    strcmp(a->path, b->path) == 0;
}

static void
add_server(struct options *opt, const char *name, const char *url)
{
	char masked[ADDRESS_TEXT];
	struct address *a;
	const char *why;

	if (opt->naddresses == LOCK_SERVERS)
		usage_error("%s: more than %d servers", name, LOCK_SERVERS);
	a = realloc(opt->addresses,
	    (size_t)(opt->naddresses + 1) * sizeof(*opt->addresses));
	if (a == NULL)
		die(EXIT_OS, "%s", strerror(errno));
	opt->addresses = a;
	a += opt->naddresses;
	address_mask(masked, sizeof(masked), url);
	why = address_parse(a, url);
	if (why != NULL)
		usage_error("%s: '%s' %s", name, masked, why);
	for (int i = 0; i < opt->naddresses; i++)
		if (same_place(a, &opt->addresses[i]))
			usage_error("%s: '%s' is named twice; each server has "
				    "one vote",
			    name, masked);
	opt->naddresses++;
}

/* Servers that the command line does not name: the environment's, or ours. */
static void
find_servers(struct options *opt)
{
	struct setting s = environment("REDLOCK_REDIS");
	char *copy, *word, *rest;

	if (opt->naddresses > 0)
		return;
	if (s.value == NULL) {
		opt->default_server = true;
		add_server(opt, "-r", ADDRESS_DEFAULT);
		return;
	}
	if ((copy = strdup(s.value)) == NULL)
		die(EXIT_OS, "%s", strerror(errno));
	for (rest = copy; (word = strsep(&rest, " \t\n")) != NULL;)
		if (*word != '\0')
			add_server(opt, s.name, word);
	free(copy);
	if (opt->naddresses == 0)
		usage_error("%s names no server", s.name);
}

/* For every URL without a password of its own. */
static void
fill_passwords(struct options *opt, struct setting pw_file)
{
	char password[ADDRESS_SECRET];

	find_password(pw_file, password);
	for (int i = 0; i < opt->naddresses; i++) {
		struct address *a = &opt->addresses[i];

		if (a->password[0] == '\0')
			memcpy(a->password, password, sizeof(password));
		if (a->user[0] != '\0' && a->password[0] == '\0')
			usage_error("'%s' has a user but no password, nor is "
				    "there one elsewhere",
			    a->text);
	}
}

/* FNV-1a, as in draft-eastlake-fnv. */
static uint64_t
fingerprint(uint64_t hash, const char *text)
{
	do {
		hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
	} while (*text++ != '\0');
	return hash;
}

/* The order in which servers are named makes no difference. */
static uint64_t
site_of(const struct options *opt)
{
	const uint64_t basis = UINT64_C(14695981039346656037);
	uint64_t servers = 0;

	for (int i = 0; i < opt->naddresses; i++)
		servers += fingerprint(basis, opt->addresses[i].text);
	return fingerprint(servers ^ basis, opt->prefix);
}

/* A word that was a mistake, and may all the same be a URL with a password. */
static const char *
masked(const char *word)
{
	static char text[ADDRESS_TEXT];

	return address_mask(text, sizeof(text), word);
}

/* What getopt did not like, as the user typed it. */
static _Noreturn void
bad_option(int c, char **argv)
{
	const char *word = argv[optind - 1];

	if (c == ':' && strncmp(word, "--", 2) != 0)
		usage_error("option '-%c' needs a value", optopt);
	if (c == ':')
		usage_error("option '%s' needs a value", word);
	if (optopt > 0 && optopt < 256 && strncmp(word, "--", 2) != 0)
		usage_error("unknown option '-%c'", optopt);
	if (strncmp(word, "--", 2) != 0)
		word = argv[optind];
	if (optopt != 0)
		usage_error("'%s': this option takes no value", masked(word));
	usage_error("unknown or ambiguous option '%s'", masked(word));
}

static const char *const mode_names[] = { [MODE_STATUS] = "--status",
	[MODE_HISTORY] = "--history",
	[MODE_BREAK] = "--break",
	[MODE_CHECK] = "--check" };

static void
set_mode(struct options *opt, enum mode mode)
{
	if (opt->mode != MODE_RUN && opt->mode != mode)
		usage_error("%s and %s do not go together",
		    mode_names[opt->mode], mode_names[mode]);
	opt->mode = mode;
}

/* --watch draws, and reads keys. */
static void
check_terminal(void)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		usage_error("--watch draws on a terminal, and standard %s is "
			    "none; --status alone prints once",
		    isatty(STDOUT_FILENO) ? "input" : "output");
	if (term == NULL || *term == '\0' || strcmp(term, "dumb") == 0)
		usage_error("--watch draws on a terminal, and TERM=%s is not "
			    "one that can be drawn on; --status alone prints "
			    "once",
		    term == NULL ? "" : term);
}

/* What goes together; only_run is an option that only a run has, or NULL. */
static void
check_mode(const struct options *opt, const char *only_run)
{
	const char *mode = mode_names[opt->mode];

	if (opt->watch && opt->mode != MODE_STATUS)
		usage_error("--watch goes with --status");
	if (opt->watch && opt->json)
		usage_error("--watch and --json do not go together");
	if (opt->token != NULL && opt->mode != MODE_BREAK)
		usage_error("--token goes with --break");
	if (opt->token != NULL && !owner_is_token(opt->token))
		usage_error("--token: '%s' is no token, as --break and "
			    "--status -v print them",
		    opt->token);
	if (opt->json && (opt->mode == MODE_RUN || opt->mode == MODE_BREAK))
		usage_error("--json goes with --status, --history or --check");
	if (opt->mode == MODE_RUN) {
		if (opt->nnames == 0)
			usage_error("which lock? -k NAME is missing");
		if (opt->command[0] == NULL)
			usage_error("which command? COMMAND is missing");
		return;
	}
	if (only_run != NULL)
		usage_error("%s does not go with %s", only_run, mode);
	if (opt->command[0] != NULL)
		usage_error(
		    "'%s': %s runs no command", masked(opt->command[0]), mode);
	if (opt->mode == MODE_BREAK && opt->nnames == 0)
		usage_error("which lock? -k NAME is missing");
	if (opt->mode == MODE_BREAK && opt->nnames > 1)
		usage_error("--break takes one lock at a time");
	if (opt->mode == MODE_CHECK && opt->nnames > 0)
		usage_error("-k does not go with --check: it is about servers");
	if (opt->watch)
		check_terminal();
}

void
options_parse(struct options *opt, int argc, char **argv)
{
	struct setting ttl = { "--ttl", NULL };
	struct setting at_least = { "--at-least", NULL };
	struct setting at_most = { "--at-most", NULL };
	struct setting kill_after = { "--kill-after", NULL };
	struct setting prefix = { "--prefix", NULL };
	struct setting node_timeout = { "--node-timeout", NULL };
	struct setting password_file = { "--password-file", NULL };
	struct setting grace = { "--restart-grace", NULL };
	const char *only_run = NULL; /* an option that --status has not */
	bool shared = false, slots = false;
	char text[2][DURATION_TEXT];
	int64_t tenth;
	int c;

	memset(opt, 0, sizeof(*opt));
	opt->conflict_status = EXIT_BUSY;
	opt->limit = 1;
	opterr = 0;
	while ((c = getopt_long(
		    argc, argv, short_options, long_options, NULL)) != -1) {
		switch (c) {
		case 'k':
			add_name(opt, optarg);
			break;
		case 'w':
			opt->wait_ms = wait_limit(optarg);
			only_run = "--wait";
			break;
		case 'n':
			opt->wait_ms = 0;
			only_run = "--nonblock";
			break;
		case 's':
			shared = true;
			only_run = "--shared";
			break;
		case OPT_SLOTS:
			opt->limit = number(
			    "--slots", "a number", optarg, 1, LOCK_SLOTS);
			slots = true;
			only_run = "--slots";
			break;
		case 'E':
			opt->conflict_status =
			    number("-E", "an exit status", optarg, 0, 255);
			only_run = "--conflict-exit-code";
			break;
		case 't':
			ttl.value = optarg;
			break;
		case OPT_AT_LEAST:
			at_least.value = optarg;
			only_run = at_least.name;
			break;
		case OPT_AT_MOST:
			at_most.value = optarg;
			only_run = at_most.name;
			break;
		case OPT_KILL_AFTER:
			kill_after.value = optarg;
			break;
		case OPT_ON_LOSS:
			if (strcmp(optarg, "stop") != 0 &&
			    strcmp(optarg, "warn") != 0)
				usage_error("--on-loss: '%s' is neither 'stop' "
					    "nor 'warn'",
				    optarg);
			opt->warn_on_loss = strcmp(optarg, "warn") == 0;
			only_run = "--on-loss";
			break;
		case 'o':
			opt->only_command = true;
			only_run = "--only-command";
			break;
		case 'r':
			add_server(opt, "-r", optarg);
			address_wipe(optarg); /* ps(1) shows it */
			break;
		case OPT_PREFIX:
			prefix.value = optarg;
			break;
		case OPT_NODE_TIMEOUT:
			node_timeout.value = optarg;
			break;
		case OPT_RESTART_GRACE:
			grace.value = optarg;
			break;
		case OPT_PASSWORD_FILE:
			password_file.value = optarg;
			break;
		case OPT_STATUS:
			set_mode(opt, MODE_STATUS);
			break;
		case OPT_HISTORY:
			set_mode(opt, MODE_HISTORY);
			break;
		case OPT_BREAK:
			set_mode(opt, MODE_BREAK);
			break;
		case OPT_CHECK:
			set_mode(opt, MODE_CHECK);
			break;
		case OPT_WATCH:
			opt->watch = true;
			break;
		case OPT_TOKEN:
			opt->token = optarg;
			break;
		case OPT_JSON:
			opt->json = true;
			break;
		case 'q':
			opt->quiet = true;
			break;
		case 'v':
			opt->verbose = true;
			break;
		case 'h':
			print_and_exit(usage);
		case 'V':
			print_and_exit("redlock-run " VERSION "\n");
		default:
			bad_option(c, argv);
		}
	}

	opt->argv = argv;
	opt->command = argv + optind;
	check_mode(opt, only_run);
	if (opt->quiet && opt->verbose)
		usage_error("-q and -v do not go together");
	if (shared && slots)
		usage_error("--shared and --slots do not go together");
	if (shared)
		opt->limit = 0;
	log_set(opt->quiet   ? LOG_QUIET :
		opt->verbose ? LOG_VERBOSE :
			       LOG_NORMAL);

	opt->ttl_ms = duration(either(ttl, "REDLOCK_TTL"), 60000, 100);
	opt->at_least_ms = duration(at_least, 0, 0);
	opt->at_most_ms = duration(at_most, 0, 0);
	opt->kill_after_ms =
	    duration(either(kill_after, "REDLOCK_KILL_AFTER"), 5000, 0);
	tenth = opt->ttl_ms / 10;
	opt->node_timeout_ms =
	    duration(either(node_timeout, "REDLOCK_NODE_TIMEOUT"),
		tenth < 50       ? 50 :
		    tenth > 3000 ? 3000 :
				   tenth,
		1);

	prefix = either(prefix, "REDLOCK_PREFIX");
	if (prefix.value != NULL)
		check_prefix(prefix);
	opt->prefix = prefix.value != NULL ? prefix.value : "redlock:";
	if ((opt->mode == MODE_STATUS || opt->mode == MODE_HISTORY) &&
	    opt->nnames == 0 && opt->prefix[0] == '\0')
		usage_error("%s with an empty prefix needs -k: every key would "
			    "be a lock",
		    mode_names[opt->mode]);
	find_servers(opt);
	fill_passwords(opt, password_file);
	opt->grace_ms = duration(either(grace, "REDLOCK_RESTART_GRACE"),
	    opt->naddresses > 1 ? 60000 : 0, 0);
	if ((opt->mode == MODE_RUN || opt->mode == MODE_CHECK) &&
	    opt->grace_ms > 0 && opt->ttl_ms > opt->grace_ms)
		usage_error("--ttl: %s is more than the restart grace of %s "
			    "(--restart-grace): a server that restarts could "
			    "forget the lock",
		    duration_format(opt->ttl_ms, text[0]),
		    duration_format(opt->grace_ms, text[1]));
	if (opt->naddresses % 2 == 0)
		info("%d servers are no safer than %d: a majority of them is "
		     "%d",
		    opt->naddresses, opt->naddresses - 1,
		    opt->naddresses / 2 + 1);
	snprintf(opt->site, sizeof(opt->site), "%016" PRIx64, site_of(opt));
	opt->name = joined_names(opt);
}

void
options_release(struct options *opt)
{
	free(opt->addresses);
	free(opt->names);
	free(opt->name);
	opt->addresses = NULL;
	opt->names = NULL;
	opt->name = NULL;
}
