/*
 * Members of JSON objects, as RFC 8259 has them.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/escape.h"
#include "base/json.h"

void
json_string(FILE *out, const char *name, const char *value)
{
	fprintf(out, "\"%s\":", name);
	escape_json(out, value, value == NULL ? 0 : strlen(value));
}

void
json_number(FILE *out, const char *name, int64_t value, int64_t least)
{
	if (value < least)
		fprintf(out, "\"%s\":null", name);
	else
		fprintf(out, "\"%s\":%" PRId64, name, value);
}

void
json_time(FILE *out, const char *name, int64_t wall_ms)
{
	char text[40];
	time_t seconds = wall_ms / 1000;
	struct tm tm;

	if (wall_ms < 0 || gmtime_r(&seconds, &tm) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		fprintf(out, "\"%s\":null", name);
	else
		fprintf(out, "\"%s\":\"%s.%03dZ\"", name, text,
		    (int)(wall_ms % 1000));
}
