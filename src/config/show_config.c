/* --show-config answers why a run uses this server or that lease. */
#include <string.h>

#include "base/duration.h"
#include "base/table.h"
#include "config/credentials.h"
#include "config/show_config.h"
#include "prefix.h"

enum { NAME, VALUE, ORIGIN, COLUMNS };

static void
add(struct table *t, const char *name, const char *value, const char *origin)
{
	size_t row = table_row(t);
	const char *end = strstr(origin, ": "); /* the file's name for it */
	char place[TABLE_CELL];

	table_text(t, row, NAME, name);
	table_text(t, row, VALUE, value[0] != '\0' ? value : "''");
	snprintf(place, sizeof(place), "%.*s",
	    end != NULL ? (int)(end - origin) : -1, origin);
	table_text(t, row, ORIGIN, place);
}

/* Adds a setting; fallback is its default. */
static void
add_setting(struct table *t, const struct settings *s, enum setting_key key,
    const char *fallback)
{
	struct setting found = settings_find(s, key);

	if (found.value != NULL)
		add(t, setting_word(key), found.value, found.name);
	else
		add(t, setting_word(key), fallback, "default");
}

static void
add_duration(struct table *t, const struct settings *s, enum setting_key key,
    int64_t ms)
{
	char text[DURATION_TEXT];

	add_setting(t, s, key, ms == 0 ? "0" : duration_format(ms, text));
}

/* Writes the URL of a server, with "***" for a password in the URL. */
static const char *
show_url(char text[ADDRESS_TEXT + 8], const struct address *a, bool password)
{
	const char *host = strstr(a->text, "://") + 3;
	const char *at = a->user[0] != '\0' ? strchr(host, '@') : NULL;
	int len = (int)((at != NULL ? at : host) - a->text);

	if (password)
		snprintf(text, ADDRESS_TEXT + 8, "%.*s:***%s%s", len, a->text,
		    at != NULL ? "" : "@", a->text + len);
	else
		snprintf(text, ADDRESS_TEXT + 8, "%s", a->text);
	return text;
}

static void
add_servers(struct table *t, const struct servers *servers)
{
	char text[ADDRESS_TEXT + 8];

	for (int i = 0; i < servers->n; i++)
		add(t, setting_word(SETTING_REDIS),
		    show_url(text, &servers->address[i],
			servers->own_password[i]),
		    servers->is_default ? "default" : servers->origin[i]);
}

/* Adds the passwords for URLs without one, masked. */
static void
add_password(struct table *t, const struct settings *s)
{
	struct setting file, word;

	credentials_find(s, &file, &word);
	add(t, setting_word(SETTING_PASSWORD_FILE),
	    file.value != NULL ? file.value : "-",
	    file.value != NULL ? file.name : "default");
	add(t, setting_word(SETTING_PASSWORD), word.value != NULL ? "***" : "-",
	    word.value != NULL ? word.name : "default");
	word = settings_find(s, SETTING_SENTINEL_PASSWORD);
	add(t, setting_word(SETTING_SENTINEL_PASSWORD),
	    word.value != NULL ? "***" : "-",
	    word.value != NULL ? word.name : "default");
}

void
show_config(FILE *out, const struct options *opt)
{
	static const char *const titles[COLUMNS] = { "SETTING", "VALUE",
		"ORIGIN" };
	const struct settings *s = &opt->settings;
	struct table t;

	table_init(&t, table_wants_colours(), COLUMNS, titles);
	add_setting(&t, s, SETTING_CONFIG, CONFFILE_DEFAULT);
	add_servers(&t, &opt->servers);
	add_setting(&t, s, SETTING_PREFIX, s->prefix);
	add_duration(&t, s, SETTING_TTL, s->ttl_ms);
	add_duration(&t, s, SETTING_MAX_TTL,
	    s->max_ttl_ms > s->ttl_ms ? s->max_ttl_ms : 0);
	add_setting(&t, s, SETTING_LATEST, "no");
	add_setting(&t, s, SETTING_MAX_WAITING, "-");
	add_duration(&t, s, SETTING_KILL_AFTER, s->kill_after_ms);
	add_duration(&t, s, SETTING_NODE_TIMEOUT, s->node_timeout_ms);
	add_duration(&t, s, SETTING_RESTART_GRACE, s->grace_ms);
	add_setting(&t, s, SETTING_LOG, "stderr");
	add_password(&t, s);
	for (int key = SETTING_TLS_CA; key <= SETTING_TLS_SERVER_NAME; key++)
		add_setting(&t, s, (enum setting_key)key, "-");
	table_print(out, &t, 0, t.nrows);
	table_release(&t);
}
