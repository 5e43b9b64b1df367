/* Signals sent to us: COMMAND gets them, or they end the wait for the lock. */
#ifndef FORWARD_H
#define FORWARD_H

#include "run/state.h"

/*
 * Handles all signals that have arrived.  Before COMMAND exists, one that
 * would end it sets run->cancelled.
 */
void forward_signals(struct run *);

/* The same as a callback of the loop. */
void forward_cb(void *run, short revents);

#endif
