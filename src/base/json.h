/*
 * JSON for programs, as RFC 8259 has it.  The writer keeps the commas and the
 * brackets.  Every value takes the name that it has in its object, or NULL
 * inside an array.  ferror() reports a failed write.
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH 8

/* Prepared as { .out = stdout }; every document leaves it so. */
struct json {
	FILE *out;
	char closing[JSON_DEPTH]; /* brackets that are still open */
	int depth;
	bool more; /* a comma comes before the next value */
};

/*
 * Prepares a writer of what stands between the brackets of a document's array, to
 * be put there later.
 */
void json_elements(struct json *, FILE *);

/*
 * Begin an object or an array; json_end() closes the one begun last, and ends
 * the document with a newline after the outermost one.
 */
void json_object(struct json *, const char *name);
void json_array(struct json *, const char *name);
void json_end(struct json *);

/* A string, escaped; a value of NULL is null. */
void json_string(struct json *, const char *name, const char *value);
void json_bytes(struct json *, const char *name, const char *value, size_t len);

void json_bool(struct json *, const char *name, bool value);

/* A number, or null if it is less than least. */
void json_number(struct json *, const char *name, int64_t value, int64_t least);

/*
 * "2026-11-20T02:00:00.123Z", from ms since 1970; null outside of the years 1970
 * to 9999.
 */
void json_time(struct json *, const char *name, int64_t wall_ms);

#endif
