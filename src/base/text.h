/*
 * A text that grows in memory, written through a stream.  Unlike
 * open_memstream(3), it never loses a part unnoticed when memory is short.
 */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct text {
	FILE *out;
	char *bytes; /* with a NUL behind them, after text_end() */
	size_t len;
	size_t room;
	bool lost; /* memory was too short for a part of it */
};

/*
 * Begins an empty text in *t, which stays in place until text_end().  Exits
 * with EXIT_OS if memory is short.
 */
void text_begin(struct text *t);

/*
 * Closes the stream.  Returns t->bytes, which the caller frees.  Exits with
 * EXIT_OS if memory was too short.
 */
char *text_end(struct text *t);

#endif
