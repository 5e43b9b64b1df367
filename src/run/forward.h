/* Forwards our signals to COMMAND; before it exists, they end the wait. */
#ifndef FORWARD_H
#define FORWARD_H

#include "run/run_state.h"

/*
 * Handles all signals that have arrived.  Before COMMAND exists, one that would
 * end it sets run->cancelled.
 */
void forward_signals(struct run *);

/* Calls forward_signals(); a callback of the loop. */
void forward_cb(void *run, short revents);

#endif
