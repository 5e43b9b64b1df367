/*
 * Our words: one line each, on stderr, starting "redlock-run: ".  Every line
 * is escaped as a whole, so that arguments may come from anywhere; errno is
 * kept.  Nothing here allocates.
 */
#ifndef LOG_H
#define LOG_H

enum log_level {
	LOG_QUIET = -1, /* -q: warn() alone */
	LOG_NORMAL,
	LOG_VERBOSE /* -v: info() too */
};

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* Sets what is said from now on. */
void log_set(enum log_level);

/* Says why and exits.  Not for use once COMMAND exists. */
_Noreturn void die(int status, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* What somebody must know, even with -q. */
void warn(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* What is part of normal life, such as "busy"; not with -q. */
void note(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* What happens and how long it took; with -v. */
void info(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
