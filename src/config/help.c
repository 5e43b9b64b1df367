/*
 * What --help prints: the option table between two texts.
 */
#include <string.h>

#include "config/help.h"
#include "config/option_table.h"

#define TEXT_COLUMN 28 /* where sentences begin */

static const char head[] =
    "usage: redlock-run [OPTION]... -k NAME [--] COMMAND [ARG]...\n"
    "       redlock-run --status [NAME]... [--json | --watch]\n"
    "       redlock-run --history [NAME]... [--since DURATION] [--failed] [--json]\n"
    "       redlock-run --history NAME --max-age DURATION\n"
    "       redlock-run --break NAME [--token TOKEN]\n"
    "       redlock-run --check [--json]\n"
    "       redlock-run --metrics [NAME]...\n"
    "       redlock-run --show-config\n"
    "\n"
    "Runs COMMAND while holding the lock NAME in Redis, or says who holds it.\n";

static const char tail[] =
    "\n"
    "DURATION is a number with ms, s, m, h or d, or several as 1h30m; a bare number\n"
    "is seconds.\n"
    "Also from the environment: REDLOCK_REDIS, REDLOCK_PREFIX, REDLOCK_TTL,\n"
    "REDLOCK_KILL_AFTER, REDLOCK_NODE_TIMEOUT, REDLOCK_RESTART_GRACE,\n"
    "REDLOCK_PASSWORD_FILE, REDLOCK_TLS_CA, REDLOCK_TLS_CERT, REDLOCK_TLS_KEY,\n"
    "REDLOCK_TLS_SERVER_NAME, REDLOCK_LOG, REDLOCK_CONFIG and REDISCLI_AUTH.\n"
    "\n"
    "Exit status: COMMAND's; 64 usage, 69 unreachable, 71 system,\n"
    "75 busy, 77 refused, 79 lock lost, 124 --max-run passed, 126 and 127 COMMAND\n"
    "not executable, not found.  See redlock-run(1).\n";

/*
 * Prints the lines of text in their column; used is the width of what stands
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
		fprintf(
		    out, "%*s%.*s\n", TEXT_COLUMN - used, "", (int)len, text);
		used = 0;
	}
}

void
help_print(FILE *out)
{
	int used;

	fputs(head, out);
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
