/* The writer of JSON: commas, brackets and nulls follow RFC 8259. */
#include <stdlib.h>
#include <string.h>

#include "../../src/base/json.c"
#include "tap.h"

static char *text;
static size_t len;

static struct json
begin(void)
{
	return (struct json){ .out = open_memstream(&text, &len) };
}

static void
is(struct json *j, const char *want)
{
	fclose(j->out);
	if (strcmp(text, want) != 0)
		tap_fail("got %s\nwant %s", text, want);
	CHECK(j->depth == 0 && !j->more);
	free(text);
}

static void
empty_groups(void)
{
	struct json j = begin();

	json_array(&j, NULL);
	json_end(&j);
	json_object(&j, NULL);
	json_end(&j);
	is(&j, "[]\n{}\n");
}

static void
members(void)
{
	struct json j = begin();

	json_object(&j, NULL);
	json_string(&j, "a", "x\"y");
	json_bool(&j, "b", true);
	json_bool(&j, "c", false);
	json_bytes(&j, "d", "e\0f", 3);
	json_number(&j, "g", 7, 0);
	json_array(&j, "h");
	json_number(&j, NULL, 1, 0);
	json_string(&j, NULL, "2");
	json_end(&j);
	json_object(&j, "i");
	json_end(&j);
	json_number(&j, "k", INT64_MIN, INT64_MIN);
	json_end(&j);
	is(&j,
	    "{\"a\":\"x\\\"y\",\"b\":true,\"c\":false,\"d\":\"e\\u0000f\","
	    "\"g\":7,\"h\":[1,\"2\"],\"i\":{},\"k\":-9223372036854775808}\n");
}

static void
nulls(void)
{
	struct json j = begin();

	json_object(&j, NULL);
	json_string(&j, "a", NULL);
	json_bytes(&j, "b", NULL, 3);
	json_number(&j, "c", -1, 0);
	json_number(&j, "d", 0, 1);
	json_time(&j, "e", -1);
	json_time(&j, "f", INT64_MAX);
	json_end(&j);
	is(&j,
	    "{\"a\":null,\"b\":null,\"c\":null,\"d\":null,\"e\":null,"
	    "\"f\":null}\n");
}

static void
times(void)
{
	struct json j = begin();

	json_array(&j, NULL);
	json_time(&j, NULL, 0);
	json_time(&j, NULL, INT64_C(1795226400123));
	json_end(&j);
	is(&j, "[\"1970-01-01T00:00:00.000Z\",\"2026-11-21T02:00:00.123Z\"]\n");
}

static void
a_line_each(void)
{
	struct json j = begin();

	json_object(&j, NULL);
	json_array(&j, "locks");
	for (int i = 0; i < 2; i++) {
		json_object(&j, NULL);
		json_array(&j, "holders");
		for (int k = 0; k < 2; k++) {
			json_object(&j, NULL);
			json_number(&j, "n", k, 0);
			json_end(&j);
		}
		json_end(&j);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	is(&j,
	    "{\"locks\":[{\"holders\":[{\"n\":0},{\"n\":1}]},\n"
	    "  {\"holders\":[{\"n\":0},{\"n\":1}]}]}\n");
}

static const struct tap_test tests[] = {
	{ "empty arrays and objects have their brackets, documents a newline",
	    empty_groups },
	{ "members are separated by commas, also behind what is nested",
	    members },
	{ "what is unknown is null", nulls },
	{ "a time is in UTC with milliseconds", times },
	{ "the objects of the outermost array are on a line each",
	    a_line_each },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
