/*
 * One status line on a terminal at standard error, redrawn in place below
 * earlier output.  Only the foreground process group draws.  No call blocks:
 * while the terminal takes nothing (^S), nothing is drawn.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>

/*
 * Whether standard error is a terminal that can show the line; TERM=dumb is
 * not.
 */
bool progress_possible(void);

/* Whether our process group is in the terminal's foreground. */
bool progress_foreground(void);

/*
 * Replaces the line by text, which is escaped first, so it may contain any
 * bytes.  Text wider than the terminal is cut and ends in ">".
 */
void progress_draw(const char *text);

/* Whether the terminal's width has changed since the line was drawn. */
bool progress_resized(void);

/*
 * Erases the line, if one is drawn.  Code that writes to the terminal must call
 * it first; log.c does.
 */
void progress_erase(void);

#endif
