/*
 * A writer of JSON.  Each object of the outermost array is on one line, so that
 * grep(1) prints it whole.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/escape.h"
#include "base/json.h"

/* Writes the comma and the name before a value. */
static void
begin_value(struct json *j, const char *name)
{
	if (j->more)
		putc(',', j->out);
	j->more = true;
	if (name == NULL)
		return;
	escape_json(j->out, name, strlen(name));
	putc(':', j->out);
}

/* Whether the next value is an element of the outermost array. */
static bool
in_outer_array(const struct json *j)
{
	return j->depth > 0 &&
	    memchr(j->closing, ']', (size_t)j->depth) ==
	    &j->closing[j->depth - 1];
}

static void
begin_group(struct json *j, const char *name, const char *brackets)
{
	if (j->more && in_outer_array(j)) {
		fprintf(j->out, ",\n%*s", j->depth, "");
		j->more = false;
	}
	begin_value(j, name);
	putc(brackets[0], j->out);
	j->closing[j->depth++] = brackets[1];
	j->more = false;
}

void
json_elements(struct json *j, FILE *out)
{
	*j = (struct json){ .out = out, .closing = "}]", .depth = 2 };
}

void
json_object(struct json *j, const char *name)
{
	begin_group(j, name, "{}");
}

void
json_array(struct json *j, const char *name)
{
	begin_group(j, name, "[]");
}

void
json_end(struct json *j)
{
	putc(j->closing[--j->depth], j->out);
	j->more = j->depth > 0;
	if (j->depth == 0)
		putc('\n', j->out);
}

void
json_bytes(struct json *j, const char *name, const char *value, size_t len)
{
	begin_value(j, name);
	escape_json(j->out, value, len);
}

void
json_string(struct json *j, const char *name, const char *value)
{
	json_bytes(j, name, value, value == NULL ? 0 : strlen(value));
}

void
json_bool(struct json *j, const char *name, bool value)
{
	begin_value(j, name);
	fputs(value ? "true" : "false", j->out);
}

void
json_number(struct json *j, const char *name, int64_t value, int64_t least)
{
	begin_value(j, name);
	if (value < least)
		fputs("null", j->out);
	else
		fprintf(j->out, "%" PRId64, value);
}

void
json_time(struct json *j, const char *name, int64_t wall_ms)
{
	char text[40];
	time_t seconds = wall_ms / 1000;
	struct tm tm;

	if (wall_ms < 0 || gmtime_r(&seconds, &tm) == NULL ||
	    tm.tm_year > 9999 - 1900 ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0) {
		json_string(j, name, NULL);
		return;
	}
	begin_value(j, name);
	fprintf(j->out, "\"%s.%03dZ\"", text, (int)(wall_ms % 1000));
}
