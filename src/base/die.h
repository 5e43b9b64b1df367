/* Ends of this process, before COMMAND exists or after everything is done. */
#ifndef DIE_H
#define DIE_H

#include "base/log.h"

/*
 * Writes a message and exits with status.  EXIT_USAGE is written to stderr as
 * well if syslog is set.  Must not be called once COMMAND exists.
 */
_Noreturn void die(int status, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Reports a mistake on the command line or in a setting, and exits. */
_Noreturn void die_usage(const char *, ...) PRINTF_LIKE(1, 2);

/*
 * Flushes standard output.  If its reader is gone, this process dies of
 * SIGPIPE, even while SIGPIPE is blocked.  Any other error ends it with a
 * message.
 */
void die_unless_flushed(void);

/*
 * Ends this process with signal signo, without a core dump.  PID 1 of a
 * namespace, which cannot kill itself, exits with 128 + signo.
 */
_Noreturn void die_of_signal(int signo);

#endif
