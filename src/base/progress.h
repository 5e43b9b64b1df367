/*
 * One line on the terminal that standard error is, drawn in place below what
 * was written before.  Only the foreground process group draws.  No call
 * blocks: while the terminal takes nothing (^S), nothing is drawn.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>

/* Whether there is such a terminal; not with TERM=dumb. */
bool progress_possible(void);

/* Whether our process group is in its foreground. */
bool progress_foreground(void);

/*
 * Draws text, which may come from outside, over the last one, cut to the width
 * of the terminal; a line that was cut ends in ">".
 */
void progress_draw(const char *text);

/* Whether the terminal's width has changed since the line was drawn. */
bool progress_resized(void);

/*
 * Erases the line, if there is one.  Everybody who writes to the terminal calls
 * it before; log.c does.
 */
void progress_erase(void);

#endif
