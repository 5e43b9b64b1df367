/*
 * The cursor stays at the start of the line.  A terminal that becomes narrower
 * wraps the line anew and leaves the cursor there, so erasing from the cursor
 * on removes all of it.
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
#define COLUMNS 80 /* if the terminal reports no size */

/* Wrapping is off while the line is drawn. */
#define DRAW  "\r\033[?7l%s\033[?7h\033[J\r"
#define ERASE "\r\033[J"

static int drawn_columns; /* terminal width of the drawn line; 0: no line */

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

/* Writes what the terminal takes at once.  Returns whether it took anything. */
static bool
write_now(const char *text)
{
	struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
	size_t len = strlen(text);
	ssize_t n = -1;
	int fd;

	/*
	 * Opens the terminal once more, because O_NONBLOCK on standard error
	 * would surprise the processes that share it.  If that fails, as after
	 * su(1), poll(2) has to do.
	 */
	fd = open("/proc/self/fd/2",
	    O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd != -1) {
		n = write(fd, text, len);
		close(fd);
	} else if (poll(&out, 1, 0) == 1) {
		n = write(STDERR_FILENO, text, len);
	}
	return n > 0;
}

/* Cuts text to at most width columns. */
static void
cut(char *text, int width)
{
	char *end = text;
	int used = 0, columns;
	size_t n;

	if (escape_width(text) <= width)
		return;
	while (n = escape_step(end, &columns), used + columns < width) {
		end += n;
		used += columns;
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
