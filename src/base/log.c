/*
 * Each line is one write(2), so that lines of several processes do not mix.  A
 * write that would block (a full pipe, a terminal after ^S, a stalled syslog)
 * is left out, because a lease cannot wait for a reader; syslog(3) would wait.
 * Each line to syslog has a socket of its own: COMMAND inherits none, and a
 * restart of syslogd needs no reopening.  Level and place are the only state
 * outside of struct run.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/progress.h"

#define STALL_MS 10              /* how long a line waits for room */
#define LOG_TEXT (PIPE_BUF - 16) /* without prefix and time */

static enum log_level level = LOG_NORMAL;
static enum log_place place = LOG_TO_STDERR;

void
log_set(enum log_level new_level)
{
	level = new_level;
}

void
log_to(enum log_place new_place)
{
	place = new_place;
	if (place == LOG_TO_SYSLOG)
		tzset(); /* allocates, and reads a file */
}

bool
log_notices_on_stderr(void)
{
	return level >= LOG_NORMAL && place == LOG_TO_STDERR;
}

static void
to_stderr(const char *text)
{
	struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
	char line[PIPE_BUF];
	int len = snprintf(line, sizeof(line), "redlock-run: %s\n", text), n;

	progress_erase();
	n = poll(&out, 1, STALL_MS);
	/* Without poll(2), as under a seccomp filter, the line may block. */
	if (n == 1 || (n == -1 && errno != EINTR))
		(void)!write(STDERR_FILENO, line, (size_t)len);
}

/*
 * Sends a line in the form of RFC 3164.  Returns 0, or -1 if syslog did not
 * take it.
 */
static int
to_syslog(int priority, const char *text)
{
	static const struct sockaddr_un dev_log = { .sun_family = AF_UNIX,
		.sun_path = _PATH_LOG };
	const struct timeval stall = { .tv_usec = STALL_MS * 1000 };
	char line[PIPE_BUF + 80], when[32];
	time_t now = time(NULL);
	struct tm tm;
	ssize_t sent = -1;
	int len, fd;

	if (localtime_r(&now, &tm) == NULL ||
	    strftime(when, sizeof(when), "%b %e %H:%M:%S", &tm) == 0)
		return -1;
	len = snprintf(line, sizeof(line), "<%d>%s redlock-run[%d]: %s",
	    LOG_USER | priority, when, (int)getpid(), text);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &stall, sizeof(stall)) == 0)
		sent = sendto(fd, line, (size_t)len, MSG_NOSIGNAL,
		    (const struct sockaddr *)&dev_log, sizeof(dev_log));
	close(fd);
	return sent == -1 ? -1 : 0;
}

static void
compose(char text[LOG_TEXT], const char *, va_list) PRINTF_LIKE(2, 0);

static void
compose(char text[LOG_TEXT], const char *fmt, va_list ap)
{
	char raw[PIPE_BUF];

	vsnprintf(raw, sizeof(raw), fmt, ap);
	escape_text(text, LOG_TEXT, raw, strlen(raw));
}

static void say(int priority, const char *, va_list) PRINTF_LIKE(2, 0);

static void
say(int priority, const char *fmt, va_list ap)
{
	char text[LOG_TEXT];
	int saved = errno;

	compose(text, fmt, ap);
	if (place == LOG_TO_STDERR || to_syslog(priority, text) == -1)
		to_stderr(text);
	errno = saved;
}

void
log_last(bool also_stderr, const char *fmt, va_list ap)
{
	char text[LOG_TEXT];

	compose(text, fmt, ap);
	if (place == LOG_TO_STDERR || to_syslog(LOG_ERR, text) == -1 ||
	    also_stderr)
		to_stderr(text);
}

void
warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(LOG_WARNING, fmt, ap);
	va_end(ap);
}

void
notice(const char *fmt, ...)
{
	va_list ap;

	if (level < LOG_NORMAL)
		return;
	va_start(ap, fmt);
	say(LOG_NOTICE, fmt, ap);
	va_end(ap);
}

void
info(const char *fmt, ...)
{
	va_list ap;

	if (level < LOG_VERBOSE)
		return;
	va_start(ap, fmt);
	say(LOG_INFO, fmt, ap);
	va_end(ap);
}
