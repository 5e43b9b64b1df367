/*
 * Password files.  A line that serves the wrong host gives a password away; a
 * message that quotes too much does, too.
 */
#include "../../src/redis/passwords.c"
#include "tap.h"

static struct passwords file;

/* Parses a copy of the bytes and a NUL, without a spare byte behind it. */
static const char *
parse_bytes(const char *bytes, size_t len)
{
	char *copy = malloc(len + 1);
	const char *wrong;

	if (copy == NULL)
		abort();
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	passwords_release(&file);
	wrong = passwords_parse(&file, copy, len);
	free(copy);
	return wrong;
}

static void
reads(const char *text)
{
	const char *wrong = parse_bytes(text, strlen(text));

	if (wrong != NULL)
		tap_fail("line %d %s", file.line, wrong);
}

static void
finds(const char *host, int port, const char *want)
{
	const char *got = passwords_find(&file, host, port);

	if (got == NULL || want == NULL ? got != want : strcmp(got, want) != 0)
		tap_fail("%s:%d gets %s, not %s", host, port,
		    got != NULL ? got : "none", want != NULL ? want : "none");
}

static void
alone(void)
{
	reads("secret");
	SAME_TEXT(file.single, "secret");
	SAME_INT(file.n, 0);
	reads("secret\r\n\n \t\n");
	SAME_TEXT(file.single, "secret");
	reads("#h:1\n");
	SAME_TEXT(file.single, "#h:1");
	finds("h", 1, NULL);
}

static void
of_hosts(void)
{
	reads("# comment\n\n h\tone \nh:2 tw o#\r\n[::1]:3 three\n"
	      "[::1] v6\n/run/a.sock sock\n/my%20master m\n#x");
	CHECK(file.single == NULL);
	SAME_INT(file.n, 6);
	finds("h", 1, "one");
	finds("h", 2, "tw o#");
	finds("H", 2, "tw o#");
	finds("::1", 3, "three");
	finds("::1", 4, "v6");
	finds("/run/a.sock", 0, "sock");
	finds("/run/A.sock", 0, NULL);
	finds("/my master", 0, "m");
	finds("i", 1, NULL);
	finds("", 0, NULL);
}

/* The most specific one, wherever it stands. */
static void
specific(void)
{
	reads("h:1 a\nh b\n");
	finds("h", 1, "a");
	finds("h", 2, "b");
	reads("h b\nh:1 a\n");
	finds("h", 1, "a");
	finds("h", 2, "b");
	reads("h:1 a\n");
	finds("h", 2, NULL);
}

static void
bad(void)
{
	static const struct {
		const char *text;
		size_t len;
		int line;
		const char *wrong;
	} rows[] = {
		{ "", 0, 1, "empty" },
		{ "\n", 1, 1, "empty" },
		{ "\nsecret\n", 8, 1, "empty" },
		{ "secret\nsecret\n", 14, 2, "stands alone" },
		{ "secret\n# x\n", 11, 2, "stands alone" },
		{ "secret \n", 8, 1, "no blank" },
		{ "h secret\nsecret\n", 16, 2, "no blank" },
		{ "sec\0ret\n", 8, 1, "NUL" },
		{ "h secret\ni s\0\n", 14, 2, "NUL" },
		{ "h:x secret\n", 11, 1, "port" },
		{ "h:0 secret\n", 11, 1, "port" },
		{ ": secret\n", 9, 1, "no host" },
		{ "[::1 secret\n", 12, 1, "']'" },
		{ "u@h secret\n", 11, 1, "character" },
		{ "/a%zz secret\n", 13, 1, "encoded" },
		{ "h secret\nh other\n", 17, 2, "already" },
		{ "h:1 secret\nH:1 x\n", 17, 2, "already" },
	};
	const char *wrong;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		wrong = parse_bytes(rows[i].text, rows[i].len);
		if (wrong == NULL || strstr(wrong, rows[i].wrong) == NULL)
			tap_fail("row %zu %s", i, wrong);
		SAME_INT(file.line, rows[i].line);
		CHECK(strstr(wrong, "secret") == NULL);
	}
}

static void
lengths(void)
{
	static char text[2 + ADDRESS_SECRET + 1];

	memset(text, 'x', sizeof(text) - 1);
	CHECK(parse_bytes(text, ADDRESS_SECRET - 1) == NULL);
	CHECK(parse_bytes(text, ADDRESS_SECRET) != NULL);
	text[1] = ' ';
	CHECK(parse_bytes(text, 2 + ADDRESS_SECRET - 1) == NULL);
	CHECK(parse_bytes(text, 2 + ADDRESS_SECRET) != NULL);
}

static const struct tap_test tests[] = {
	{ "a first line without a blank is the only password", alone },
	{ "a line has a host and its password, which may have blanks",
	    of_hosts },
	{ "of two lines that fit, that with the port wins", specific },
	{ "a mistake is named without a word of its line", bad },
	{ "a password has up to 511 bytes", lengths },
};

int
main(void)
{
	int status = TAP_MAIN(tests);

	passwords_release(&file);
	secret_release();
	return status;
}
