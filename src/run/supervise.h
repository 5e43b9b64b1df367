/*
 * While COMMAND runs: renews the lease, and stops COMMAND when the lease or
 * --max-run ends.
 */
#ifndef SUPERVISE_H
#define SUPERVISE_H

#include <stdint.h>

#include "base/exit.h"
#include "run/run_state.h"

/* Returns how long before D SIGKILL is sent. */
int64_t supervise_margin_ms(const struct run *);

/* Returns when COMMAND is stopped unless a renewal moves D. */
int64_t supervise_stop_ms(const struct run *);

/*
 * Turns the loop until COMMAND, which has just started, and all of its
 * processes are gone.  Returns how we end.
 */
struct exit_how supervise(struct run *);

#endif
