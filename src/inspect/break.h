/* --break: takes a lock away from a holder that is known to be dead. */
#ifndef BREAK_H
#define BREAK_H

#include "config/options.h"

/*
 * Takes the lock opt->names[0] away from the run whose token is opt->token, on
 * every server that still has it as a holder.  Without a token it changes
 * nothing, says who the holders are and prints, for each, the command that does
 * it on standard output.
 * Returns the exit status: 0 if the run had the lock and cannot have it any
 * more; EXIT_NOT_BROKEN if nothing was changed; EXIT_UNREACHABLE or
 * EXIT_REFUSED, with a message, if too few servers could tell or do it.
 */
int break_run(const struct options *opt);

#endif
