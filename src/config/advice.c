/* Advice about errors. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "config/advice.h"
#include "config/option_table.h"
#include "config/suggest.h"

/* Whether the error at wrong follows "Sentinel HOST:PORT: ". */
static bool
from_sentinel(const char *error, const char *wrong)
{
	static const char who[] = "Sentinel ";
	const char *at = wrong - error > 2 ? wrong - 2 : error;

	while (at > error && at[-1] != ' ')
		at--;
	return at - error >= (ptrdiff_t)strlen(who) &&
	    strncmp(at - strlen(who), who, strlen(who)) == 0;
}

char *
advice_password(char buf[ADVICE_PASSWORD], const char *config_path,
    const char *error)
{
	static const char requires[] = "requires a password";
	const char *required = strstr(error, requires);
	const char *wrong = strstr(error, "WRONGPASS");

	if (strcmp(config_path, "/dev/null") == 0)
		config_path = "a configuration file";
	buf[0] = '\0';
	if (required != NULL &&
	    strncmp(required + strlen(requires), ", but ", 6) != 0)
		snprintf(buf, ADVICE_PASSWORD,
		    "; set it by REDISCLI_AUTH, --password-file or %s",
		    config_path);
	else if (wrong != NULL && from_sentinel(error, wrong))
		snprintf(buf, ADVICE_PASSWORD,
		    "; correct sentinel-password or the line of its host in "
		    "the password file");
	else if (wrong != NULL || strstr(error, "ERR invalid password") != NULL)
		snprintf(buf, ADVICE_PASSWORD,
		    "; correct the user or password in the URL, "
		    "--password-file, REDISCLI_AUTH or %s",
		    config_path);
	else if (strstr(error, "without any password") != NULL)
		snprintf(buf, ADVICE_PASSWORD,
		    "; set that password on the server, or send none");
	return buf;
}

/* Options of flock(1) and their names here. */
static const struct {
	const char *name;
	const char *ours;
} namesakes[] = {
	{ "timeout", "--wait or --max-run" },
	{ "nb", "--nonblock" },
};

char *
advice_option(char buf[ADVICE_OPTION], const char *word, size_t len,
    bool *ambiguous)
{
	const char *all[OPTIONS_MAX], *begun[OPTIONS_MAX], *nearest;
	char joined[ADVICE_OPTION - 32];
	size_t n = 0, nbegun = 0;

	*ambiguous = false;
	buf[0] = '\0';
	for (size_t i = 0; i < sizeof(namesakes) / sizeof(namesakes[0]); i++)
		if (strlen(namesakes[i].name) == len &&
		    strncmp(namesakes[i].name, word, len) == 0) {
			snprintf(buf, ADVICE_OPTION, " (did you mean %s?)",
			    namesakes[i].ours);
			return buf;
		}
	for (const struct option_row *o = option_table; o->name != NULL; o++) {
		if (o->help == NULL)
			continue;
		if (len > 0 && strncmp(o->name, word, len) == 0)
			begun[nbegun++] = o->name;
		all[n++] = o->name;
	}
	*ambiguous = nbegun > 1;
	if (nbegun == 0) {
		nearest = suggest_nearest(word, len, all, n);
		if (nearest == NULL)
			return buf;
		begun[nbegun++] = nearest;
	}
	suggest_join(joined, sizeof(joined), "--", begun, nbegun);
	snprintf(buf, ADVICE_OPTION, " (did you mean %s?)", joined);
	return buf;
}
