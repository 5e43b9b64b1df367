/* --history --max-age: a check for monitoring. */
#ifndef MAX_AGE_H
#define MAX_AGE_H

#include "inspect/history.h"

/*
 * Reads the history's only lock, after history_list(), and prints one line on
 * standard output about its last success, or with --json an object; with -q only
 * if something is wrong.
 * Returns 0 if that run began within --max-age, EXIT_TOO_OLD if not,
 * EXIT_UNREACHABLE or EXIT_REFUSED if no majority replied.
 */
int max_age_check(struct history *);

#endif
