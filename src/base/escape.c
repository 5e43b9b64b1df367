/*
 * Other programs can write lock values, key names and server errors.  None of
 * them may move a cursor, set a title or end a JSON string.
 */
#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "base/escape.h"

/*
 * Decodes one character of at most len bytes at s into *cp.  Returns its
 * length, or 0 if it is not well-formed (overlong forms, surrogates and values
 * beyond U+10FFFF included).
 */
static size_t
utf8_decode(const char *s, size_t len, uint32_t *cp)
{
	const unsigned char *p = (const unsigned char *)s;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n;

	if (p[0] < 0x80) {
		*cp = p[0];
		return 1;
	}
	if ((p[0] & 0xe0) == 0xc0)
		n = 2;
	else if ((p[0] & 0xf0) == 0xe0)
		n = 3;
	else if ((p[0] & 0xf8) == 0xf0)
		n = 4;
	else
		return 0;
	if (n > len)
		return 0;
	*cp = p[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*cp = *cp << 6 | (p[i] & 0x3fu);
	}
	if (*cp < least[n] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp < 0xe000))
		return 0;
	return n;
}

/*
 * Characters that no terminal shows, or that change what it shows of others, and
 * blanks that look like the space: controls, and of Unicode 15 the categories Cf
 * and Zs, the separators of lines and paragraphs, the property
 * Default_Ignorable_Code_Point, and two symbols without ink.
 */
static bool
unprintable(uint32_t cp)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = { { 0, 0x1f }, { 0x7f, 0xa0 }, { 0xad, 0xad },
		{ 0x34f, 0x34f }, { 0x600, 0x605 }, { 0x61c, 0x61c },
		{ 0x6dd, 0x6dd }, { 0x70f, 0x70f }, { 0x890, 0x891 },
		{ 0x8e2, 0x8e2 }, { 0x115f, 0x1160 }, { 0x1680, 0x1680 },
		{ 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x2000, 0x200f },
		{ 0x2028, 0x202f }, { 0x205f, 0x206f }, { 0x2800, 0x2800 },
		{ 0x3000, 0x3000 }, { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f },
		{ 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb },
		{ 0x110bd, 0x110bd }, { 0x110cd, 0x110cd },
		{ 0x13430, 0x1343f }, { 0x1bca0, 0x1bca3 },
		{ 0x1d159, 0x1d159 }, { 0x1d173, 0x1d17a },
		{ 0xe0000, 0xe0fff } };

	if (cp >= 0x20 && cp < 0x7f)
		return false;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (cp >= ranges[i].first && cp <= ranges[i].last)
			return true;
	return false;
}

bool
escape_invisible(const char *text)
{
	size_t len = strlen(text), n;
	uint32_t cp;

	for (; len > 0; text += n, len -= n) {
		n = utf8_decode(text, len, &cp);
		if (n > 0 && unprintable(cp))
			return true;
		if (n == 0)
			n = 1;
	}
	return false;
}

char *
escape_text(char *dst, size_t size, const char *src, size_t len)
{
	size_t used = 0, n;
	uint32_t cp;

	for (; len > 0; src += n, len -= n) {
		n = utf8_decode(src, len, &cp);
		if (n > 0 && !unprintable(cp)) {
			if (used + n >= size)
				break;
			memcpy(dst + used, src, n);
			used += n;
			continue;
		}
		n = 1;
		if (used + 4 >= size)
			break;
		snprintf(dst + used, size - used, "\\x%02x",
		    (unsigned char)*src);
		used += 4;
	}
	dst[used] = '\0';
	return dst;
}

/*
 * Returns the columns of a character.  wcwidth(3) needs a locale with UTF-8, and
 * ours is "C", whatever the user's is.
 */
static int
columns_of(uint32_t cp)
{
	static locale_t utf8;
	locale_t before;
	int width;

	if (cp < 0x300)
		return 1;
	if (utf8 == (locale_t)0)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	if (utf8 == (locale_t)0)
		return 1;
	before = uselocale(utf8);
	width = wcwidth((wchar_t)cp);
	uselocale(before);
	return width < 0 ? 1 : width;
}

size_t
escape_step(const char *text, int *width)
{
	uint32_t cp;
	size_t n = utf8_decode(text, strnlen(text, 4), &cp);

	*width = n > 0 ? columns_of(cp) : 1;
	return n > 0 ? n : 1;
}

int
escape_width(const char *text)
{
	int width = 0, columns;

	for (; *text != '\0'; width += columns)
		text += escape_step(text, &columns);
	return width;
}

void
escape_json(FILE *out, const char *src, size_t len)
{
	size_t n;
	uint32_t cp;

	if (src == NULL) {
		fputs("null", out);
		return;
	}
	putc('"', out);
	for (; len > 0; src += n, len -= n) {
		n = utf8_decode(src, len, &cp);
		if (n == 0) {
			fputs("\\ufffd", out);
			n = 1;
		} else if (cp == '"' || cp == '\\')
			fprintf(out, "\\%c", (int)cp);
		else if (unprintable(cp) && cp > 0xffff)
			fprintf(out, "\\u%04x\\u%04x",
			    (unsigned int)(0xd7c0 + (cp >> 10)),
			    (unsigned int)(0xdc00 + (cp & 0x3ff)));
		else if (unprintable(cp))
			fprintf(out, "\\u%04x", (unsigned int)cp);
		else
			fwrite(src, 1, n, out);
	}
	putc('"', out);
}
