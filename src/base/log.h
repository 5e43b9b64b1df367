/*
 * Our words: one line each, starting "redlock-run: " on stderr and
 * "redlock-run[PID]: " in syslog.  Every line is escaped as a whole, so that
 * arguments may come from anywhere; errno is kept.  Nothing here allocates.
 */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>

enum log_level {
	LOG_QUIET = -1, /* -q: warn() alone */
	LOG_NORMAL,
	LOG_VERBOSE /* -v: info() too */
};

enum log_place { LOG_TO_STDERR, LOG_TO_SYSLOG };

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* Sets what is said from now on. */
void log_set(enum log_level);

/*
 * Sets where.  What syslog does not take at once, since nobody is there or its
 * queue is full, goes to stderr.
 */
void log_to(enum log_place);

/* Whether notice() writes, and to standard error. */
bool log_notices_on_stderr(void);

/* Says why and exits; a usage error is said on stderr in any case.  Not for use once COMMAND exists. */
_Noreturn void die(int status, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Says what is wrong on the command line or in a setting, where to read on, and exits. */
_Noreturn void usage_error(const char *, ...) PRINTF_LIKE(1, 2);

/* What somebody must know, even with -q. */
void warn(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* What is part of normal life, such as "busy"; not with -q. */
void notice(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* What happens and how long it took; with -v. */
void info(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
