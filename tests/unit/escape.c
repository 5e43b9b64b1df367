/*
 * Text for a terminal or for JSON.  Each test of all characters compares with
 * an encoder and a list of its own.
 */
#include "../../src/base/escape.c"
#include "tap.h"

/* Escapes a copy of src without a byte to spare, into size bytes of room. */
static char *
escaped(size_t size, const char *src, size_t len)
{
	char *copy = tap_bytes(src, len);
	char *dst = malloc(size);

	if (dst == NULL)
		abort();
	memset(dst, 0x55, size);
	CHECK(escape_text(dst, size, copy, len) == dst);
	CHECK(memchr(dst, '\0', size) != NULL);
	free(copy);
	return dst;
}

static void
text_bytes(const char *src, size_t len, const char *want)
{
	char *got = escaped(4 * len + 1, src, len);

	if (strcmp(got, want) != 0)
		tap_fail("\"%s\" comes out, not \"%s\"", got, want);
	free(got);
}

static void
text(const char *src, const char *want)
{
	text_bytes(src, strlen(src), want);
}

static void
json_bytes(const char *src, size_t len, const char *want)
{
	char *copy = src == NULL ? NULL : tap_bytes(src, len);
	char *got = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&got, &size);

	if (out == NULL)
		abort();
	escape_json(out, copy, len);
	fclose(out);
	CHECK(strlen(got) == size);
	if (strcmp(got, want) != 0)
		tap_fail("%s comes out, not %s", got, want);
	free(got);
	free(copy);
}

static void
json(const char *src, const char *want)
{
	json_bytes(src, strlen(src), want);
}

/* Any number below 2^21 in as many bytes as asked for; their count. */
static size_t
encode(char *s, uint32_t cp, size_t n)
{
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	if (n == 1)
		s[0] = (char)cp;
	else {
		for (size_t i = n - 1; i > 0; i--, cp >>= 6)
			s[i] = (char)(0x80 | (cp & 0x3f));
		s[0] = (char)(lead[n] | cp);
	}
	return n;
}

static size_t
shortest(uint32_t cp)
{
	return cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
}

static void
hex(char *dst, const char *src, size_t len)
{
	for (; len > 0; len--)
		dst += sprintf(dst, "\\x%02x", (unsigned char)*src++);
}

static void
printable(void)
{
	text("", "");
	text("backup.sh", "backup.sh");
	text("a b~", "a b~");
	text("\xc3\xa9\xc3\x9f \xe2\x82\xac \xf0\x9f\x94\x92",
	    "\xc3\xa9\xc3\x9f \xe2\x82\xac \xf0\x9f\x94\x92");
	text("\\", "\\");
	text("\\x1b", "\\x1b");
	text("\"'%s%n", "\"'%s%n");
	text("\xef\xbf\xbf", "\xef\xbf\xbf");
	text("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf");
}

static void
controls(void)
{
	text("\x1b[31m", "\\x1b[31m");
	text("\x1b]0;title\a", "\\x1b]0;title\\x07");
	text("a\r\nb\tc",
	    "a\\x0d\\x0a"
	    "b\\x09"
	    "c");
	text("\x7f", "\\x7f");
	text_bytes("a\0b", 3, "a\\x00b");
	text_bytes("\0", 1, "\\x00");
	text("\xc2\x9b", "\\xc2\\x9b");
	text("\xc2\x80\xc2\x85\xc2\x9f", "\\xc2\\x80\\xc2\\x85\\xc2\\x9f");
}

static void
bidi(void)
{
	static const uint32_t cps[] = { 0x200e, 0x200f, 0x202a, 0x202b, 0x202c,
		0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069, 0x2028,
		0x2029 };
	char src[4], want[16];
	size_t n;

	text("\xd8\x9c", "\\xd8\\x9c");
	for (size_t i = 0; i < sizeof(cps) / sizeof(cps[0]); i++) {
		n = encode(src, cps[i], 3);
		hex(want, src, n);
		text_bytes(src, n, want);
	}
}

/* Category Cf in all lengths, other characters without ink, and blanks. */
static void
invisible(void)
{
	static const uint32_t cps[] = { 0xad, 0x600, 0x605, 0x6dd, 0x70f, 0x890,
		0x891, 0x8e2, 0x115f, 0x1160, 0x180e, 0x200b, 0x200c, 0x200d,
		0x2060, 0x2061, 0x2064, 0x206a, 0x206f, 0x3164, 0xfeff, 0xfff9,
		0xfffb, 0x110bd, 0x110cd, 0x13430, 0x1343f, 0x1bca0, 0x1bca3,
		0x1d173, 0x1d17a, 0xe0001, 0xe0020, 0xe007f, 0xa0, 0x34f,
		0x1680, 0x17b4, 0x17b5, 0x180b, 0x180d, 0x180f, 0x2000, 0x200a,
		0x202f, 0x205f, 0x2800, 0x3000, 0xfe00, 0xfe0f, 0xffa0, 0xfff0,
		0x1d159, 0xe0100, 0xe01ef };
	static const uint32_t visible[] = { 0xa1, 0xac, 0xae, 0x34e, 0x350,
		0x606, 0x115e, 0x1161, 0x167f, 0x1681, 0x17b6, 0x180a, 0x1810,
		0x2010, 0x2027, 0x2030, 0x205e, 0x2070, 0x27ff, 0x2801, 0x2fff,
		0x3001, 0x3163, 0x3165, 0xfdff, 0xfe10, 0xfefe, 0xff00, 0xff9f,
		0xffa1, 0xffef, 0xfffc, 0x110be, 0x1d158, 0x1d15a, 0x1f512,
		0xdffff, 0xe1000 };
	char src[5], want[24];
	size_t n;

	for (size_t i = 0; i < sizeof(cps) / sizeof(cps[0]); i++) {
		n = encode(src, cps[i], shortest(cps[i]));
		hex(want, src, n);
		text_bytes(src, n, want);
		src[n] = '\0';
		CHECK(escape_invisible(src));
	}
	for (size_t i = 0; i < sizeof(visible) / sizeof(visible[0]); i++) {
		n = encode(src, visible[i], shortest(visible[i]));
		src[n] = '\0';
		text(src, src);
		CHECK(!escape_invisible(src));
	}
	CHECK(escape_invisible("a\xe2\x80\x8b"));
	CHECK(escape_invisible("\xff\xc2\xad"));
	CHECK(escape_invisible("\xc2\x85"));
	CHECK(!escape_invisible("a\xff\xc2"));
	CHECK(!escape_invisible(""));
	json("\xe2\x80\x8b\xf3\xa0\x80\xa1", "\"\\u200b\\udb40\\udc21\"");
}

static void
every_byte(void)
{
	char want[8];

	for (int c = 0; c < 256; c++) {
		const char byte = (char)c;

		if (c >= 0x20 && c < 0x7f)
			snprintf(want, sizeof(want), "%c", c);
		else
			snprintf(want, sizeof(want), "\\x%02x", c);
		text_bytes(&byte, 1, want);
	}
}

/* In all lengths, of which but one is well-formed; also beyond Unicode. */
static void
every_character(void)
{
	char src[4], want[20], got[20];
	uint32_t out;
	size_t len;
	bool good;

	for (uint32_t cp = 0; cp < 0x200000; cp++)
		for (size_t n = shortest(cp); n <= 4; n++) {
			len = encode(src, cp, n);
			good = n == shortest(cp) && cp <= 0x10ffff &&
			    (cp < 0xd800 || cp > 0xdfff);
			out = 0;
			if (utf8_decode(src, len, &out) != (good ? n : 0) ||
			    (good && out != cp)) {
				tap_fail("U+%04X in %zu bytes", cp, n);
				return;
			}
			if (!good) {
				hex(want, src, len);
				escape_text(got, sizeof(got), src, len);
				if (strcmp(got, want) != 0) {
					tap_fail("U+%04X: %s", cp, got);
					return;
				}
			}
		}
}

static void
no_utf8(void)
{
	text("\xff", "\\xff");
	text("\x80", "\\x80");
	text("\xc3", "\\xc3");
	text("\xc3(", "\\xc3(");
	text("\xe2\x82", "\\xe2\\x82");
	text("\xe2\x82(", "\\xe2\\x82(");
	text("\xf0\x9f\x94", "\\xf0\\x9f\\x94");
	text("\xc0\xaf", "\\xc0\\xaf");
	text("\xe0\x80\xaf", "\\xe0\\x80\\xaf");
	text("\xc1\x9b", "\\xc1\\x9b");
	text("\xed\xa0\x80", "\\xed\\xa0\\x80");
	text("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
	text("\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80");
	text("\xc3\xc3\xa9", "\\xc3\xc3\xa9");
	text("a\xe2\x82\xc3\xa9z", "a\\xe2\\x82\xc3\xa9z");
}

static void
cut_at(size_t size, const char *src, const char *want)
{
	char *got = escaped(size, src, strlen(src));

	if (strcmp(got, want) != 0)
		tap_fail("in %zu bytes \"%s\" comes out, not \"%s\"", size, got,
		    want);
	free(got);
}

static void
cutting(void)
{
	cut_at(1, "abc", "");
	cut_at(2, "abc", "a");
	cut_at(3, "abc", "ab");
	cut_at(4, "abc", "abc");
	cut_at(2, "\xc3\xa9", "");
	cut_at(3, "\xc3\xa9", "\xc3\xa9");
	cut_at(4, "a\xe2\x82\xac", "a");
	cut_at(5, "a\xe2\x82\xac", "a\xe2\x82\xac");
	cut_at(4, "\xf0\x9f\x94\x92", "");
	cut_at(5, "\xf0\x9f\x94\x92", "\xf0\x9f\x94\x92");
	cut_at(4, "\n", "");
	cut_at(5, "\n", "\\x0a");
	cut_at(8, "\n\n", "\\x0a");
	cut_at(9, "\n\n", "\\x0a\\x0a");
	cut_at(1, "", "");
}

/* Never a byte beyond, always ended, and always a beginning of the whole. */
static void
every_size(void)
{
	static const char src[] =
	    "a\xc3\xa9\n\xe2\x82\xac\x1b[\xf0\x9f\x94\x92\xff\xe2\x82z\xc2\x9b";
	char *whole = escaped(200, src, sizeof(src) - 1), *got;

	for (size_t size = 1; size <= strlen(whole) + 2; size++) {
		got = escaped(size, src, sizeof(src) - 1);
		CHECK(strncmp(got, whole, strlen(got)) == 0);
		CHECK(strlen(got) + 4 >= size - 1 ||
		    strlen(got) == strlen(whole));
		free(got);
	}
	free(whole);
}

/* Escaping twice changes nothing. */
static void
idempotent(void)
{
	char all[512], *once;
	size_t n = 0;

	for (int c = 0; c < 256; c++)
		all[n++] = (char)c;
	for (int c = 255; c >= 0; c--)
		all[n++] = (char)c;
	once = escaped(4 * n + 1, all, n);
	text(once, once);
	free(once);
}

static void
widths(void)
{
	SAME_INT(escape_width(""), 0);
	SAME_INT(escape_width("nightly"), 7);
	SAME_INT(escape_width("\\x1b"), 4);
	SAME_INT(escape_width("\xc3\xa9"), 1);
	SAME_INT(escape_width("\xe2\x82\xac"
			      "5"),
	    2);
	SAME_INT(escape_width("\xf0\x9f\x94\x92"), 2); /* a lock */
	SAME_INT(escape_width("\xe9\x83\xa8\xe7\xbd\xb2"), 4);
	SAME_INT(escape_width("e\xcc\x81"), 1); /* a combining accent */
	SAME_INT(escape_width("\xff"), 1);
}

static void
json_strings(void)
{
	json("", "\"\"");
	json("backup.sh", "\"backup.sh\"");
	json("\"\\/", "\"\\\"\\\\/\"");
	json("\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92",
	    "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92\"");
	json("%s%n", "\"%s%n\"");
	json_bytes(NULL, 0, "null");
	json_bytes(NULL, 7, "null");
}

static void
json_controls(void)
{
	char want[16];

	for (int c = 0; c < 0x80; c++) {
		const char byte = (char)c;

		if (c < 0x20 || c == 0x7f)
			snprintf(want, sizeof(want), "\"\\u%04x\"", c);
		else if (c == '"' || c == '\\')
			snprintf(want, sizeof(want), "\"\\%c\"", c);
		else
			snprintf(want, sizeof(want), "\"%c\"", c);
		json_bytes(&byte, 1, want);
	}
	json("\xc2\x85\xc2\x9b", "\"\\u0085\\u009b\"");
	json("\xe2\x80\xae\xe2\x80\xa8\xe2\x81\xa6",
	    "\"\\u202e\\u2028\\u2066\"");
	json_bytes("a\0b", 3, "\"a\\u0000b\"");
}

static void
json_no_utf8(void)
{
	json("\xff", "\"\\ufffd\"");
	json("a\xc3", "\"a\\ufffd\"");
	json("\xe2\x82(", "\"\\ufffd\\ufffd(\"");
	json("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
	json("\xc0\xaf", "\"\\ufffd\\ufffd\"");
	json("\xc3\xc3\xa9", "\"\\ufffd\xc3\xa9\"");
}

static const struct tap_test tests[] = {
	{ "printable UTF-8 and the backslash stay as they are", printable },
	{ "control characters are shown as \\xNN", controls },
	{ "what turns the direction of text is shown as \\xNN", bidi },
	{ "characters without a width are shown as \\xNN", invisible },
	{ "of single bytes only printable ASCII stays", every_byte },
	{ "of all encodings of all characters one is well-formed",
	    every_character },
	{ "bytes that are no UTF-8 are shown, one by one", no_utf8 },
	{ "what does not fit is cut at a whole character", cutting },
	{ "text is ended within every size, with the beginning kept",
	    every_size },
	{ "what was escaped once stays as it is", idempotent },
	{ "a character is as many columns wide as a terminal has for it",
	    widths },
	{ "a JSON string has quotes, and nothing is null", json_strings },
	{ "JSON has its controls, quotes and backslashes escaped",
	    json_controls },
	{ "JSON has U+FFFD for bytes that are no UTF-8", json_no_utf8 },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
