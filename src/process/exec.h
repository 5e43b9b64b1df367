/* Executes COMMAND. */
#ifndef EXEC_H
#define EXEC_H

/* Returns the directories in which a command without a slash is looked for. */
const char *exec_path(void);

/*
 * Executes argv like execvp(3) of glibc, with every libc: /bin/sh runs a file
 * that has no "#!" and is no program, and ENOEXEC is the error if there is no
 * shell.  Returns only on failure, with errno.
 * Async-signal-safe.
 */
void exec_command(char *const argv[]);

#endif
