/* Exits that exit(3) cannot do. */
#ifndef DIE_H
#define DIE_H

/*
 * Flushes standard output.  If its reader is gone, this process dies of
 * SIGPIPE, even while SIGPIPE is blocked.  Any other error ends it with a
 * message.
 */
void flush_output(void);

/*
 * Ends this process with signal signo, without a core dump.  PID 1 of a
 * namespace, which cannot kill itself, exits with 128 + signo.
 */
_Noreturn void die_of_signal(int signo);

#endif
