/*
 * Messages: one line each, starting "redlock-run: " on stderr and
 * "redlock-run[PID]: " in syslog.  Every line is escaped as a whole, so
 * arguments may come from anywhere. errno is kept, and nothing allocates.
 */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>

enum log_level {
	LOG_QUIET = -1, /* -q: only warn() */
	LOG_NORMAL,
	LOG_VERBOSE /* -v: info() too */
};

enum log_place { LOG_TO_STDERR, LOG_TO_SYSLOG };

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* Sets which messages are written. */
void log_set(enum log_level);

/*
 * Sets where messages go.  A line that syslog does not take at once, because it
 * is absent or its queue is full, goes to stderr.
 */
void log_to(enum log_place);

/* Whether notice() writes, and to standard error. */
bool log_notices_on_stderr(void);

/*
 * Writes the reason and exits; EXIT_USAGE also writes to stderr if syslog is
 * set.  Not for use once COMMAND exists.
 */
_Noreturn void die(int status, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Reports a mistake on the command line or in a setting, and exits. */
_Noreturn void usage_error(const char *, ...) PRINTF_LIKE(1, 2);

/* Writes what the user must see, even with -q. */
void warn(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Writes what is part of normal life, such as "busy"; not with -q. */
void notice(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Writes what happens and how long it took; only with -v. */
void info(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
