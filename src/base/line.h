/* The lines of a text in memory. */
#ifndef LINE_H
#define LINE_H

#include <stddef.h>

/*
 * Cuts the next line off *text, which ends at end, where a NUL follows.
 * Replaces the line's end, "\n" or "\r\n", by NULs.  Returns the line and its
 * length in bytes, or NULL if there is none left.
 */
char *line_next(char **text, char *end, size_t *len);

/* Removes trailing blanks. */
void line_trim(char *line);

#endif
