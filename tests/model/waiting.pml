/*
 * The common part of the queue's models: waiters, their order, wakes and grants.
 *
 * Both models have a discrete clock, which ticks only when all due work is done.
 * The lock may be free for at most BOUND ticks while a client waits; a fault
 * starts the count again.  The order is kept, and only a finite number of
 * clients precedes a waiter, so no client waits for ever.
 *
 * -DLAX leaves out the invariants of order and history.  It shows that another
 * one breaks as well, where those would break first.
 */

#ifndef CLIENTS
#define CLIENTS		3	/* at most */
#endif
#define IDLE		0
#define WAITING		1
#define HOLDING		2
#define EACH(step)	:: step(0) :: step(1) :: step(2)

/*
 * -DTICKING=n proves that the clock never stops.  From any state the model may
 * turn to due work alone: some step is possible until the clock ticks (else pan
 * reports an invalid end state), and there are less than n of them.
 */
#ifdef TICKING
byte work;
bit ticking;
#define FINISHES	; work = (work > 0 -> work + 1 : 0); \
			ticking = (work <= TICKING); assert(ticking)
#else
#define FINISHES
#endif
