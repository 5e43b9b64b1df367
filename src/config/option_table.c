/*
 * All options in one table.  Parsing, abbreviations, the checks of what goes
 * together and --help follow from it.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "config/option_table.h"
#include "protocol/key.h"
#include "protocol/owner.h"

#define IN(mode) (1u << MODE_##mode)
#define NAMED    (IN(RUN) | IN(STATUS) | IN(HISTORY) | IN(BREAK) | IN(METRICS))
#define ALL      (NAMED | IN(CHECK) | IN(SHOW_CONFIG))

/* Returns the member of *opt that an option sets. */
static void *
member(struct options *opt, const struct option_row *o)
{
	return (char *)opt + o->where;
}

static void
set_flag(struct options *opt, const struct option_row *o, char *value)
{
	(void)value;
	*(bool *)member(opt, o) = true;
}

static void
set_text(struct options *opt, const struct option_row *o, char *value)
{
	*(const char **)member(opt, o) = value;
}

static int64_t
read_duration(const struct option_row *o, const char *value, int64_t least_ms)
{
	char name[32];

	snprintf(name, sizeof(name), "--%s", o->name);
	return setting_duration((struct setting){ name, value }, 0, least_ms);
}

static void
set_duration(struct options *opt, const struct option_row *o, char *value)
{
	*(int64_t *)member(opt, o) = read_duration(o, value, 0);
}

/* A duration that is not 0. */
static void
set_period(struct options *opt, const struct option_row *o, char *value)
{
	*(int64_t *)member(opt, o) = read_duration(o, value, 1);
}

/* A duration, or "inf". */
static void
set_limit(struct options *opt, const struct option_row *o, char *value)
{
	*(int64_t *)member(opt, o) = strcmp(value, "inf") == 0 ?
	    CLOCK_NEVER :
	    read_duration(o, value, 0);
}

/* As for timeout(1), 0 means no limit. */
static void
set_max_run(struct options *opt, const struct option_row *o, char *value)
{
	int64_t ms = strcmp(value, "inf") == 0 ? 0 : read_duration(o, value, 0);

	opt->max_run_ms = ms == 0 ? CLOCK_NEVER : ms;
}

static void
set_nonblock(struct options *opt, const struct option_row *o, char *value)
{
	(void)o, (void)value;
	opt->wait_ms = 0;
}

static int
read_number(
    const char *option, const char *what, const char *text, int least, int most)
{
	int64_t n;

	if (number_parse(text, strlen(text), most, &n) == -1 || n < least)
		usage_error("%s: '%s' is not %s from %d to %d", option,
		    quotable(text), what, least, most);
	return (int)n;
}

static void
set_rows(struct options *opt, const struct option_row *o, char *value)
{
	(void)o;
	opt->rows = read_number("--rows", "a number", value, 1, 1000000);
}

static void
set_slots(struct options *opt, const struct option_row *o, char *value)
{
	(void)o;
	opt->capacity =
	    read_number("--slots", "a number", value, 1, LOCK_SLOTS);
}

static void
set_replicas(struct options *opt, const struct option_row *o, char *value)
{
	(void)o;
	opt->replicas = read_number("--replicas", "a number", value, 0, 1000);
}

static void
set_conflict(struct options *opt, const struct option_row *o, char *value)
{
	(void)o;
	opt->conflict_status =
	    read_number("-E", "an exit status", value, 0, 255);
}

static void
set_message(struct options *opt, const struct option_row *o, char *value)
{
	size_t len = strlen(value);

	(void)o;
	if (len >= OWNER_MESSAGE)
		usage_error("--message: '%.64s...' has %zu bytes; the "
			    "limit is %d",
		    quotable(value), len, OWNER_MESSAGE - 1);
	opt->message = value;
}

static void
set_shared(struct options *opt, const struct option_row *o, char *value)
{
	(void)o, (void)value;
	opt->lock_mode = LOCK_SHARED;
}

static void
set_on_loss(struct options *opt, const struct option_row *o, char *value)
{
	(void)o;
	opt->warn_on_loss = strcmp(value, "warn") == 0;
	if (!opt->warn_on_loss && strcmp(value, "stop") != 0)
		usage_error(
		    "--on-loss: '%s' is not 'stop' or 'warn'", quotable(value));
}

static void
set_name(struct options *opt, const struct option_row *o, char *value)
{
	(void)o;
	names_add(&opt->names, value);
}

static void
set_server(struct options *opt, const struct option_row *o, char *value)
{
	(void)o;
	servers_add(&opt->servers, "-r", value);
	address_wipe(value); /* ps(1) would show the password */
}

static void
set_setting(struct options *opt, const struct option_row *o, char *value)
{
	settings_set(&opt->settings, (enum setting_key)o->where, value);
}

static void
set_mode(struct options *opt, const struct option_row *o, char *value)
{
	enum mode mode = (enum mode)o->where;

	(void)value;
	if (opt->mode != MODE_RUN && opt->mode != mode)
		usage_error("--%s and --%s cannot be combined",
		    option_of_mode(opt->mode), o->name);
	opt->mode = mode;
}

/*
 * Without this row --pass would abbreviate --password-file, and an error would
 * quote the password as the name of a file.
 */
static _Noreturn void
refuse_password(struct options *opt, const struct option_row *o, char *value)
{
	(void)opt, (void)o, (void)value;
	usage_error("a password on the command line is visible to "
		    "everybody; use --password-file or REDISCLI_AUTH");
}

#define TO(member) offsetof(struct options, member)

const struct option_row option_table[] = {
	{ "key", 'k', NAMED, "NAME", set_name, 0,
	    "the lock; repeat it to take several, all or none", "The lock" },
	{ "wait", 'w', IN(RUN), "DURATION", set_limit, TO(wait_ms),
	    "wait for our turn up to that long, or 'inf' (0)", NULL },
	{ "nonblock", 'n', IN(RUN), NULL, set_nonblock, 0, "the same as -w 0",
	    NULL },
	{ "shared", 's', IN(RUN), NULL, set_shared, 0,
	    "share it with others that do so", NULL },
	{ "slots", 0, IN(RUN), "N", set_slots, 0,
	    "at most N hold it at a time (1)", NULL },
	{ "conflict-exit-code", 'E', IN(RUN), "N", set_conflict, 0,
	    "exit status when it is busy (75)", NULL },
	{ "message", 'm', IN(RUN), "TEXT", set_message, 0,
	    "shown wherever this run is named as the holder", NULL },
	{ "ttl", 't', ALL, "DURATION", set_setting, SETTING_TTL,
	    "the lease, renewed at every third of it (60s)", NULL },
	{ "min-hold", 0, IN(RUN), "DURATION", set_duration, TO(min_hold_ms),
	    "keep the lock for that long at least (0)", NULL },
	{ "replicas", 0, IN(RUN), "N", set_replicas, 0,
	    "run COMMAND once N replicas have the lock (0)", NULL },

	{ "max-run", 0, IN(RUN), "DURATION", set_max_run, 0,
	    "stop COMMAND after that long, exit 124 (inf)", "The command" },
	{ "kill-after", 0, ALL, "DURATION", set_setting, SETTING_KILL_AFTER,
	    "from SIGTERM to SIGKILL when COMMAND has to be\n"
	    "stopped (5s)",
	    NULL },
	{ "on-loss", 0, IN(RUN), "stop|warn", set_on_loss, 0,
	    "what to do when the lock cannot be held (stop)", NULL },
	{ "only-command", 'o', IN(RUN), NULL, set_flag, TO(only_command),
	    "release when COMMAND itself exits, even if\n"
	    "processes that it started live on",
	    NULL },

	{ "redis", 'r', ALL, "URL", set_server, 0,
	    "redis://[user[:password]@]host[:port][/db],\n"
	    "unix:///path[?db=N] or host[:port]\n"
	    "(" ADDRESS_DEFAULT "); or\n"
	    "redis+sentinel://host[:port][,...]/master[/db],\n"
	    "redis+cluster://host[:port][,...]; rediss... for\n"
	    "TLS; repeat it (3, 5, ...) for a quorum of\n"
	    "independent servers",
	    "The servers" },
	{ "prefix", 0, ALL, "TEXT", set_setting, SETTING_PREFIX,
	    "what goes before NAME in the key (redlock:)", NULL },
	{ "node-timeout", 0, ALL, "DURATION", set_setting, SETTING_NODE_TIMEOUT,
	    "how long a server may take to answer (a tenth\n"
	    "of the TTL, at least 50ms, at most 3s)",
	    NULL },
	{ "restart-grace", 0, ALL, "DURATION", set_setting,
	    SETTING_RESTART_GRACE,
	    "with several servers: one that has been up for\n"
	    "less has no vote (60s)",
	    NULL },
	{ "password-file", 0, ALL, "FILE", set_setting, SETTING_PASSWORD_FILE,
	    "the password, if the URL has none", NULL },
	{ "password", 0, ALL, "WORD", refuse_password, 0, NULL, NULL },
	{ "pass", 0, ALL, "WORD", refuse_password, 0, NULL, NULL },
	{ "tls-ca", 0, ALL, "FILE", set_setting, SETTING_TLS_CA,
	    "who signs the servers' certificates (those that\n"
	    "the system trusts)",
	    NULL },
	{ "tls-cert", 0, ALL, "FILE", set_setting, SETTING_TLS_CERT,
	    "our certificate, if a server wants one,", NULL },
	{ "tls-key", 0, ALL, "FILE", set_setting, SETTING_TLS_KEY,
	    "and its private key", NULL },
	{ "tls-server-name", 0, ALL, "NAME", set_setting,
	    SETTING_TLS_SERVER_NAME,
	    "what a server's certificate names (its host)", NULL },
	{ "config", 0, ALL, "FILE", set_setting, SETTING_CONFIG,
	    "these settings, a line each\n"
	    "(" CONFFILE_DEFAULT ")",
	    NULL },

	{ "status", 0, ALL, NULL, set_mode, MODE_STATUS,
	    "show who holds the lock, or all locks", "Asking and telling" },
	{ "watch", 0, IN(STATUS), NULL, set_flag, TO(watch),
	    "and again every second, until q or ^C", NULL },
	{ "history", 0, ALL, NULL, set_mode, MODE_HISTORY, "show the last runs",
	    NULL },
	{ "rows", 0, IN(HISTORY), "N", set_rows, 0,
	    "at most N of them, the newest (50)", NULL },
	{ "since", 0, IN(HISTORY), "DURATION", set_period, TO(since_ms),
	    "those that began within that time", NULL },
	{ "failed", 0, IN(HISTORY), NULL, set_flag, TO(failed),
	    "those that did not end with status 0", NULL },
	{ "max-age", 0, IN(HISTORY), "DURATION", set_period, TO(max_age_ms),
	    "exit 0 if the last success began within that time, else\n"
	    "1; one line for Nagios or cron",
	    NULL },
	{ "break", 0, ALL, NULL, set_mode, MODE_BREAK,
	    "take the lock away from a dead holder", NULL },
	{ "token", 0, IN(BREAK), "TOKEN", set_text, TO(token),
	    "which one that is", NULL },
	{ "check", 0, ALL, NULL, set_mode, MODE_CHECK,
	    "look whether the servers are fit for locks", NULL },
	{ "metrics", 0, ALL, NULL, set_mode, MODE_METRICS,
	    "print the state of locks and servers for Prometheus", NULL },
	{ "show-config", 0, ALL, NULL, set_mode, MODE_SHOW_CONFIG,
	    "show the settings in force, and where each is from", NULL },
	{ "json", 0, IN(STATUS) | IN(HISTORY) | IN(CHECK), NULL, set_flag,
	    TO(json), "the same for programs", NULL },
	{ "log", 0, ALL, "stderr|syslog", set_setting, SETTING_LOG,
	    "where a run says something (stderr)", NULL },
	{ "quiet", 'q', ALL, NULL, set_flag, TO(quiet),
	    "errors only, not even \"busy\"", NULL },
	{ "verbose", 'v', ALL, NULL, set_flag, TO(verbose),
	    "say what happens and how long it took", NULL },
	{ "help", 'h', ALL, NULL, NULL, 0, "this text", NULL },
	{ "version", 'V', ALL, NULL, NULL, 0, "the version", NULL },
	{ 0 },
};

_Static_assert(sizeof(option_table) / sizeof(option_table[0]) <= OPTIONS_MAX,
    "room for the options");

const struct option_row *
option_of_letter(char letter)
{
	for (const struct option_row *o = option_table; o->name != NULL; o++)
		if (letter != '\0' && o->letter == letter)
			return o;
	return NULL;
}

const struct option_row *
option_of_word(const char *word, size_t len)
{
	const struct option_row *found = NULL;
	int n = 0;

	for (const struct option_row *o = option_table; o->name != NULL; o++) {
		if (strncmp(o->name, word, len) != 0)
			continue;
		if (o->name[len] == '\0')
			return o;
		found = o;
		n++;
	}
	return n == 1 ? found : NULL;
}

const char *
option_of_mode(enum mode mode)
{
	const struct option_row *o = option_table;

	while (o->set != set_mode || o->where != (int)mode)
		o++;
	return o->name;
}
