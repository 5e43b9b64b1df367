/*
 * JSON for programs, a member of an object at a time; who writes it puts the
 * braces and commas.  Whether the printing worked, ferror() knows.
 */
#ifndef JSON_H
#define JSON_H

#include <stdint.h>
#include <stdio.h>

/* "name":"value"; a value of NULL is null. */
void json_string(FILE *, const char *name, const char *value);

/* "name":value, or null if it is less than least. */
void json_number(FILE *, const char *name, int64_t value, int64_t least);

/* "name":"2026-11-20T02:00:00.123Z", ms since 1970; null if out of range. */
void json_time(FILE *, const char *name, int64_t wall_ms);

#endif
