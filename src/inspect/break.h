/* --break: revokes the lease of a holder that the user knows to be dead. */
#ifndef BREAK_H
#define BREAK_H

#include "config/options.h"

/*
 * Revokes the lease of the run opt->token on the lock opt->names.name[0], on
 * every server where that run is a holder.  Without a token it changes nothing:
 * it names the holders and prints, for each, the command that revokes its
 * lease, on standard output.  Returns the exit status: 0 if the run had the
 * lock and can no longer have it; EXIT_NOT_BROKEN if nothing was changed;
 * EXIT_UNREACHABLE or EXIT_REFUSED, with a message, if too few servers replied.
 */
int break_run(const struct options *opt);

#endif
