/*
 * The command line.  Only this room checks values, each once, and errors name
 * the option, variable or line that gave the value.  The rest of the program
 * trusts struct options.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/die.h"
#include "base/exit.h"
#include "base/escape.h"
#include "config/advice.h"
#include "config/cmdline.h"
#include "config/credentials.h"
#include "config/help.h"
#include "config/option_table.h"
#include "config/quotable.h"
#include "config/suggest.h"
#include "protocol/owner.h"
#include "protocol/quorum.h"
#include "redis/link.h"
#include "redis/tls.h"

/* The options on this command line, each once, in their order. */
struct given {
	const struct option_row *option[OPTIONS_MAX];
	int n;
};

static bool
is_given(const struct given *g, const char *name)
{
	for (int i = 0; i < g->n; i++)
		if (strcmp(g->option[i]->name, name) == 0)
			return true;
	return false;
}

/* Prints whether rediss:// works, and by which OpenSSL, or why not. */
static void
print_tls(void)
{
	char why[TLS_WHY], text[4 * TLS_WHY];
	const char *version = tls_version(why);

	if (version != NULL) {
		printf("TLS: yes\n%s\n", version);
		return;
	}
	escape_text(text, sizeof(text), why, strlen(why));
	printf("TLS: no: %s\n", text);
}

/*
 * Prints versions for bug reports, and to compare with security updates; and
 * whether servers can push the loss of a lock.
 */
static void
print_version(void)
{
	printf("redlock-run " VERSION "\nlocks: " OWNER_FORMAT "\nhiredis %s\n",
	    link_hiredis_version());
	print_tls();
	printf("Pushes: %s\nRedis: 6.0 or later\n",
	    link_reads_pushes() ? "yes" : "no: they need hiredis 1.0 or later");
#ifdef SOURCES
	printf("Sources: Debian's " SOURCES "\n");
#endif
}

/*
 * Prints --help, a shorter one for -h, or --version.  Flushes, so that a failed
 * write is reported.
 */
static _Noreturn void
print_and_exit(const struct option_row *o, bool by_letter)
{
	if (o->letter == 'h')
		help_print(stdout, by_letter);
	else
		print_version();
	die_unless_flushed();
	exit(0);
}

/*
 * Refuses a lock's name that is an option, or "=" and a name.  After "--key=" each
 * is a name.
 */
static void
check_key_value(const struct option_row *o, const char *value)
{
	if (o->letter != 'k')
		return;
	if (strcmp(value, "--") == 0)
		die_usage("-k: '--' is not a lock; is a variable empty?");
	if (value[0] == '-')
		die_usage("-k: '%s' looks like an option; is a variable empty? "
			  "For a lock of that name write --key=%s",
		    quotable(value), quotable(value));
	if (value[0] == '=')
		die_usage("-k: '=%s' begins with '='; did you mean -k %s? For "
			  "a lock of that name write --key==%s",
		    quotable(value + 1), quotable(value + 1),
		    quotable(value + 1));
}

static void
take(struct options *opt, struct given *g, const struct option_row *o,
    char *value)
{
	o->set(opt, o, value);
	if (!is_given(g, o->name))
		g->option[g->n++] = o;
}

/* Reports an option that takes no value; o is NULL for an unknown one. */
static _Noreturn void
refuse_long(const struct option_row *o, const char *word)
{
	char hint[ADVICE_OPTION];
	bool ambiguous;
	/*
	 * Masked before it is cut, because half of a URL would escape the mask.
	 */
	const char *masked = quotable(word);
	static const char help[] = "; see redlock-run --help";
	int len = (int)strcspn(masked, "=");

	if (o != NULL)
		die_usage("option '%.*s' takes no value", len, masked);
	advice_option(hint, word + 2, strcspn(word + 2, "="), &ambiguous);
	die_usage("%s option '%.*s'%s%s", ambiguous ? "ambiguous" : "unknown",
	    len, masked, hint, help);
}

/*
 * Takes the option at *words, which begins with "--". Returns the words that
 * follow.  No message quotes its value, which may be a password.
 */
static char **
take_long(struct options *opt, struct given *g, char **words)
{
	char *word = *words++, *value;
	size_t len = strcspn(word + 2, "=");
	const struct option_row *o = option_of_word(word + 2, len);

	value = word[2 + len] == '=' ? word + 2 + len + 1 : NULL;
	if (o == NULL || (o->argument == NULL && value != NULL))
		refuse_long(o, word);
	if (o->argument != NULL && value == NULL) {
		value = *words;
		if (value == NULL)
			die_usage("option '%s' needs a value; see redlock-run "
				  "--help",
			    word);
		check_key_value(o, value);
		words++;
	}
	if (o->set == NULL)
		print_and_exit(o, false);
	take(opt, g, o, value);
	return words;
}

/* Takes a word of letters behind one "-", in the same way. */
static char **
take_letters(struct options *opt, struct given *g, char **words)
{
	char *letters = *words++ + 1, *value;

	for (; *letters != '\0'; letters++) {
		const struct option_row *o = option_of_letter(*letters);

		if (o == NULL)
			die_usage("unknown option '-%c'%s; see redlock-run "
				  "--help",
			    *letters,
			    *letters == 'c' ?
				"; use sh -c for a command line in one word" :
				"");
		if (o->set == NULL)
			print_and_exit(o, true);
		if (o->argument == NULL) {
			take(opt, g, o, NULL);
			continue;
		}
		value = letters[1] != '\0' ? letters + 1 : *words;
		if (value == NULL)
			die_usage("option '-%c' needs a value; see redlock-run "
				  "--help",
			    *letters);
		if (value == *words)
			words++;
		check_key_value(o, value);
		take(opt, g, o, value);
		break;
	}
	return words;
}

/* Takes a word behind a query option: the name of a lock. */
static void
take_name(struct options *opt, char *word)
{
	if (opt->mode == MODE_CHECK || opt->mode == MODE_SHOW_CONFIG)
		die_usage("'%s': --%s takes no lock name", quotable(word),
		    option_of_mode(opt->mode));
	names_add(&opt->names, word);
}

/*
 * Returns the words behind the options.  After a query option there is no
 * COMMAND: names and options mix, and the words after "--" are names.
 */
static char **
take_options(struct options *opt, struct given *g, char **words)
{
	bool options = true;

	for (char *word; (word = *words) != NULL;) {
		if (options && strcmp(word, "--") == 0) {
			options = false;
			words++;
		} else if (options && word[0] == '-' && word[1] != '\0') {
			words = word[1] == '-' ? take_long(opt, g, words) :
						 take_letters(opt, g, words);
		} else if (opt->mode != MODE_RUN) {
			take_name(opt, word);
			words++;
		} else {
			break;
		}
	}
	return words;
}

/* Writes "--status, --history or --check" for a set of modes. */
static void
join_modes(char *text, size_t size, unsigned int modes)
{
	const char *names[OPTIONS_MAX];
	size_t n = 0;

	for (int mode = MODE_RUN + 1; modes >> mode != 0; mode++)
		if (modes >> mode & 1)
			names[n++] = option_of_mode((enum mode)mode);
	suggest_join(text, size, "--", names, n);
}

/* Checks that each option belongs to the mode. */
static void
check_given(const struct options *opt, const struct given *g)
{
	char modes[128];

	for (int i = 0; i < g->n; i++) {
		const struct option_row *o = g->option[i];

		if (o->modes >> opt->mode & 1)
			continue;
		if (o->modes >> MODE_RUN & 1)
			die_usage("--%s cannot be combined with --%s", o->name,
			    option_of_mode(opt->mode));
		join_modes(modes, sizeof(modes), o->modes);
		die_usage("--%s works only with %s", o->name, modes);
	}
}

static void
check_together(const struct given *g, const char *one, const char *other)
{
	if (is_given(g, one) && is_given(g, other))
		die_usage("--%s and --%s cannot be combined", one, other);
}

/* --watch needs a terminal, to draw and to read keys. */
static void
check_terminal(void)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		die_usage("--watch needs a terminal, and standard %s is "
			  "not one; --status alone prints once",
		    isatty(STDOUT_FILENO) ? "input" : "output");
	if (term == NULL || *term == '\0' || strcmp(term, "dumb") == 0)
		die_usage("--watch cannot draw on a terminal with "
			  "TERM=%s; --status alone prints once",
		    term == NULL ? "" : term);
}

/* Whether the word is -k or --key, perhaps with its value. */
static bool
is_key_option(const char *word)
{
	return strcmp(word, "-k") == 0 || strcmp(word, "--key") == 0 ||
	    strncmp(word, "--key=", 6) == 0;
}

/* Whether the word is a query option, with or without its "--". */
static bool
is_query_option(const char *word)
{
	const struct option_row *o;

	word += strncmp(word, "--", 2) == 0 ? 2 : 0;
	o = option_of_word(word, strlen(word));
	return o != NULL && strcmp(o->name, word) == 0 && option_is_mode(o);
}

/*
 * Reports a command line without -k.  Options end at the first word that is no
 * option.  The words behind that one suggest which option the user meant.
 */
static _Noreturn void
refuse_nameless(char *const *command)
{
	const char *first = command[0] != NULL ? quotable(command[0]) : "";
	bool bare = strncmp(first, "--", 2) != 0;

	for (int i = 1; command[0] != NULL && command[i] != NULL; i++) {
		if (is_key_option(command[i]))
			die_usage("'%s' begins the command, so the -k behind "
				  "it is not an option of redlock-run; put -k "
				  "first",
			    first);
		if (bare && strncmp(command[i], "--", 2) == 0 &&
		    is_query_option(command[i]))
			die_usage("no lock named: -k NAME is missing (did you "
				  "mean %s %s?)",
			    command[i], first);
	}
	if (command[0] != NULL && is_query_option(command[0]))
		die_usage("no lock named: -k NAME is missing (did you mean "
			  "--%s?)",
		    first);
	if (command[0] != NULL && command[1] != NULL &&
	    strcmp(command[1], "--") == 0)
		die_usage("no lock named: -k NAME is missing (did you mean "
			  "-k %s?)",
		    first);
	die_usage("no lock named: -k NAME is missing");
}

static void
check_run(const struct options *opt)
{
	const char *command = opt->command[0];

	if (opt->names.n == 0)
		refuse_nameless(opt->command);
	if (command == NULL)
		die_usage("no command given: COMMAND is missing");
	/* A URL without its -r: the history would show its password. */
	if (strstr(command, "://") != NULL ||
	    address_has_password(command, false))
		die_usage("'%s' is a URL, not a command; use -r for a server",
		    quotable(command));
}

/* An option that only a run that waits can have. */
static void
check_waits(const struct options *opt, const struct given *g,
    const char *option)
{
	if (is_given(g, option) && opt->wait_ms == 0)
		die_usage("--%s works only with %s", option, "--wait");
}

/* Whether --max-waiting is more than 0, which only replaces another value. */
static bool
limits_waiters(const struct options *opt)
{
	const char *n = opt->settings.given[SETTING_MAX_WAITING].value;

	return n != NULL && strcmp(n, "0") != 0;
}

static bool
is_empty_span(const struct options *opt)
{
	int64_t now_ms = clock_wall_us() / 1000;

	return opt->since.kind != MOMENT_NONE &&
	    opt->until.kind != MOMENT_NONE &&
	    moment_ms(&opt->since, now_ms) > moment_ms(&opt->until, now_ms);
}

static void
check_query(const struct options *opt)
{
	if (opt->mode == MODE_BREAK && opt->names.n == 0)
		die_usage("no lock named: --break needs a NAME");
	if (opt->mode == MODE_BREAK && opt->names.n > 1)
		die_usage("--break takes one lock at a time");
	if (opt->max_age_ms > 0 && opt->names.n != 1)
		die_usage("--max-age takes exactly one lock");
	if (is_empty_span(opt))
		die_usage("--since is later than --until");
	if (opt->token != NULL && opt->token[0] == '\0')
		die_usage("--token is empty; --break and --status -v "
			  "print tokens");
	if (opt->watch)
		check_terminal();
}

/* Checks the options against each other, before any setting is read. */
static void
check_options(struct options *opt, const struct given *g)
{
	check_given(opt, g);
	check_together(g, "watch", "json");
	check_together(g, "max-age", "since");
	check_together(g, "max-age", "until");
	check_together(g, "max-age", "failed");
	check_together(g, "max-age", "rows");
	check_together(g, "max-age", "all");
	if (opt->mode == MODE_RUN) {
		check_run(opt);
		check_waits(opt, g, "latest");
		if (limits_waiters(opt))
			check_waits(opt, g, "max-waiting");
	} else
		check_query(opt);
	check_together(g, "quiet", "verbose");
	check_together(g, "shared", "slots");
	check_together(g, "once-per", "shared");
	check_together(g, "once-per", "slots");
	check_together(g, "latest", "shared");
	check_together(g, "latest", "slots");
	if (limits_waiters(opt))
		check_together(g, "latest", "max-waiting");
	if (opt->capacity > 1)
		opt->lock_mode = LOCK_SLOTTED;
}

static void
check_prefix(const struct options *opt)
{
	const char *prefix = opt->settings.prefix;

	if ((opt->mode == MODE_STATUS || opt->mode == MODE_HISTORY ||
		opt->mode == MODE_METRICS) &&
	    opt->names.n == 0 && prefix[0] == '\0')
		die_usage("--%s with an empty prefix needs a NAME: every "
			  "key would count as a lock",
		    option_of_mode(opt->mode));
	for (int i = 0; i < opt->names.n; i++)
		if (names_shadow(prefix, opt->names.name[i]))
			die_usage("-k: '%s' with --prefix '%s' would "
				  "share a queue with the name without "
				  "braces; change one of them",
			    quotable(opt->names.name[i]), prefix);
}

/*
 * A server may have to remember each of these until its restart grace is over.
 */
static void
check_graces(const struct options *opt)
{
	const struct settings *s = &opt->settings;

	if (opt->mode != MODE_RUN && opt->mode != MODE_CHECK)
		return;
	settings_check_grace(s, settings_find(s, SETTING_TTL).name, s->ttl_ms);
	settings_check_grace(s, settings_find(s, SETTING_MAX_TTL).name,
	    s->max_ttl_ms);
	settings_check_grace(s, "--min-hold", opt->min_hold_ms);
}

static bool
is_option_name(const char *word)
{
	return option_of_word(word, strlen(word)) != NULL;
}

static void
read_settings(struct options *opt)
{
	int n;

	settings_load(&opt->settings, is_option_name);
	servers_read(&opt->servers, &opt->settings);
	credentials_fill(&opt->servers, &opt->settings);
	settings_forget_secrets(&opt->settings);
	n = opt->servers.n;
	settings_read(&opt->settings, n);
	/* One from the environment or the file is for all runs of a host. */
	opt->latest = opt->settings.latest && opt->wait_ms != 0 &&
	    opt->lock_mode == LOCK_EXCLUSIVE &&
	    (opt->settings.max_waiting == 0 ||
		settings_find(&opt->settings, SETTING_MAX_WAITING).place !=
		    PLACE_COMMAND_LINE);
	if (opt->latest)
		opt->settings.max_waiting = 0;
	check_graces(opt);
	check_prefix(opt);
	if (n % 2 == 0)
		info("%d servers are no safer than %d: a majority of them is "
		     "%d",
		    n, n - 1, quorum_of(n));
	servers_fingerprint(&opt->servers, opt->settings.prefix, opt->site);
}

void
cmdline_parse(struct options *opt, char **argv)
{
	struct given given = { .n = 0 };

	if (argv[0] == NULL || argv[1] == NULL) {
		help_synopsis(stderr);
		exit(EXIT_USAGE);
	}
	options_init(opt);
	opt->argv = argv;
	opt->command = take_options(opt, &given, argv + 1);
	check_options(opt, &given);
	log_set(opt->quiet   ? LOG_QUIET :
		opt->verbose ? LOG_VERBOSE :
			       LOG_NORMAL);
	read_settings(opt);
	/* The user of a query reads the terminal that shows its output. */
	if (opt->mode != MODE_RUN)
		log_to(LOG_TO_STDERR);
	names_join(&opt->names);
}
