/*
 * Other programs can write lock values, key names and server errors.  None of
 * them may move a cursor, set a title or end a JSON string.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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

/* Control characters, and those that change the direction of text. */
static bool
unprintable(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x061c ||
	    cp == 0x200e || cp == 0x200f || (cp >= 0x2028 && cp <= 0x202e) ||
	    (cp >= 0x2066 && cp <= 0x2069);
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
		snprintf(
		    dst + used, size - used, "\\x%02x", (unsigned char)*src);
		used += 4;
	}
	dst[used] = '\0';
	return dst;
}

int
escape_width(const char *text)
{
	int width = 0;

	for (; *text != '\0'; text++)
		if (((unsigned char)*text & 0xc0) != 0x80)
			width++;
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
		else if (unprintable(cp))
			fprintf(out, "\\u%04x", (unsigned int)cp);
		else
			fwrite(src, 1, n, out);
	}
	putc('"', out);
}
