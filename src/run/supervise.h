/*
 * What happens while COMMAND runs: the lease is renewed, and what follows for
 * COMMAND from the state of the lock, the clock and its processes.
 */
#ifndef SUPERVISE_H
#define SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "config/options.h"
#include "lock/lockset.h"
#include "process/child.h"
#include "process/guard.h"
#include "process/signals.h"
#include "protocol/owner.h"

/* One run of the program; on main's stack. */
struct run {
	struct options opt;
	struct loop loop;
	struct signals signals;
	struct loop_watch signal_watch;
	struct locks locks;
	struct owner owner;
	struct child child;
	struct guard guard;
	int cancelled;          /* the signal that ended the wait, or 0 */
	int64_t asked_ms;       /* when the lock was asked for */
	int64_t acquired_ms;    /* when that was answered */
	int64_t voted_ms;       /* when the votes that count were asked for */
	int64_t guard_ms;       /* the guard is not started before that */
	int64_t guard_pause_ms; /* from the last start of one to the next */
	bool guard_told;        /* that it cannot be started */
	int64_t deadline_ms;    /* the last D that was in the future */
	int64_t outage_ms;      /* since when renewals fail; 0: they do not */
	bool outage_told;       /* which was said, */
	bool end_told;          /* as was COMMAND's end, */
	bool rest_told;         /* and that processes of it live on */
	bool lost;
	bool timed_out; /* --at-most has passed */
	bool resumed;   /* the SIGCONT that continued us is still to come */
};

/* SIGKILL lands that long before D. */
int64_t run_margin_ms(const struct run *);

/*
 * Turns the loop until the COMMAND that has just been started and all of its
 * processes are gone.  Returns our exit status; -N: die of signal N.
 */
int run_to_end(struct run *);

#endif
