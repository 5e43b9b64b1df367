/* Begins connections to servers. */
#ifndef DIAL_H
#define DIAL_H

#include <stdbool.h>

#define DIAL_WHY 128

struct target;

/*
 * Begins a connection to a unix socket, or to the target if path is empty.
 * Returns a non-blocking descriptor, and whether it is connected already; or -1
 * with errno and why.
 */
int dial(const char *path, const struct target *, bool *connected,
    char why[DIAL_WHY]);

/* Returns the errno of the connection that was begun, or 0 if it is there. */
int dial_result(int fd);

#endif
