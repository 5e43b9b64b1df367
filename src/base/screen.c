/*
 * Plain ECMA-48 and three common extensions: the alternate screen, and switches
 * for the cursor and for line wrapping.  A frame is one write that overwrites
 * the last frame line by line and clears only the end of each line, so nothing
 * flickers.  It never waits for a terminal that does not read, because q and
 * signals must work; hence there is no ^S.
 *
 * The terminal's modes are read each time that it is taken, and nothing changes
 * while another process group owns it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/die.h"
#include "base/escape.h"
#include "base/exit.h"
#include "base/screen.h"
#include "base/table.h"
#include "base/text.h"

#define PATIENCE_MS 200 /* for output while the terminal is given back */

/* Shows the alternate screen without a cursor; and back. */
static const char enter[] = "\033[?1049h\033[?25l\033[2J";
static const char leave[] = "\033[0m\033[?7h\r\n\033[?25h\033[?1049l";
static const char cancel[] = "\030"; /* ends a sequence that was cut off */

static struct screen *taken; /* for exit(3) to give back */

static void
exit_cb(void)
{
	if (taken != NULL)
		screen_give_back(taken);
}

/* Writes the rest of the frame, as far as there is room. */
static void
send_frame(struct screen *s)
{
	ssize_t n;

	while (s->sent < s->len) {
		n = write(s->fd, s->frame + s->sent, s->len - s->sent);
		if (n == -1 && errno == EAGAIN)
			return;
		s->sent = n == -1 ? s->len : s->sent + (size_t)n;
	}
}

static void
room_cb(void *arg, short revents)
{
	struct screen *s = arg;

	(void)revents;
	send_frame(s);
	if (s->sent == s->len)
		loop_remove(s->loop, &s->out);
}

/* Like write(2), but waits up to PATIENCE_MS for room. */
static void
send_all(const struct screen *s, const char *text)
{
	struct pollfd out = { .fd = s->fd, .events = POLLOUT };
	size_t len = strlen(text);
	ssize_t n;

	while (len > 0 && poll(&out, 1, PATIENCE_MS) == 1) {
		if ((n = write(s->fd, text, len)) == -1)
			return;
		text += n;
		len -= (size_t)n;
	}
}

void
screen_init(struct screen *s, struct loop *loop)
{
	memset(s, 0, sizeof(*s));
	s->loop = loop;
	s->out = (struct loop_watch){
		.fd = -1, .events = POLLOUT, .ready_cb = room_cb, .arg = s
	};
	s->colours = table_wants_colours();
	/*
	 * Opens standard output once more, because O_NONBLOCK on it would
	 * surprise the processes that share it.
	 */
	s->fd = open("/proc/self/fd/1",
	    O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (s->fd == -1)
		s->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (s->fd == -1 || atexit(exit_cb) != 0)
		die(EXIT_OS, "standard output: %s", strerror(errno));
}

void
screen_release(struct screen *s)
{
	screen_give_back(s);
	close(s->fd);
	free(s->frame);
}

/*
 * Returns 1 if we own the terminal or nobody does, 0 if another group does, -1
 * if it is gone.
 */
static int
in_foreground(void)
{
	pid_t group = tcgetpgrp(STDIN_FILENO);

	if (group == -1)
		return errno == ENOTTY ? 1 : -1;
	return group == getpgrp();
}

int
screen_take(struct screen *s)
{
	int foreground = in_foreground();
	struct termios keys;

	s->shown = false;
	if (foreground != 1)
		return foreground;
	if (!s->taken && tcgetattr(STDIN_FILENO, &s->before) == -1)
		return -1;
	taken = s;
	s->taken = s->shown = true;
	keys = s->before;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_iflag &= ~(tcflag_t)IXON;
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &keys) == -1)
		return -1;
	send_all(s, enter);
	return 0;
}

bool
screen_ends(const struct screen *s, char key)
{
	return (cc_t)key == s->before.c_cc[VEOF];
}

void
screen_give_back(struct screen *s)
{
	bool ours = s->taken && in_foreground() == 1;
	bool cut_off = s->sent < s->len;

	loop_remove(s->loop, &s->out);
	s->sent = s->len;
	s->taken = s->shown = false;
	taken = NULL;
	if (!ours)
		return;
	if (cut_off)
		send_all(s, cancel);
	send_all(s, leave);
	tcsetattr(STDIN_FILENO, TCSANOW, &s->before);
}

/*
 * Returns the bytes of the character or colour sequence at text, and its columns
 * in *width.
 */
static size_t
step(const char *text, size_t len, int *width)
{
	size_t n = 1;

	if (*text != '\033')
		return escape_step(text, width);
	while (n < len && text[n - 1] != 'm')
		n++;
	*width = 0;
	return n;
}

static int
width_of(const char *line, size_t len)
{
	int width = 0, columns;

	for (size_t i = 0; i < len; width += columns)
		i += step(line + i, len - i, &columns);
	return width;
}

/* The frame that is being drawn. */
struct canvas {
	FILE *out;
	int rows;
	int columns;
	int row; /* lines drawn so far */
};

/*
 * Draws a line, cut to the terminal's width, and clears what follows it, but
 * not behind a full line: that would clear its last column.
 */
static void
draw_line(struct canvas *c, const char *line, size_t len, bool dim)
{
	int full = width_of(line, len), width = 0, columns;
	int room = full > c->columns ? c->columns - 1 : c->columns;
	size_t n;

	fputs(c->row++ > 0 ? "\r\n" : "", c->out);
	fputs(dim ? "\033[2m" : "", c->out);
	for (size_t i = 0; i < len; i += n) {
		n = step(line + i, len - i, &columns);
		width += columns;
		if (line[i] == '\033' ? !dim : width <= room)
			fwrite(line + i, 1, n, c->out);
	}
	fputs(full > c->columns ? ">" : "", c->out);
	fputs(dim ? "\033[0m" : "", c->out);
	fputs(full < c->columns ? "\033[K" : "", c->out);
}

/*
 * Draws text; if it does not fit, the last line gives the number of lines left
 * out.
 */
static void
draw_text(struct canvas *c, const char *text, bool dim)
{
	int lines = 0, room = c->rows - c->row;
	char more[48];
	size_t len;

	for (const char *p = text; *p != '\0'; p++)
		lines += *p == '\n';
	for (int i = 0; i < lines && i < room; i++) {
		if (i == room - 1 && lines > room) {
			len = (size_t)snprintf(more, sizeof(more),
			    "... and %d more lines", lines - i);
			draw_line(c, more, len, dim);
			return;
		}
		len = strcspn(text, "\n");
		draw_line(c, text, len, dim);
		text += len + 1;
	}
}

void
screen_draw(struct screen *s, const char *head, const char *body, bool dim)
{
	struct winsize size = { 0 };
	struct canvas c = { .row = 0 };
	struct text frame;

	if (!s->shown || s->sent < s->len)
		return;
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	c.rows = size.ws_row > 0 ? size.ws_row : 24;
	c.columns = size.ws_col > 0 ? size.ws_col : 80;
	text_begin(&frame);
	c.out = frame.out;
	fputs("\033[?7l\033[H", c.out);
	draw_text(&c, head, false);
	draw_text(&c, body, dim && s->colours);
	fputs(c.row < c.rows ? "\r\n\033[J" : "", c.out);
	fputs("\033[?7h", c.out);
	free(s->frame);
	s->frame = text_end(&frame);
	s->len = frame.len;
	s->sent = 0;
	send_frame(s);
	if (s->sent < s->len) {
		s->out.fd = s->fd;
		if (loop_add(s->loop, &s->out) == -1)
			die(EXIT_OS, "poll: %s", strerror(errno));
	}
}
