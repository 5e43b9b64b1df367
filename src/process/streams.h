/* Our own standard streams, which COMMAND inherits. */
#ifndef STREAMS_H
#define STREAMS_H

/*
 * Opens /dev/null in place of each standard stream that is closed, so that no
 * descriptor of ours gets its number.  In COMMAND the stream is closed again.
 * Exits if the operating system refuses.
 */
void streams_fill(void);

/*
 * Replaces our standard input and output by /dev/null.  COMMAND then holds the
 * only copy of its end of a pipe, so that end-of-file and SIGPIPE work.
 */
void streams_drop(void);

/*
 * Closes both, once no process is started any more that could inherit others.
 */
void streams_close(void);

#endif
