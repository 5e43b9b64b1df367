/*
 * The terminal on standard input and output, drawn on in place.  It is taken
 * while we are in its foreground, and given back exactly as it was.
 */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "base/loop.h"

struct screen {
	struct loop *loop;
	struct loop_watch out; /* while a frame waits for room */
	int fd;                /* non-blocking, if it could be had */
	struct termios before;
	bool taken;   /* to be given back */
	bool shown;   /* taken, and we are in the foreground */
	bool colours; /* NO_COLOR */
	char *frame;  /* the last one drawn */
	size_t len;
	size_t sent; /* bytes of it */
};

/*
 * Prepares *s, which stays in place until screen_release().  SIGTTOU must be
 * blocked.  Exits if the operating system refuses.  exit(3), too, gives the
 * terminal back.
 */
void screen_init(struct screen *s, struct loop *);
void screen_release(struct screen *);

/*
 * Takes the terminal, also when another has changed it meanwhile: keys, ^S
 * among them, come one by one and unseen, the alternate screen is shown.  In
 * the background it does nothing; s->shown says what is so.  Returns 0, or -1
 * if there is no terminal any more.
 */
int screen_take(struct screen *s);

/* Whether key, a byte that was read, is the terminal's end-of-file. */
bool screen_ends(const struct screen *, char key);

/* Gives it back, for the time being or for good. */
void screen_give_back(struct screen *);

/*
 * Draws lines of text in place of what is there: head, then body, which is dim
 * if that is said.  Both are fit for a terminal but may have colours.  Lines
 * that are too long end in ">", and how many do not fit is said below.  Never
 * blocks: while the terminal takes nothing, nothing new is drawn.  May be
 * called from callbacks.
 */
void screen_draw(struct screen *, const char *head, const char *body, bool dim);

#endif
