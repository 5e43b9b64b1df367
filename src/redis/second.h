/*
 * A second socket that connects to an address beside a first one without an
 * answer, as browsers do: where a listen queue is full, the kernel repeats its
 * request only after 1 and 3 seconds.
 */
#ifndef SECOND_H
#define SECOND_H

#include "base/loop.h"

struct target;

struct second {
	struct loop *loop;
	struct loop_watch watch; /* its fd is -1: there is none */
	void (*connected_cb)(void *arg, int fd);
	void *arg;
};

/*
 * Fills memory that the caller owns.  When the socket has connected,
 * connected_cb(arg, fd) takes the descriptor over; after a failure nothing is
 * called.
 */
void second_init(struct second *, struct loop *,
    void (*connected_cb)(void *arg, int fd), void *arg);

/* Begins to connect as dial() does; loop_turn() calls connected_cb. */
void second_begin(struct second *, const char *path, const struct target *);

/* Closes the socket, if there is one.  Callbacks may call it. */
void second_end(struct second *);

#endif
