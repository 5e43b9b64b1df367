/*
 * Messages: one line each, starting with "redlock-run: " on stderr and with
 * "redlock-run[PID]: " in syslog.  Every line is escaped as a whole, so
 * arguments may contain any bytes. errno is preserved, and nothing allocates.
 */
#ifndef LOG_H
#define LOG_H

#include <stdarg.h>
#include <stdbool.h>

enum log_level {
	LOG_QUIET = -1, /* -q: only warn() */
	LOG_NORMAL,
	LOG_VERBOSE /* -v: info() too */
};

enum log_place { LOG_TO_STDERR, LOG_TO_SYSLOG };

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* Sets the level: how many of the messages are written. */
void log_set(enum log_level);

/*
 * Sets where messages go.  A line that syslog does not take at once, because it
 * is absent or its queue is full, goes to stderr.
 */
void log_to(enum log_place);

/* Whether notice() writes to standard error: not with -q or --log syslog. */
bool log_notices_on_stderr(void);

/* Writes a warning or an error; -q does not silence it. */
void warn(const char *fmt, ...) PRINTF_LIKE(1, 2);

/*
 * Writes a message about an expected event, such as a busy lock; -q silences
 * it.
 */
void notice(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Writes a step of the run and how long it took; only with -v. */
void info(const char *fmt, ...) PRINTF_LIKE(1, 2);

/*
 * Writes the last message of this process, for die().  Unlike warn(), writes it
 * to stderr as well as to syslog if also_stderr is set.
 */
void log_last(bool also_stderr, const char *fmt, va_list) PRINTF_LIKE(2, 0);

#endif
