/* What a server says of itself: the answer to INFO, lines of "name:value". */
#ifndef INFO_H
#define INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies the value of name to buf, cut to size; false if it is not there. */
bool info_field(const char *info, const char *name, char *buf, size_t size);

/* The value as a number, or fallback if it is none; 0 to INFO_MAX. */
int64_t info_number(const char *info, const char *name, int64_t fallback);

#define INFO_MAX (INT64_MAX / 1000000)

/*
 * For how many seconds the server has been up, or -1 if it does not say.
 * Redis subtracts two readings of its wall clock, so a clock that was set back
 * by more than that makes the difference negative.  0 is then the only uptime
 * that is certain.
 */
int64_t info_uptime_s(const char *info);

#endif
