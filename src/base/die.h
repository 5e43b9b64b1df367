/* Exits that exit(3) cannot do. */
#ifndef DIE_H
#define DIE_H

/*
 * Flushes standard output.  If its reader is gone, SIGPIPE ends this process,
 * even while that is blocked; other errors end it with a message.
 */
void flush_output(void);

/*
 * Ends this process by signo, without a core dump.  PID 1 of a namespace, which
 * its own signals cannot end, exits with 128 + signo.
 */
_Noreturn void die_of_signal(int signo);

#endif
