/* Foreign text, made safe for a terminal or for JSON. */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Copies len bytes of src to dst, at most size - 1 of them, and ends dst with a
 * NUL.  Printable UTF-8 stays; control characters (C0, DEL, C1), invisible ones
 * such as bidi overrides, blanks other than the space, and invalid UTF-8 become
 * \xNN; a backslash stays.
 * Text that does not fit is cut between characters.  Returns dst.
 */
char *escape_text(char *dst, size_t size, const char *src, size_t len);

/* Whether text has a character that escape_text() would not leave as it is. */
bool escape_invisible(const char *text);

/*
 * escape_width() returns how many terminal columns UTF-8 text takes;
 * escape_step() the bytes of its first character, with its columns in *width.
 */
int escape_width(const char *text);
size_t escape_step(const char *text, int *width);

/*
 * Prints len bytes of src as a JSON string with its quotes, or null if src is
 * NULL.  Invalid UTF-8 becomes U+FFFD: JSON has no way to write it.
 */
void escape_json(FILE *out, const char *src, size_t len);

#endif
