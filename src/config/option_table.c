/*
 * All options in one table.  Parsing, abbreviations, the checks of combinations
 * and --help follow from it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/die.h"
#include "base/duration.h"
#include "base/number.h"
#include "config/option_table.h"
#include "config/quotable.h"
#include "prefix.h"
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
	const struct setting given = { .name = name, .value = value };

	snprintf(name, sizeof(name), "--%s", o->name);
	return setting_duration(given, 0, least_ms);
}

static void
set_duration(struct options *opt, const struct option_row *o, char *value)
{
	*(int64_t *)member(opt, o) = read_duration(o, value, 0);
}

static void
read_moment(struct options *opt, const struct option_row *o, const char *value,
    enum moment_side side)
{
	struct moment m = { .kind = MOMENT_NONE };

	if (moment_parse(value, clock_wall_us() / 1000, side, &m) == 0 &&
	    (m.kind != MOMENT_AGO || m.ms > 0)) {
		*(struct moment *)member(opt, o) = m;
		return;
	}
	if (m.kind == MOMENT_AGO || errno == ERANGE)
		read_duration(o, value, 1); /* exits with the reason */
	if (errno == EDOM)
		die_usage("--%s: '%s' is a number without a unit; a day is "
			  "written 2026-11-01, seconds since 1970 "
			  "@1793494800, and a duration 7d",
		    o->name, quotable(value));
	die_usage("--%s: '%s' is not a time; examples: 7d, 2026-11-01, "
		  "'2026-11-01 02:00', 02:00, today, yesterday",
	    o->name, quotable(value));
}

static void
set_since(struct options *opt, const struct option_row *o, char *value)
{
	read_moment(opt, o, value, MOMENT_EARLIER);
}

static void
set_until(struct options *opt, const struct option_row *o, char *value)
{
	read_moment(opt, o, value, MOMENT_LATER);
}

static void
check_most(const struct option_row *o, const char *value, int64_t ms,
    int64_t most_ms)
{
	char most[DURATION_TEXT];

	if (ms > most_ms)
		die_usage("--%s: '%s' is too long; the maximum is %s", o->name,
		    quotable(value), duration_format(most_ms, most));
}

static void
set_max_age(struct options *opt, const struct option_row *o, char *value)
{
	opt->max_age_ms = read_duration(o, value, 1);
	check_most(o, value, opt->max_age_ms, SUCCESS_KEPT_MS);
	opt->max_age = value;
}

/* Reads a duration or "inf". */
static int64_t
read_limit(const struct option_row *o, const char *value)
{
	int64_t ms;

	if (strcmp(value, "inf") == 0)
		return CLOCK_NEVER;
	if (duration_parse(value, &ms) == -1 && errno == EINVAL)
		die_usage("--%s: '%s' is not a duration; examples: "
			  "500ms, 1.5s, 10m, 1h30m, 1d, or inf",
		    o->name, quotable(value));
	return read_duration(o, value, 0);
}

static void
set_limit(struct options *opt, const struct option_row *o, char *value)
{
	*(int64_t *)member(opt, o) = read_limit(o, value);
}

static void
set_once_per(struct options *opt, const struct option_row *o, char *value)
{
	opt->once_per_ms = read_duration(o, value, 0);
	check_most(o, value, opt->once_per_ms, SUCCESS_MS);
}

/* Sets --max-run.  As for timeout(1), 0 means no limit. */
static void
set_max_run(struct options *opt, const struct option_row *o, char *value)
{
	int64_t ms = read_limit(o, value);

	opt->max_run_ms = ms == 0 ? CLOCK_NEVER : ms;
}

static void
set_nonblock(struct options *opt, const struct option_row *o, char *value)
{
	(void)o, (void)value;
	opt->wait_ms = 0;
}

static int
read_number(const char *option, const char *what, const char *text, int least,
    int most)
{
	int64_t n;

	if (number_parse(text, strlen(text), most, &n) == -1 || n < least)
		die_usage("%s: '%s' is not %s from %d to %d", option,
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
	opt->numbered = true;
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
		die_usage("--message: '%.64s...' has %zu bytes; the "
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
		die_usage("--on-loss: '%s' is not 'stop' or 'warn'",
		    quotable(value));
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
set_latest(struct options *opt, const struct option_row *o, char *value)
{
	(void)o, (void)value;
	settings_set(&opt->settings, SETTING_LATEST, "yes");
}

static void
set_no_latest(struct options *opt, const struct option_row *o, char *value)
{
	(void)o, (void)value;
	settings_set(&opt->settings, SETTING_LATEST, "no");
	opt->settings.given[SETTING_LATEST].name = "--no-latest";
}

static void
set_mode(struct options *opt, const struct option_row *o, char *value)
{
	enum mode mode = (enum mode)o->where;

	(void)value;
	if (opt->mode != MODE_RUN && opt->mode != mode)
		die_usage("--%s and --%s cannot be combined",
		    option_of_mode(opt->mode), o->name);
	opt->mode = mode;
}

/*
 * Refuses --password.  Without this row --pass would abbreviate
 * --password-file, and an error would quote the password as a file name.
 */
static _Noreturn void
refuse_password(struct options *opt, const struct option_row *o, char *value)
{
	(void)opt, (void)o, (void)value;
	die_usage("a password on the command line is visible to "
		  "everybody; use --password-file or REDISCLI_AUTH");
}

#define TO(member) offsetof(struct options, member)

const struct option_row option_table[] = {
	{ "key", 'k', NAMED, "NAME", set_name, 0,
	    "lock to take; repeat it for several, all or none", "The lock" },
	{ "wait", 'w', IN(RUN), "DURATION", set_limit, TO(wait_ms),
	    "wait that long for our turn, or inf [default: 0]", NULL },
	{ "nonblock", 'n', IN(RUN), NULL, set_nonblock, 0, "same as -w 0",
	    NULL },
	{ "latest", 0, ALL, NULL, set_latest, 0,
	    "with -w: give up for a later run with --latest", NULL },
	{ "no-latest", 0, ALL, NULL, set_no_latest, 0,
	    "undo --latest of the environment or a file", NULL },
	{ "max-waiting", 0, ALL, "N", set_setting, SETTING_MAX_WAITING,
	    "with -w: be busy at once if N runs wait already", NULL },
	{ "shared", 's', IN(RUN), NULL, set_shared, 0,
	    "share the lock with other --shared runs", NULL },
	{ "slots", 0, IN(RUN), "N", set_slots, 0,
	    "let up to N runs hold the lock [default: 1]", NULL },
	{ "conflict-exit-code", 'E', IN(RUN), "N", set_conflict, 0,
	    "exit status when the lock is busy [default: 75]", NULL },
	{ "message", 'm', IN(RUN), "TEXT", set_message, 0,
	    "text to show wherever this run is the holder", NULL },
	{ "ttl", 't', ALL, "DURATION", set_setting, SETTING_TTL,
	    "lease, renewed every third of it [default: 60s]", NULL },
	{ "max-ttl", 0, ALL, "DURATION", set_setting, SETTING_MAX_TTL,
	    "let the lease grow with the run, up to that", NULL },
	{ "min-hold", 0, IN(RUN), "DURATION", set_duration, TO(min_hold_ms),
	    "keep the lock at least that long [default: 0]", NULL },
	{ "once-per", 0, IN(RUN), "DURATION", set_once_per, 0,
	    "run only if no run succeeded in that time", NULL },
	{ "replicas", 0, IN(RUN), "N", set_replicas, 0,
	    "require N replicas to have the lock [default: 0]", NULL },

	{ "max-run", 0, IN(RUN), "DURATION", set_max_run, 0,
	    "stop COMMAND then and exit 124 [default: inf]", "The command" },
	{ "kill-after", 0, ALL, "DURATION", set_setting, SETTING_KILL_AFTER,
	    "time from SIGTERM to SIGKILL [default: 5s]", NULL },
	{ "on-loss", 0, IN(RUN), "stop|warn", set_on_loss, 0,
	    "what to do when the lock is lost [default: stop]", NULL },
	{ "only-command", 'o', IN(RUN), NULL, set_flag, TO(only_command),
	    "do not wait for processes that COMMAND leaves", NULL },

	{ "redis", 'r', ALL, "URL", set_server, 0,
	    "a server; repeat it for a quorum of 3 or 5\n"
	    "redis://[user[:password]@]host[:port][/db],\n"
	    "unix:///path[?db=N] or host[:port];\n"
	    "redis+sentinel://host[:port][,...]/master[/db];\n"
	    "redis+cluster://host[:port][,...]; rediss: TLS;\n"
	    "valkey, valkeys: the same\n"
	    "[default: " ADDRESS_DEFAULT "]",
	    "The servers" },
	{ "prefix", 0, ALL, "TEXT", set_setting, SETTING_PREFIX,
	    "prefix of keys in Redis [default: redlock:]", NULL },
	{ "node-timeout", 0, ALL, "DURATION", set_setting, SETTING_NODE_TIMEOUT,
	    "limit for one reply of a server\n"
	    "[default: a tenth of --ttl, 50ms to 3s]",
	    NULL },
	{ "restart-grace", 0, ALL, "DURATION", set_setting,
	    SETTING_RESTART_GRACE,
	    "no vote for servers up for less [default: 60s]", NULL },
	{ "password-file", 0, ALL, "FILE", set_setting, SETTING_PASSWORD_FILE,
	    "passwords of hosts, one a line, or one password", NULL },
	{ "password", 0, ALL, "WORD", refuse_password, 0, NULL, NULL },
	{ "pass", 0, ALL, "WORD", refuse_password, 0, NULL, NULL },
	{ "tls-ca", 0, ALL, "FILE", set_setting, SETTING_TLS_CA,
	    "authorities to trust [default: the system's]", NULL },
	{ "tls-cert", 0, ALL, "FILE", set_setting, SETTING_TLS_CERT,
	    "our certificate, if a server requires one", NULL },
	{ "tls-key", 0, ALL, "FILE", set_setting, SETTING_TLS_KEY,
	    "private key of our certificate", NULL },
	{ "tls-server-name", 0, ALL, "NAME", set_setting,
	    SETTING_TLS_SERVER_NAME,
	    "name in server certificates [default: the host]", NULL },
	{ "config", 0, ALL, "FILE", set_setting, SETTING_CONFIG,
	    "settings [default: " CONFFILE_DEFAULT "]", NULL },

	{ "status", 0, ALL, NULL, set_mode, MODE_STATUS,
	    "show who holds and who waits for the locks",
	    "Queries and reports" },
	{ "watch", 0, IN(STATUS), NULL, set_flag, TO(watch),
	    "with --status: redraw it every second, until q", NULL },
	{ "history", 0, ALL, NULL, set_mode, MODE_HISTORY, "show the last runs",
	    NULL },
	{ "rows", 0, IN(HISTORY), "N", set_rows, 0,
	    "with --history: at most N runs [default: 50]", NULL },
	{ "since", 0, IN(HISTORY), "TIME", set_since, TO(since),
	    "with --history: runs that began then or later", NULL },
	{ "until", 0, IN(HISTORY), "TIME", set_until, TO(until),
	    "with --history: runs that began then or earlier", NULL },
	{ "failed", 0, IN(HISTORY), NULL, set_flag, TO(failed),
	    "with --history: runs that did not exit with 0", NULL },
	{ "all", 0, IN(HISTORY), NULL, set_flag, TO(all),
	    "with --history: also runs that were skipped", NULL },
	{ "max-age", 0, IN(HISTORY), "DURATION", set_max_age, 0,
	    "with --history: check for a success in that time", NULL },
	{ "break", 0, ALL, NULL, set_mode, MODE_BREAK,
	    "break the lock of a dead holder", NULL },
	{ "token", 0, IN(BREAK), "TOKEN", set_text, TO(token),
	    "with --break: token of the dead holder", NULL },
	{ "check", 0, ALL, NULL, set_mode, MODE_CHECK,
	    "test whether the servers are fit for locks", NULL },
	{ "metrics", 0, ALL, NULL, set_mode, MODE_METRICS,
	    "print gauges for Prometheus", NULL },
	{ "show-config", 0, ALL, NULL, set_mode, MODE_SHOW_CONFIG,
	    "show settings in force and their origins", NULL },
	{ "json", 0, IN(STATUS) | IN(HISTORY) | IN(CHECK), NULL, set_flag,
	    TO(json), "print JSON", NULL },
	{ "log", 0, ALL, "stderr|syslog", set_setting, SETTING_LOG,
	    "where a run reports [default: stderr]", NULL },
	{ "quiet", 'q', ALL, NULL, set_flag, TO(quiet),
	    "report errors only, not even a busy lock", NULL },
	{ "verbose", 'v', ALL, NULL, set_flag, TO(verbose),
	    "report each step and how long it took", NULL },
	{ "help", 'h', ALL, NULL, NULL, 0,
	    "print all options, or with -h the main ones", NULL },
	{ "version", 'V', ALL, NULL, NULL, 0,
	    "print versions and whether TLS works", NULL },
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

bool
option_is_mode(const struct option_row *o)
{
	return o->set == set_mode;
}

const char *
option_of_mode(enum mode mode)
{
	const struct option_row *o = option_table;

	while (o->set != set_mode || o->where != (int)mode)
		o++;
	return o->name;
}
