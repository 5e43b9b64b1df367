/*
 * What happens while COMMAND runs: the lease is renewed, and what follows for
 * COMMAND from the state of the lock, the clock and its processes.
 */
#ifndef SUPERVISE_H
#define SUPERVISE_H

#include <stdint.h>

#include "run/state.h"

/* SIGKILL lands that long before D. */
int64_t run_margin_ms(const struct run *);

/*
 * Turns the loop until the COMMAND that has just been started and all of its
 * processes are gone.  Returns our exit status; -N: die of signal N.
 */
int supervise(struct run *);

#endif
