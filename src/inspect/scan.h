/* Which locks there are. */
#ifndef SCAN_H
#define SCAN_H

#include "inspect/query.h"

/*
 * Makes the query's list of locks anew: opt->names, or, if it names none, each
 * lock under the prefix that has a key of one of the kinds wanted: "" for the
 * lock itself and its further slots, or a word behind ":~", as "runs".  wanted
 * ends with NULL.  A server that fails meanwhile adds nothing.
 */
void scan_locks(struct query *, const char *const wanted[]);

#endif
