/*
 * The command line.  This file, site.c and names.c are those that exit for a
 * usage error: each value is checked there, once, with the name under which
 * the user gave it; the rest of the program trusts struct options.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/clock.h"
#include "base/die.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "config/names.h"
#include "config/options.h"
#include "config/settings.h"
#include "protocol/key.h"
#include "protocol/quorum.h"

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
    "      --replicas N          run COMMAND once N replicas have the lock (0)\n"
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
    "                            (" ADDRESS_DEFAULT "); or\n"
    "                            redis+sentinel://host[:port][,...]/master[/db],\n"
    "                            redis+cluster://host[:port][,...]; rediss... for\n"
    "                            TLS; repeat it (3, 5, ...) for a quorum of\n"
    "                            independent servers\n"
    "      --prefix TEXT         what goes before NAME in the key (redlock:)\n"
    "      --node-timeout DURATION\n"
    "                            how long a server may take to answer (a tenth\n"
    "                            of the TTL, at least 50ms, at most 3s)\n"
    "      --restart-grace DURATION\n"
    "                            with several servers: one that has been up for\n"
    "                            less has no vote (60s)\n"
    "      --password-file FILE  the password, if the URL has none\n"
    "      --tls-ca FILE         who signs the servers' certificates (those that\n"
    "                            the system trusts)\n"
    "      --tls-cert FILE       our certificate, if a server wants one,\n"
    "      --tls-key FILE        and its private key\n"
    "      --tls-server-name NAME\n"
    "                            what a server's certificate names (its host)\n"
    "      --config FILE         these settings, a line each\n"
    "                            (" CONFIG_DEFAULT ")\n"
    "\n"
    "Asking and telling:\n"
    "      --status              show who holds the lock, or all locks\n"
    "      --watch               and again every second, until q or ^C\n"
    "      --history             show the last runs\n"
    "      --break               take the lock away from a dead holder\n"
    "      --token TOKEN         which one that is\n"
    "      --check               look whether the servers are fit for locks\n"
    "      --json                the same for programs\n"
    "      --log stderr|syslog   where a run says something (stderr)\n"
    "  -q, --quiet               errors only, not even \"busy\"\n"
    "  -v, --verbose             say what happens and how long it took\n"
    "  -h, --help                this text\n"
    "  -V, --version             the version\n"
    "\n"
    "DURATION is a number with ms, s, m, h or d; a bare number is seconds.\n"
    "Also from the environment: REDLOCK_REDIS, REDLOCK_PREFIX, REDLOCK_TTL,\n"
    "REDLOCK_KILL_AFTER, REDLOCK_NODE_TIMEOUT, REDLOCK_RESTART_GRACE,\n"
    "REDLOCK_PASSWORD_FILE, REDLOCK_TLS_CA, REDLOCK_TLS_CERT, REDLOCK_TLS_KEY,\n"
    "REDLOCK_TLS_SERVER_NAME, REDLOCK_LOG, REDLOCK_CONFIG and REDISCLI_AUTH.\n"
    "\n"
    "Exit status: COMMAND's; 64 usage, 69 unreachable, 71 system,\n"
    "75 busy, 77 refused, 79 lock lost, 124 --at-most passed, 126 and 127 COMMAND\n"
    "not executable, not found.  See redlock-run(1).\n";

enum {
	OPT_AT_LEAST = 256,
	OPT_AT_MOST,
	OPT_ON_LOSS,
	OPT_SLOTS,
	OPT_REPLICAS,
	OPT_WATCH,
	OPT_TOKEN,
	OPT_JSON,
	OPT_PASSWORD,   /* there is none */
	OPT_SITE = 512, /* and the enum site_key */
	OPT_MODE = 768  /* and the enum mode */
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
	{ "replicas", required_argument, NULL, OPT_REPLICAS },
	{ "at-least", required_argument, NULL, OPT_AT_LEAST },
	{ "at-most", required_argument, NULL, OPT_AT_MOST },
	{ "kill-after", required_argument, NULL, OPT_SITE + SITE_KILL_AFTER },
	{ "on-loss", required_argument, NULL, OPT_ON_LOSS },
	{ "only-command", no_argument, NULL, 'o' },
	{ "redis", required_argument, NULL, 'r' },
	{ "prefix", required_argument, NULL, OPT_SITE + SITE_PREFIX },
	{ "node-timeout", required_argument, NULL,
	    OPT_SITE + SITE_NODE_TIMEOUT },
	{ "restart-grace", required_argument, NULL,
	    OPT_SITE + SITE_RESTART_GRACE },
	{ "password-file", required_argument, NULL,
	    OPT_SITE + SITE_PASSWORD_FILE },
	{ "password", required_argument, NULL, OPT_PASSWORD },
	{ "pass", required_argument, NULL, OPT_PASSWORD },
	{ "tls-ca", required_argument, NULL, OPT_SITE + SITE_TLS_CA },
	{ "tls-cert", required_argument, NULL, OPT_SITE + SITE_TLS_CERT },
	{ "tls-key", required_argument, NULL, OPT_SITE + SITE_TLS_KEY },
	{ "tls-server-name", required_argument, NULL,
	    OPT_SITE + SITE_TLS_SERVER_NAME },
	{ "config", required_argument, NULL, OPT_SITE + SITE_CONFIG },
	{ "log", required_argument, NULL, OPT_SITE + SITE_LOG },
	{ "status", no_argument, NULL, OPT_MODE + MODE_STATUS },
	{ "history", no_argument, NULL, OPT_MODE + MODE_HISTORY },
	{ "break", no_argument, NULL, OPT_MODE + MODE_BREAK },
	{ "check", no_argument, NULL, OPT_MODE + MODE_CHECK },
	{ "watch", no_argument, NULL, OPT_WATCH },
	{ "token", required_argument, NULL, OPT_TOKEN },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "quiet", no_argument, NULL, 'q' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' }, { NULL, 0, NULL, 0 } };

void
usage_error(const char *fmt, ...)
{
	char text[1536];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	die(EXIT_USAGE, "%s; see redlock-run --help", text);
}

const char *
quotable(const char *word)
{
	static char text[ADDRESS_TEXT];

	return address_mask(text, sizeof(text), word);
}

/* What -h and -V say must arrive. */
static _Noreturn void
print_and_exit(const char *text)
{
	fputs(text, stdout);
	flush_output();
	exit(0);
}

static int64_t
wait_limit(const char *text)
{
	const struct setting s = { "--wait", text };

	return strcmp(text, "inf") == 0 ? CLOCK_NEVER :
					  setting_duration(s, 0, 0);
}

/* Digits and nothing else. */
static int
number(
    const char *option, const char *what, const char *text, int least, int most)
{
	int64_t n;

	if (number_parse(text, strlen(text), most, &n) == -1 || n < least)
		usage_error("%s: '%s' is not %s from %d to %d", option,
		    quotable(text), what, least, most);
	return (int)n;
}

/* Whether getopt_long() means a long option by its optopt, not an unknown -c. */
static bool
names_long_option(int its_optopt)
{
	for (const struct option *o = long_options; o->name != NULL; o++)
		if (o->val == its_optopt)
			return true;
	return its_optopt == 0; /* unknown or ambiguous */
}

/*
 * Reports what getopt_long() rejected, without its value, which may be a
 * password.  optopt is a char, negative for a byte above 0x7f.
 */
static _Noreturn void
bad_option(int c, char **argv)
{
	const char *word = argv[optind - 1];
	int len;

	if (c == ':' && strncmp(word, "--", 2) != 0)
		usage_error("option '-%c' needs a value", optopt);
	if (c == ':')
		usage_error("option '%s' needs a value", word);
	if (!names_long_option(optopt))
		usage_error("unknown option '-%c'", optopt);
	/* Masked before it is cut, which may leave half of a URL. */
	word = quotable(word);
	len = (int)strcspn(word, "=");
	if (optopt != 0)
		usage_error("'%.*s': this option takes no value", len, word);
	usage_error("unknown or ambiguous option '%.*s'", len, word);
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
	if (opt->token != NULL && opt->token[0] == '\0')
		usage_error("--token: '' is no token, as --break and "
			    "--status -v print them");
	if (opt->json && (opt->mode == MODE_RUN || opt->mode == MODE_BREAK))
		usage_error("--json goes with --status, --history or --check");
	if (opt->mode == MODE_RUN) {
		if (opt->nnames == 0)
			usage_error("which lock? -k NAME is missing");
		if (opt->command[0] == NULL)
			usage_error("which command? COMMAND is missing");
		/* It would be a name in messages and in Redis. */
		if (strstr(opt->command[0], "://") != NULL ||
		    address_has_password(opt->command[0]))
			usage_error("'%s' is a URL and no command; -r names a "
				    "server",
			    quotable(opt->command[0]));
		return;
	}
	if (only_run != NULL)
		usage_error("%s does not go with %s", only_run, mode);
	if (opt->command[0] != NULL)
		usage_error("'%s': %s runs no command",
		    quotable(opt->command[0]), mode);
	if (opt->mode == MODE_BREAK && opt->nnames == 0)
		usage_error("which lock? -k NAME is missing");
	if (opt->mode == MODE_BREAK && opt->nnames > 1)
		usage_error("--break takes one lock at a time");
	if (opt->mode == MODE_CHECK && opt->nnames > 0)
		usage_error("-k does not go with --check: it is about servers");
	if (opt->watch)
		check_terminal();
}

/* What of the site's settings goes together, and with the rest. */
static void
check_site(const struct options *opt)
{
	if ((opt->mode == MODE_STATUS || opt->mode == MODE_HISTORY) &&
	    opt->nnames == 0 && opt->prefix[0] == '\0')
		usage_error("%s with an empty prefix needs -k: every key would "
			    "be a lock",
		    mode_names[opt->mode]);
	for (int i = 0; i < opt->nnames; i++)
		if (names_shadow(opt->prefix, opt->names[i]))
			usage_error("-k: '%s' is all in braces; with --prefix "
				    "'%s' it would have the queue of the lock "
				    "without them",
			    quotable(opt->names[i]), opt->prefix);
	if (opt->naddresses % 2 == 0)
		info("%d servers are no safer than %d: a majority of them is "
		     "%d",
		    opt->naddresses, opt->naddresses - 1,
		    quorum_of(opt->naddresses));
}

void
options_parse(struct options *opt, int argc, char **argv)
{
	struct setting at_least = { "--at-least", NULL };
	struct setting at_most = { "--at-most", NULL };
	struct site site = { 0 };
	const char *only_run = NULL; /* an option that --status has not */
	bool shared = false, slots = false;
	int c;

	memset(opt, 0, sizeof(*opt));
	opt->conflict_status = EXIT_BUSY;
	opt->capacity = 1;
	opterr = 0;
	while ((c = getopt_long(
		    argc, argv, short_options, long_options, NULL)) != -1) {
		switch (c) {
		case 'k':
			names_add(opt, optarg);
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
			opt->capacity = number(
			    "--slots", "a number", optarg, 1, LOCK_SLOTS);
			slots = true;
			only_run = "--slots";
			break;
		case OPT_REPLICAS:
			opt->replicas =
			    number("--replicas", "a number", optarg, 0, 1000);
			only_run = "--replicas";
			break;
		case 'E':
			opt->conflict_status =
			    number("-E", "an exit status", optarg, 0, 255);
			only_run = "--conflict-exit-code";
			break;
		case 't':
			site_set(&site, SITE_TTL, optarg);
			break;
		case OPT_AT_LEAST:
			at_least.value = optarg;
			only_run = at_least.name;
			break;
		case OPT_AT_MOST:
			at_most.value = optarg;
			only_run = at_most.name;
			break;
		case OPT_ON_LOSS:
			if (strcmp(optarg, "stop") != 0 &&
			    strcmp(optarg, "warn") != 0)
				usage_error("--on-loss: '%s' is neither 'stop' "
					    "nor 'warn'",
				    quotable(optarg));
			opt->warn_on_loss = strcmp(optarg, "warn") == 0;
			only_run = "--on-loss";
			break;
		case 'o':
			opt->only_command = true;
			only_run = "--only-command";
			break;
		case 'r':
			site_add_server(opt, "-r", optarg);
			address_wipe(optarg); /* ps(1) shows it */
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
		case OPT_PASSWORD:
			/* Else it would be a file's name, and quoted as such. */
			usage_error("a password on the command line is seen by "
				    "everybody; --password-file or "
				    "REDISCLI_AUTH gives it");
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
			if (c >= OPT_MODE)
				set_mode(opt, (enum mode)(c - OPT_MODE));
			else if (c >= OPT_SITE)
				site_set(&site, (enum site_key)(c - OPT_SITE),
				    optarg);
			else
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
	opt->lock_mode = shared ? LOCK_SHARED :
	    opt->capacity > 1   ? LOCK_SLOTTED :
				  LOCK_EXCLUSIVE;
	log_set(opt->quiet   ? LOG_QUIET :
		opt->verbose ? LOG_VERBOSE :
			       LOG_NORMAL);

	site_read(opt, &site);
	opt->at_least_ms = setting_duration(at_least, 0, 0);
	site_check_grace(opt, &site, at_least.name, opt->at_least_ms);
	opt->at_most_ms = setting_duration(at_most, 0, 0);
	check_site(opt);
	/* Who only asks is there to read the answer. */
	if (opt->mode != MODE_RUN)
		log_to(LOG_TO_STDERR);
	opt->name = names_joined(opt);
}

void
options_release(struct options *opt)
{
	site_release(opt);
	free(opt->names);
	free(opt->name);
	opt->names = NULL;
	opt->name = NULL;
}
