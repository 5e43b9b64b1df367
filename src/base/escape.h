/* What came from outside, made fit for a terminal or for JSON. */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/*
 * Copies len bytes of src to dst, at most size - 1 of them, and ends dst with
 * a NUL.  Printable UTF-8 stays; control characters (C0, DEL, C1), bidi
 * overrides and bytes that are no UTF-8 become \xNN; a backslash stays.  What
 * does not fit is cut at a whole character.  Returns dst.
 */
char *escape_text(char *dst, size_t size, const char *src, size_t len);

/* Columns that UTF-8 text takes on a terminal: one a character. */
int escape_width(const char *text);

/*
 * Prints len bytes of src as a JSON string with its quotes, or null if src is
 * NULL.  Bytes that are no UTF-8 become U+FFFD: JSON has no other place for
 * them.
 */
void escape_json(FILE *out, const char *src, size_t len);

#endif
