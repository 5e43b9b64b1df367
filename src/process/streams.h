/* Our own standard streams, which COMMAND inherits. */
#ifndef STREAMS_H
#define STREAMS_H

/*
 * Opens /dev/null in place of each standard stream that is closed, so that no
 * descriptor of ours takes its number.  COMMAND finds it closed again.  Exits
 * if the operating system refuses.
 */
void streams_fill(void);

/*
 * Replaces our standard input and output by /dev/null.  COMMAND's end of a
 * pipe is then its only one, so that end-of-file and SIGPIPE work.
 */
void streams_drop(void);

/* Closes both, once no process follows that could inherit others. */
void streams_close(void);

#endif
