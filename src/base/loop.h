/*
 * The only event loop: poll(2) over a few descriptors and one timer on
 * CLOCK_BOOTTIME.  Callbacks record; the caller of loop_turn() decides.
 */
#ifndef LOOP_H
#define LOOP_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct loop_watch {
	int fd;       /* -1: not watched */
	short events; /* for poll(2) */
	void (*ready_cb)(void *arg, short revents);
	/*
	 * NULL, or called before each poll(2) while events has POLLOUT.  It
	 * may change events.  It must not add or remove a watch.
	 */
	void (*flush_cb)(void *arg);
	void *arg;
};

struct loop_place {
	struct loop_watch *watch;
	struct loop_watch *turn; /* the same when the turn began */
};

struct loop {
	struct loop_place *places;
	int nwatches;
	int room;           /* for so many watches */
	struct pollfd *fds; /* for loop_turn() */
	int timer_fd;
	int clock_fd;     /* readable when the wall clock is set; -1: none */
	int64_t armed_ms; /* when the timer fires */
	int64_t seen_ms;
	bool failed; /* poll(2) has failed, which was reported */
	bool stepped;
};

/*
 * Both manage *l. loop_init() returns 0, or -1 with errno; loop_release()
 * closes its descriptors and frees its memory.
 */
int loop_init(struct loop *);
void loop_release(struct loop *);

/*
 * loop_add() calls ready_cb from now on whenever w->fd has failed or is ready
 * for w->events, which may change at any time.  It returns 0, or -1 with ENOMEM.
 * loop_remove() ends that; removing twice does nothing.  The caller owns w and
 * keeps it in place.  Callbacks may call both.
 */
int loop_add(struct loop *, struct loop_watch *w);
void loop_remove(struct loop *, struct loop_watch *w);

/*
 * Waits until a descriptor is ready or wake_ms (or CLOCK_NEVER) has come, calls
 * each ready callback once, and returns.  If poll(2) or the timer fails (no
 * memory), it returns after a short pause, because the caller still has
 * deadlines to judge.
 */
void loop_turn(struct loop *, int64_t wake_ms);

/*
 * Returns when the last turn began to poll.  All data from before then has been
 * read.  Measure a silence up to this time, not up to now: after a pause of
 * this process much data may be unread.
 */
int64_t loop_seen_ms(const struct loop *);

/* Whether the wall clock has been set since the last call. */
bool loop_stepped(struct loop *);

#endif
