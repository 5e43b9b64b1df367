/*
 * One write(2) a line, so that the lines of several processes do not mix; and
 * none where it would block (a full pipe that nobody reads, a terminal after
 * ^S): a lease cannot wait for a reader.
 * The level is the only state of this program that is not in struct run.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "escape.h"
#include "log.h"

#define STALL_MS 10 /* how long a line waits for room */

static enum log_level level = LOG_NORMAL;

void
log_set(enum log_level new_level)
{
	level = new_level;
}

static void say(const char *, va_list) PRINTF_LIKE(1, 0);

static void
say(const char *fmt, va_list ap)
{
	static const char prefix[] = "redlock-run: ";
	char text[PIPE_BUF];
	char line[PIPE_BUF];
	struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
	size_t len = sizeof(prefix) - 1;
	int saved = errno;

	vsnprintf(text, sizeof(text), fmt, ap);
	memcpy(line, prefix, len);
	escape_text(line + len, sizeof(line) - len, text, strlen(text));
	len = strlen(line);
	line[len++] = '\n';
	if (poll(&out, 1, STALL_MS) == 1)
		(void)!write(STDERR_FILENO, line, len);
	errno = saved;
}

void
die(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	exit(status);
}

void
warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void
note(const char *fmt, ...)
{
	va_list ap;

	if (level < LOG_NORMAL)
		return;
	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void
info(const char *fmt, ...)
{
	va_list ap;

	if (level < LOG_VERBOSE)
		return;
	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}
