/* --status as JSON for programs. */
#ifndef STATUS_JSON_H
#define STATUS_JSON_H

#include <stdio.h>

#include "base/json.h"
#include "base/text.h"
#include "inspect/status.h"

/* The locks that were added, as text. */
struct status_json {
	struct json j;
	struct text locks;
};

/* Begins a document, which stays in place. */
void status_json_begin(struct status_json *);

/* Adds the locks that status_next() has just read. */
void status_json_add(struct status_json *, const struct status *);

/*
 * Prints an object with "servers" and "locks" and frees the text; locks is null
 * if no majority can list them. ferror() reports a failed write.  Exits with
 * EXIT_OS if memory is too short for the text.
 */
void status_json_end(FILE *, struct status_json *, const struct query *);

#endif
