/* What a server says of itself: the answer to INFO, lines of "name:value". */
#ifndef INFO_H
#define INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INFO_MAX    (INT64_MAX / 1000000)
#define INFO_RUN_ID 48
#define INFO_WHY    256

/* Which process the server is, and since when it runs. */
struct server_info {
	int64_t born_ms; /* when it started, at the latest; 0: unknown */
	char run_id[INFO_RUN_ID]; /* empty: unknown */
	char error[INFO_WHY];     /* why it is */
};

/* Copies the value of name to buf, cut to size; false if it is not there. */
bool info_field(const char *info, const char *name, char *buf, size_t size);

/* The value as a number, or fallback if it is none; 0 to INFO_MAX. */
int64_t info_number(const char *info, const char *name, int64_t fallback);

/*
 * For how many seconds the server has been up, or -1 if it does not say.
 * Redis subtracts two readings of its wall clock, so a clock that was set back
 * by more than that makes the difference negative.  0 is then the only uptime
 * that is certain.
 */
int64_t info_uptime_s(const char *info);

#endif
