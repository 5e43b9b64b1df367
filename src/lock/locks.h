/*
 * The locks of one run: all or none.  They are taken one after the other in
 * their order, so that two runs with the same locks cannot wait for each other,
 * and those already held are renewed meanwhile.  A single lock takes the same
 * path.
 */
#ifndef LOCKS_H
#define LOCKS_H

#include "lock/lock.h"
#include "protocol/record.h"

/*
 * Called after each turn of the loop while the run waits for l. Returns the
 * time of the next call at the latest.
 */
typedef int64_t locks_waiting_cb(void *arg, const struct lock *l);

struct locks {
	struct loop *loop;
	struct lock *lock;
	int n;
	int begun;                /* how many have been requested so far */
	const struct lock *about; /* the subject of an outcome */
	int64_t wait_end_ms;      /* when the wait for our turn ends */
	locks_waiting_cb *waiting_cb;
	void *waiting_arg;
};

/*
 * Allocates n locks; the caller prepares each with lock_init().  Returns 0, or
 * -1 with errno. locks_close() frees everything.
 */
int locks_init(struct locks *, struct loop *, int n);

/*
 * Return the number of locks; the i-th; and the subject of the last outcome or
 * result.
 */
int locks_count(const struct locks *);
struct lock *locks_at(const struct locks *, int i);
const struct lock *locks_about(const struct locks *);

/*
 * Begins to connect for the first lock.  The others connect when their turn
 * comes, since a connection without requests would count as unresponsive.
 */
void locks_connect(struct locks *);

/*
 * Takes all locks and turns the loop until that is decided; waits in the queues
 * until wait_end_ms (0: no wait, and waiting_cb is not called).  For any
 * outcome but LOCK_HELD, releases whatever a server may hold for us before it
 * returns, within one more node timeout, and locks_about() is the lock of the
 * outcome.
 */
enum lock_outcome locks_acquire(struct locks *, const struct owner *,
    int64_t wait_end_ms, locks_waiting_cb *waiting_cb, void *waiting_arg);

/* Call when COMMAND has started, see lock_grow(). */
void locks_grow(struct locks *);

/*
 * locks_grant_ms() returns the length of a grant that holds the locks but is
 * not confirmed yet and ends sooner than a lease, or 0. locks_drop_grant()
 * gives it up before anything was started; locks_acquire() must then be called
 * again.
 */
int64_t locks_grant_ms(const struct locks *);
void locks_drop_grant(struct locks *);

/* Ends locks_acquire() at its next turn.  For callbacks. */
void locks_cancel(struct locks *);

/* Returns the earliest D; locks_about() is its lock. */
int64_t locks_deadline_ms(struct locks *);

/*
 * While the locks are held: returns the first lock whose renewals reach no
 * majority at present, so that it would end with its lease; NULL if there is
 * none.
 */
const struct lock *locks_failing(const struct locks *);

/*
 * Calls lock_step() for all.  Returns the time of the next call at the latest.
 */
int64_t locks_step(struct locks *);

/*
 * Releases all locks, or leaves them in cooldown for cooldown_ms, and waits for
 * the result, at most two node timeouts.  Returns the worst result;
 * locks_about() is its lock. end is for lock_begin_release().
 */
enum lock_release_result
locks_release(struct locks *, int64_t cooldown_ms, const struct record *end);

/* Closes the connections and frees everything. */
void locks_close(struct locks *);

#endif
