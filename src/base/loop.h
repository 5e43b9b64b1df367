/*
 * The one event loop: poll(2) over a few descriptors and one timer on
 * CLOCK_BOOTTIME.  It knows nothing of what it serves; whoever turns it
 * decides what follows.
 */
#ifndef LOOP_H
#define LOOP_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#define LOOP_WATCHES 1024

struct loop_watch {
	int fd;       /* -1: not watched */
	short events; /* what poll() is asked for */
	void (*ready_cb)(void *arg, short revents);
	void *arg;
};

struct loop {
	struct loop_watch *watches[LOOP_WATCHES];
	int nwatches;
	/* What loop_turn() works with; the stack may be small. */
	struct loop_watch *turn[LOOP_WATCHES];
	struct pollfd fds[LOOP_WATCHES + 2];
	int timer_fd;
	int clock_fd;     /* tells when the wall clock is set; -1: nothing */
	int64_t armed_ms; /* what the timer is set to */
	int64_t seen_ms;
	bool stepped;
};

/* Returns 0, or -1 with errno.  loop_release() closes the timer. */
int loop_init(struct loop *);
void loop_release(struct loop *);

/*
 * From now on ready_cb is called when w->fd is ready for w->events (which may
 * be changed at any time) or has failed.  w is the caller's and stays in
 * place.  Both may be called from callbacks; removing twice does nothing.
 * loop_add() returns -1 with ENFILE when all places are taken.
 */
int loop_add(struct loop *, struct loop_watch *w);
void loop_remove(struct loop *, struct loop_watch *w);

/*
 * Waits until a descriptor is ready or the moment wake_ms (or CLOCK_NEVER)
 * has come, calls what is ready once each, and returns.  Where poll(2) or the
 * timer fails (no memory) it returns after a short pause: the caller's
 * deadlines must be judged all the same.
 */
void loop_turn(struct loop *, int64_t wake_ms);

/*
 * When the last turn began to look at the descriptors.  What had come until
 * then has been read.  A silence is measured up to here, not up to now: after a
 * time in which this process did not run, there may be much to read yet.
 */
int64_t loop_seen_ms(const struct loop *);

/* Whether somebody has set the wall clock since the last call. */
bool loop_stepped(struct loop *);

#endif
