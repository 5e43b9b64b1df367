/*
 * The settings in the lines of a configuration file, and the mistakes in other
 * lines.  tests/cli/config.bats tests their names and values.
 */
#include "../../src/config/conffile.c"
#include "tap.h"

static struct conffile file;
static char text[FILE_SIZE];

/* Parses len bytes.  Returns the mistake, or NULL. */
static const char *
parse_bytes(const char *bytes, size_t len)
{
	memcpy(text, bytes, len);
	text[len] = '\0';
	return conffile_parse(&file, text, len);
}

static const char *
parse(const char *lines)
{
	return parse_bytes(lines, strlen(lines));
}

static void
same_setting(int i, int line, const char *name, const char *value)
{
	CHECK(i < file.n);
	SAME_INT(file.settings[i].line, line);
	SAME_TEXT(file.settings[i].name, name);
	SAME_TEXT(file.settings[i].value, value);
}

static void
good(void)
{
	CHECK(parse("ttl 5s\nredis redis://a\n") == NULL);
	SAME_INT(file.n, 2);
	same_setting(0, 1, "ttl", "5s");
	same_setting(1, 2, "redis", "redis://a");
	CHECK(parse("ttl 5s") == NULL);
	same_setting(0, 1, "ttl", "5s");
	CHECK(parse(" \t ttl \t 5s \t\r\n") == NULL);
	same_setting(0, 1, "ttl", "5s");
	CHECK(parse("password a # b  'c' = \xff\n") == NULL);
	same_setting(0, 1, "password", "a # b  'c' = \xff");
	CHECK(parse("prefix\nprefix \r\n") == NULL);
	SAME_INT(file.n, 2);
	same_setting(0, 1, "prefix", "");
	same_setting(1, 2, "prefix", "");
	CHECK(parse("password ==\n") == NULL);
	same_setting(0, 1, "password", "==");
}

static void
nothing(void)
{
	CHECK(parse("") == NULL);
	CHECK(parse("\n\n \r\n\t\n# a comment\n  # \x01 another\n#") == NULL);
	SAME_INT(file.n, 0);
	SAME_INT(file.line, 7);
}

static void
bad(void)
{
	static const struct {
		const char *lines;
		size_t len;
		int line;
		const char *word;
	} rows[] = {
		{ "a 1\nb \x01\n", 7, 2, "control" },
		{ "a\x7f 1", 4, 1, "control" },
		{ "a 1\rb 2\n", 8, 1, "control" },
		{ "a 1\nb\0c 2\n", 10, 2, "NUL" },
		{ "#\0", 2, 1, "NUL" },
		{ "\n\n\0", 3, 3, "NUL" },
		{ "prefix ''\n", 10, 1, "quotes" },
		{ "prefix \"\"\n", 10, 1, "quotes" },
	};
	const char *wrong;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		wrong = parse_bytes(rows[i].lines, rows[i].len);
		CHECK(wrong != NULL && strstr(wrong, rows[i].word) != NULL);
		SAME_INT(file.line, rows[i].line);
	}
}

static void
limits(void)
{
	static char lines[FILE_SIZE];
	size_t len = 0;

	memset(lines, 'x', CONFFILE_LINE);
	CHECK(parse_bytes(lines, CONFFILE_LINE) == NULL);
	SAME_INT(file.n, 1);
	memset(lines, 'x', CONFFILE_LINE + 1);
	CHECK(parse_bytes(lines, CONFFILE_LINE + 1) != NULL);
	memcpy(lines + CONFFILE_LINE, "\r\n", 2);
	CHECK(parse_bytes(lines, CONFFILE_LINE + 2) == NULL);
	for (int i = 0; i <= CONFFILE_SETTINGS; i++) {
		CHECK(parse_bytes(lines, len) == NULL);
		SAME_INT(file.n, i);
		memcpy(lines + len, "a b\n", 4);
		len += 4;
	}
	CHECK(parse_bytes(lines, len) != NULL);
	SAME_INT(file.line, CONFFILE_SETTINGS + 1);
}

static const struct tap_test tests[] = {
	{ "a line is a name and the rest, without the blanks around", good },
	{ "blank lines and comments say nothing", nothing },
	{ "what cannot be meant is a mistake in its line", bad },
	{ "lines may be long and many, up to a limit", limits },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
