/* Ends that take more than exit(). */
#ifndef DIE_H
#define DIE_H

/*
 * Flushes standard output.  If its reader is gone SIGPIPE ends this process,
 * as if it were not blocked; other errors end it with a message.
 */
void flush_output(void);

/*
 * Ends this process by signo, without a core dump; where that cannot be (as
 * PID 1 of a namespace) with status 128 + signo.
 */
_Noreturn void die_of_signal(int signo);

#endif
