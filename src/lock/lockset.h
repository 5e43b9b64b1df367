/*
 * The locks of one run: all or none.  They are taken one after the other in
 * the order they stand in, so that two runs that want the same ones cannot
 * wait for each other, and what is held is renewed meanwhile.  One is the
 * usual number, and no special case.
 */
#ifndef LOCKS_H
#define LOCKS_H

#include "lock/lock.h"

/*
 * While the run waits for l: called after each turn of the loop.  Returns when
 * it wants to be called again at the latest.
 */
typedef int64_t locks_waiting_cb(void *arg, const struct lock *l);

struct locks {
	struct loop *loop;
	struct lock *lock;
	int n;
	int begun;                /* the first so many have been asked for */
	const struct lock *about; /* the one that an outcome is about */
	int64_t wait_end_ms;      /* until when to wait for our turn */
	locks_waiting_cb *waiting_cb;
	void *waiting_arg;
};

/*
 * Allocates n locks; the caller puts each in order with lock_init().  Returns
 * 0, or -1 with errno.  locks_close() undoes it.
 */
int locks_init(struct locks *, struct loop *, int n);

/* How many; the i-th; and the one that the last outcome or result is about. */
int locks_count(const struct locks *);
struct lock *locks_at(const struct locks *, int i);
const struct lock *locks_about(const struct locks *);

/*
 * Begins to connect for the first lock.  The others' turn comes later: a
 * connection on which nothing is asked counts as one that does not answer.
 */
void locks_connect(struct locks *);

/*
 * Takes all, turning the loop until that is decided, and waits for its turn
 * until wait_end_ms (0: not at all, and waiting_cb is not called).  Unless it
 * returns LOCK_HELD, whatever may have been left on a server is given back
 * before it returns, within one more node timeout, and ->about says which lock
 * it was.
 */
enum lock_outcome locks_acquire(struct locks *, const struct owner *,
    int64_t wait_end_ms, locks_waiting_cb *waiting_cb, void *waiting_arg);

/*
 * The length of a grant under which they are held but which is not confirmed
 * yet, and which ends sooner than a lease; 0: there is none.  If nothing has
 * been started, locks_drop_grant() gives it up: locks_acquire() has to be called
 * again.
 */
int64_t locks_grant_ms(const struct locks *);
void locks_drop_grant(struct locks *);

/* Ends locks_acquire() at its next turn.  For callbacks. */
void locks_cancel(struct locks *);

/* The earliest D, and in ->about whose it is. */
int64_t locks_deadline_ms(struct locks *);

/*
 * While they are held: the first of which no majority answers renewals as
 * things stand, so that it ends with its lease; NULL if all is well.
 */
const struct lock *locks_failing(const struct locks *);

/* lock_step() for all. */
int64_t locks_step(struct locks *);

/*
 * Gives all back, or leaves them in cooldown for cooldown_ms, and waits until it
 * is known what became of that, at most one node timeout.  Returns the worst
 * result, which locks_about() is about.  end_record is for lock_begin_release().
 */
enum lock_release_result
locks_release(struct locks *, int64_t cooldown_ms, const char *end_record);

/* Ends the connections and frees everything. */
void locks_close(struct locks *);

#endif
