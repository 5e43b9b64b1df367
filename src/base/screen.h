/*
 * The terminal on standard input and output, drawn in place.  It is taken while
 * we are in its foreground, and given back exactly as it was.
 */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "base/loop.h"

struct screen {
	struct loop *loop;
	struct loop_watch out; /* watched while a frame waits for room */
	int fd;                /* non-blocking, if possible */
	struct termios before;
	bool taken;   /* until it is given back */
	bool shown;   /* taken, and in the foreground */
	bool colours; /* wanted, see NO_COLOR */
	char *frame;  /* the last frame */
	size_t len;
	size_t sent; /* how much of the frame is written */
};

/*
 * Prepares *s, which stays in place until screen_release(). SIGTTOU must be
 * blocked.  Exits if the operating system refuses. exit(3) restores the
 * terminal as well.
 */
void screen_init(struct screen *s, struct loop *);
void screen_release(struct screen *);

/*
 * Takes the terminal, also after another process has changed it: shows the
 * alternate screen, turns echo off and delivers each key at once, ^S included.
 * In the background it does nothing and s->shown is false.  Returns 0, or -1 if
 * the terminal is gone.
 */
int screen_take(struct screen *s);

/* Whether key is the terminal's end-of-file character. */
bool screen_ends(const struct screen *, char key);

/* Restores the terminal, for the time being or for good. */
void screen_give_back(struct screen *);

/*
 * Replaces the last frame by head and body; with dim, body is drawn dim.  Both
 * are already escaped but may contain colours.  Long lines end in ">"; the last
 * line gives the number of lines left out.  Never blocks: while the terminal
 * takes nothing, nothing is drawn.  Callbacks may call it.
 */
void screen_draw(struct screen *, const char *head, const char *body, bool dim);

#endif
