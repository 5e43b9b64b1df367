/* Several locks, and the only loop that drives them. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "lock/lock_inside.h"
#include "lock/locks.h"

int
locks_init(struct locks *ls, struct loop *loop, int n)
{
	ls->loop = loop;
	ls->n = n;
	ls->begun = 0;
	ls->lock = calloc((size_t)n, sizeof(*ls->lock));
	ls->about = ls->lock;
	return ls->lock == NULL ? -1 : 0;
}

int
locks_count(const struct locks *ls)
{
	return ls->n;
}

struct lock *
locks_at(const struct locks *ls, int i)
{
	return &ls->lock[i];
}

const struct lock *
locks_about(const struct locks *ls)
{
	return ls->about;
}

void
locks_connect(struct locks *ls)
{
	lock_connect(&ls->lock[0]);
}

int64_t
locks_step(struct locks *ls)
{
	int64_t wake = CLOCK_NEVER;

	if (loop_stepped(ls->loop))
		for (int i = 0; i < ls->n; i++)
			lock_renew(&ls->lock[i]);
	for (int i = 0; i < ls->n; i++)
		wake = clock_min_ms(wake, lock_step(&ls->lock[i]));
	return wake;
}

int64_t
locks_deadline_ms(struct locks *ls)
{
	int64_t deadline = CLOCK_NEVER, t;

	for (int i = 0; i < ls->begun; i++)
		if ((t = lock_deadline_ms(&ls->lock[i])) < deadline) {
			deadline = t;
			ls->about = &ls->lock[i];
		}
	return deadline;
}

const struct lock *
locks_failing(const struct locks *ls)
{
	for (int i = 0; i < ls->begun; i++) {
		const struct lock *l = &ls->lock[i];
		int well = 0;

		for (int j = 0; j < l->intent.nservers; j++)
			well += lock_server_votes(l, j);
		if (well < l->intent.quorum)
			return l;
	}
	return NULL;
}

/*
 * Returns the outcome when a lock that was held is lost; LOCK_UNDECIDED: start
 * over.
 */
static enum lock_outcome
lost(const struct locks *ls)
{
	if (clock_now_ms() < ls->wait_end_ms)
		return LOCK_UNDECIDED;
	return ls->wait_end_ms != 0 && lock_state(ls->about) != NULL ?
	    LOCK_BUSY :
	    LOCK_UNREACHABLE;
}

/*
 * Releases all locks to take them anew.  The tickets stay, and with them the
 * places in the queues.
 */
static void
start_over(struct locks *ls)
{
	const char *name = ls->about->intent.name;

	for (int i = 0; i < ls->n; i++)
		lock_start_over(&ls->lock[i]);
	locks_release(ls, 0, NULL);
	notice("%s: lost while waiting for another lock; starting over", name);
	for (int i = 0; i < ls->n; i++)
		lock_again(&ls->lock[i]);
	ls->begun = 0;
}

/* Acquires one more lock while those before it are kept. */
static enum lock_outcome
acquire_next(struct locks *ls, const struct owner *owner)
{
	struct lock *l = &ls->lock[ls->begun];
	enum lock_outcome outcome;
	int64_t wake;

	lock_begin(l, owner, ls->wait_end_ms, ls->begun == 0,
	    ls->begun + 1 == ls->n);
	for (;;) {
		locks_step(ls);
		if (clock_now_ms() >= locks_deadline_ms(ls))
			return lost(ls);
		ls->about = l;
		outcome = lock_outcome(l);
		if (outcome != LOCK_UNDECIDED)
			break;
		/* The new outcome may have made requests due at once. */
		wake = clock_min_ms(locks_step(ls), l->phase_end_ms);
		if (l->contest.give_way_ms != 0)
			wake = clock_min_ms(wake, l->contest.give_way_ms);
		if (clock_now_ms() < l->intent.wait_end_ms)
			wake = clock_min_ms(wake, l->intent.wait_end_ms);
		if (ls->wait_end_ms != 0)
			wake = clock_min_ms(wake,
			    ls->waiting_cb(ls->waiting_arg, l));
		loop_turn(ls->loop, wake);
	}
	ls->begun++;
	return outcome;
}

enum lock_outcome
locks_acquire(struct locks *ls, const struct owner *owner, int64_t wait_end_ms,
    locks_waiting_cb *waiting_cb, void *waiting_arg)
{
	enum lock_outcome outcome = LOCK_HELD;
	const struct lock *about;

	ls->wait_end_ms = wait_end_ms;
	ls->waiting_cb = waiting_cb;
	ls->waiting_arg = waiting_arg;
	while (outcome == LOCK_HELD && ls->begun < ls->n) {
		outcome = acquire_next(ls, owner);
		if (outcome == LOCK_UNDECIDED) {
			start_over(ls);
			outcome = LOCK_HELD;
		}
	}
	for (int i = 0; outcome == LOCK_HELD && i < ls->n; i++)
		lock_start(&ls->lock[i]);
	if (outcome != LOCK_HELD) {
		about = ls->about;
		lock_skip(&ls->lock[about - ls->lock], outcome);
		locks_release(ls, 0, NULL);
		ls->about = about;
	}
	return outcome;
}

void
locks_grow(struct locks *ls)
{
	for (int i = 0; i < ls->n; i++)
		lock_grow(&ls->lock[i]);
}

/* Only the last lock can have been granted with the wake. */
int64_t
locks_grant_ms(const struct locks *ls)
{
	return lock_grant_ms(&ls->lock[ls->n - 1]);
}

void
locks_drop_grant(struct locks *ls)
{
	lock_drop_grant(&ls->lock[ls->n - 1]);
	ls->begun = ls->n - 1;
	for (int i = 0; i < ls->n; i++)
		lock_unstart(&ls->lock[i]);
}

void
locks_cancel(struct locks *ls)
{
	for (int i = 0; i < ls->n; i++)
		lock_cancel(&ls->lock[i]);
}

enum lock_release_result
locks_release(struct locks *ls, int64_t cooldown_ms, const struct record *end)
{
	enum lock_release_result result = RELEASE_DONE, r;
	int64_t seen, wake, end_ms;

	for (int i = 0; i < ls->n; i++)
		lock_begin_release(&ls->lock[i], cooldown_ms, end);
	for (;;) {
		wake = locks_step(ls);
		end_ms = 0;
		seen = loop_seen_ms(ls->loop);
		for (int i = 0; i < ls->n; i++) {
			int64_t t = lock_release_end_ms(&ls->lock[i]);

			if (t > end_ms)
				end_ms = t;
			if (t > seen && t < wake)
				wake = t;
		}
		if (seen >= end_ms)
			break;
		loop_turn(ls->loop, wake);
	}
	for (int i = 0; i < ls->n; i++) {
		r = lock_release_result(&ls->lock[i]);
		if (r > result) {
			result = r;
			ls->about = &ls->lock[i];
		}
	}
	return result;
}

void
locks_close(struct locks *ls)
{
	for (int i = 0; i < ls->n; i++)
		lock_close(&ls->lock[i]);
	free(ls->lock);
}
