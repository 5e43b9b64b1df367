/* Lists the existing locks. */
#ifndef SCAN_H
#define SCAN_H

#include "inspect/query.h"

/*
 * Replaces the query's list of locks: by opt->names or, if there are none, by
 * each lock under the prefix that has a key of one of the wanted kinds: "" for
 * the lock itself and its further slots, or the word after ":~", such as
 * "runs". wanted ends with NULL.  A server that fails meanwhile adds nothing.
 */
void scan_locks(struct query *, const char *const wanted[]);

#endif
