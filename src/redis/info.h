/* Reads the reply to INFO: lines of "name:value". */
#ifndef INFO_H
#define INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INFO_MAX    (INT64_MAX / 1000000)
#define INFO_RUN_ID 48
#define INFO_WHY    256

/* Identifies the server's process and its start. */
struct server_info {
	int64_t born_ms; /* when it started, at the latest; 0: unknown */
	char run_id[INFO_RUN_ID]; /* empty: unknown */
	char error[INFO_WHY];     /* why they are unknown */
};

/*
 * Copies the value of name to buf, cut to size.  Returns false if it is absent.
 */
bool info_field(const char *info, const char *name, char *buf, size_t size);

/*
 * Copies the run_id, which tells a server from all others.  Empty if it is absent
 * or only zeros, as that of some servers that are no Redis.
 */
void info_run_id(const char *info, char run_id[INFO_RUN_ID]);

/* Returns the value as a number, 0 to INFO_MAX, or fallback if it is none. */
int64_t info_number(const char *info, const char *name, int64_t fallback);

/*
 * Returns for how many seconds the server has been up, or -1 if that is
 * unknown.  Redis subtracts two readings of its wall clock.  If the clock was
 * set back, the difference may be negative; then 0 is the only uptime that is
 * certain.
 */
int64_t info_uptime_s(const char *info);

#endif
