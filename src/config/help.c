/* Prints --help: the option table between two texts. */
#include <string.h>

#include "config/help.h"
#include "config/option_table.h"

#define TEXT_COLUMN 32 /* where the sentences begin */

static const char synopsis[] =
    "usage: redlock-run [OPTION]... -k NAME [--] COMMAND [ARG]...\n"
    "       redlock-run --status [NAME]... [--json | --watch]\n"
    "       redlock-run --history [NAME]... [--since TIME] [--failed] [--json]\n"
    "       redlock-run --history NAME --max-age DURATION [--json]\n"
    "       redlock-run --break NAME [--token TOKEN]\n"
    "       redlock-run --check [--json] | --metrics [NAME]... | --show-config\n";

static const char purpose[] =
    "\n"
    "Runs COMMAND while it holds the lock NAME in Redis, or shows who holds it.\n";

static const char short_tail[] =
    "\n"
    "DURATION: 500ms, 1.5s, 10m, 1h30m or 2d; a bare number is seconds.\n"
    "redlock-run --help prints all options.  See redlock-run(1).\n";

static const char tail[] =
    "\n"
    "DURATION: 500ms, 1.5s, 10m, 1h30m or 2d; a bare number is seconds.\n"
    "TIME: a DURATION ago, 2026-11-01, '2026-11-01 02:00', 02:00, today, yesterday.\n"
    "Environment: REDLOCK_REDIS, REDLOCK_PREFIX, REDLOCK_TTL, REDLOCK_MAX_TTL,\n"
    "REDLOCK_LATEST, REDLOCK_MAX_WAITING, REDLOCK_KILL_AFTER, REDLOCK_NODE_TIMEOUT,\n"
    "REDLOCK_RESTART_GRACE, REDLOCK_PASSWORD_FILE, REDLOCK_TLS_CA,\n"
    "REDLOCK_TLS_CERT, REDLOCK_TLS_KEY, REDLOCK_TLS_SERVER_NAME,\n"
    "REDLOCK_SENTINEL_PASSWORD, REDLOCK_LOG, REDLOCK_CONFIG and REDISCLI_AUTH.\n"
    "Exit status: COMMAND's; 64 usage, 69 unreachable, 71 system, 75 busy,\n"
    "77 refused, 79 lock lost, 124 --max-run passed, 126 and 127 COMMAND not\n"
    "executable, not found.  See redlock-run(1).\n"
    "\n"
    "Examples:\n"
    "  redlock-run -k nightly --max-run 6h -- backup.sh\n"
    "  redlock-run -k deploy -w 30m -- ./deploy.sh production\n"
    "  redlock-run --status nightly\n";

/*
 * Prints the lines of text in their column; used is the width of the text
 * before them.
 */
static void
print_lines(FILE *out, int used, const char *text)
{
	size_t len;

	if (used >= TEXT_COLUMN) {
		putc('\n', out);
		used = 0;
	}
	for (; *text != '\0'; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		fprintf(out, "%*s%.*s\n", TEXT_COLUMN - used, "", (int)len,
		    text);
		used = 0;
	}
}

void
help_synopsis(FILE *out)
{
	fputs(synopsis, out);
}

/* Prints the options that have a letter, each with the first line of its text. */
static void
print_short(FILE *out)
{
	int used;

	putc('\n', out);
	for (const struct option_row *o = option_table; o->name != NULL; o++) {
		if (o->letter == '\0')
			continue;
		used = fprintf(out, "  -%c, --%s", o->letter, o->name);
		if (o->argument != NULL)
			used += fprintf(out, " %s", o->argument);
		fprintf(out, "%*s%.*s\n",
		    used < TEXT_COLUMN ? TEXT_COLUMN - used : 1, "",
		    (int)strcspn(o->help, "\n"), o->help);
	}
	fputs(short_tail, out);
}

void
help_print(FILE *out, bool in_short)
{
	int used;

	fputs(synopsis, out);
	fputs(purpose, out);
	if (in_short) {
		print_short(out);
		return;
	}
	for (const struct option_row *o = option_table; o->name != NULL; o++) {
		if (o->group != NULL)
			fprintf(out, "\n%s:\n", o->group);
		if (o->help == NULL)
			continue;
		if (o->letter != '\0')
			used = fprintf(out, "  -%c, --%s", o->letter, o->name);
		else
			used = fprintf(out, "      --%s", o->name);
		if (o->argument != NULL)
			used += fprintf(out, " %s", o->argument);
		print_lines(out, used, o->help);
	}
	fputs(tail, out);
}
