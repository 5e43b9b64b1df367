/*
 * The cursor stays in front of the line: a terminal that wraps a line anew when
 * it gets narrower leaves the cursor there, and everything from there on is
 * ours to erase.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/progress.h"

#define LINE    1024
#define COLUMNS 80 /* of a terminal that does not tell */

/* No wrapping; it is on again at the end. */
#define DRAW  "\r\033[?7l%s\033[?7h\033[J\r"
#define ERASE "\r\033[J"

static int drawn_columns; /* the terminal's when the line was drawn; 0: none */

static int
columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == -1 || size.ws_col == 0)
		return COLUMNS;
	return size.ws_col;
}

bool
progress_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term != NULL && term[0] != '\0' &&
	    strcmp(term, "dumb") != 0;
}

bool
progress_foreground(void)
{
	return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

/* Returns whether any of text was written. */
static bool
write_now(const char *text)
{
	struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
	size_t len = strlen(text);
	ssize_t n = -1;
	int fd;

	/*
	 * A description of our own: those who share standard error do not
	 * expect O_NONBLOCK.  Where the terminal cannot be opened (su), poll(2)
	 * has to do.
	 */
	fd = open(
	    "/proc/self/fd/2", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd != -1) {
		n = write(fd, text, len);
		close(fd);
	} else if (poll(&out, 1, 0) == 1) {
		n = write(STDERR_FILENO, text, len);
	}
	return n > 0;
}

/* Cuts text to so many columns. */
static void
cut(char *text, int width)
{
	char *end = text;
	int used = 0;

	if (escape_width(text) <= width)
		return;
	while (*end != '\0' && used < width - 1) {
		do
			end++;
		while (((unsigned char)*end & 0xc0) == 0x80);
		used++;
	}
	end[0] = '>';
	end[1] = '\0';
}

void
progress_draw(const char *text)
{
	char line[LINE], frame[LINE + sizeof(DRAW)];
	int width = columns();

	escape_text(line, sizeof(line), text, strlen(text));
	cut(line, width - 1);
	snprintf(frame, sizeof(frame), DRAW, line);
	if (write_now(frame))
		drawn_columns = width;
}

bool
progress_resized(void)
{
	return drawn_columns != 0 && drawn_columns != columns();
}

void
progress_erase(void)
{
	if (drawn_columns == 0)
		return;
	drawn_columns = 0;
	if (progress_foreground())
		write_now(ERASE);
}
