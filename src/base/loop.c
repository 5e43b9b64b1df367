/*
 * A timerfd on CLOCK_BOOTTIME is the only timeout, because that of poll(2)
 * counts on CLOCK_MONOTONIC, which stops in a suspended machine.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/loop.h"

#define UNKNOWN  ((int64_t)-1) /* armed_ms after an error */
#define PAUSE_MS 10            /* after an error of poll or the timer */
#define ROOM     8             /* enough for a run with three servers */
#define OWN      2             /* descriptors of the loop itself */

/*
 * Watches for changes of the wall clock, by NTP or by a hypervisor after a
 * pause that CLOCK_BOOTTIME does not count.  If the watch fails, only such a
 * pause goes unnoticed.
 */
static void
watch_clock(struct loop *l)
{
	const struct itimerspec never = { .it_value.tv_sec = INT64_MAX };

	kernel_timerfd_settime(l->clock_fd,
	    TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never);
}

/*
 * Makes room for so many watches.  Returns 0, or -1 with errno; a failure keeps the
 * old room.
 */
static int
grow(struct loop *l, int room)
{
	size_t n = (size_t)room;
	struct loop_place *places;
	struct pollfd *fds;

	places = reallocarray(l->places, n, sizeof(*places));
	if (places == NULL)
		return -1;
	l->places = places;
	fds = reallocarray(l->fds, n + OWN, sizeof(*fds));
	if (fds == NULL)
		return -1;
	l->fds = fds;
	l->room = room;
	return 0;
}

int
loop_init(struct loop *l)
{
	*l = (struct loop){ .armed_ms = CLOCK_NEVER };
	if (grow(l, ROOM) == -1)
		return -1;
	l->timer_fd =
	    timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->timer_fd == -1)
		return -1;
	l->clock_fd =
	    timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	watch_clock(l);
	return 0;
}

void
loop_release(struct loop *l)
{
	close(l->timer_fd);
	if (l->clock_fd != -1)
		close(l->clock_fd);
	free(l->places);
	free(l->fds);
}

int
loop_add(struct loop *l, struct loop_watch *w)
{
	if (l->nwatches == l->room && grow(l, 2 * l->room) == -1)
		return -1;
	l->places[l->nwatches++].watch = w;
	return 0;
}

void
loop_remove(struct loop *l, struct loop_watch *w)
{
	w->fd = -1;
	for (int i = 0; i < l->nwatches; i++)
		if (l->places[i].watch == w) {
			l->places[i].watch = l->places[--l->nwatches].watch;
			return;
		}
}

/*
 * Sets the timer.  Returns false if the kernel refuses.  A time in the past
 * fires at once; 0 would disarm the timer.
 */
static bool
arm(struct loop *l, int64_t wake_ms)
{
	struct itimerspec its = { 0 };

	if (wake_ms == l->armed_ms)
		return true;
	l->armed_ms = wake_ms;
	if (wake_ms != CLOCK_NEVER) {
		if (wake_ms < 1)
			wake_ms = 1;
		its.it_value.tv_sec = wake_ms / 1000;
		its.it_value.tv_nsec = wake_ms % 1000 * 1000000;
	}
	if (kernel_timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &its) == 0)
		return true;
	l->armed_ms = UNKNOWN;
	return false;
}

void
loop_turn(struct loop *l, int64_t wake_ms)
{
	int n = l->nwatches;
	bool armed = arm(l, wake_ms);
	int64_t now = clock_now_ms();
	uint64_t fired;

	for (int i = 0; i < n; i++) {
		struct loop_watch *w = l->places[i].watch;

		if (w->flush_cb != NULL && (w->events & POLLOUT))
			w->flush_cb(w->arg);
		l->places[i].turn = w;
		l->fds[i] = (struct pollfd){ .fd = w->fd, .events = w->events };
	}
	l->fds[n] = (struct pollfd){ .fd = l->timer_fd, .events = POLLIN };
	l->fds[n + 1] = (struct pollfd){ .fd = l->clock_fd, .events = POLLIN };
	if (poll(l->fds, (nfds_t)n + 2, armed ? -1 : PAUSE_MS) == -1) {
		if (errno != EINTR) {
			if (!l->failed)
				warn("poll: %s", strerror(errno));
			l->failed = true;
			l->seen_ms = now;
			kernel_pause_ms(PAUSE_MS);
		}
		return;
	}

	l->seen_ms = now;
	if (l->fds[n + 1].revents != 0) {
		(void)!read(l->clock_fd, &fired, sizeof(fired));
		watch_clock(l);
		l->stepped = true;
	}
	if (l->fds[n].revents != 0) {
		(void)!read(l->timer_fd, &fired, sizeof(fired));
		l->armed_ms = CLOCK_NEVER;
	}
	/* A callback may add a watch, and so move the arrays. */
	for (int i = 0; i < n; i++) {
		struct loop_watch *w = l->places[i].turn;
		const struct pollfd *fd = &l->fds[i];

		if (fd->revents != 0 && w->fd == fd->fd)
			w->ready_cb(w->arg, fd->revents);
	}
}

int64_t
loop_seen_ms(const struct loop *l)
{
	return l->seen_ms;
}

bool
loop_stepped(struct loop *l)
{
	bool stepped = l->stepped;

	l->stepped = false;
	return stepped;
}
