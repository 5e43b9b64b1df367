/* What --status found, as a table for people or as JSON for programs. */
#ifndef SHOW_H
#define SHOW_H

#include "status.h"

/* Both print on standard output; whether that worked, ferror() knows. */
void show_table(const struct status *);
void show_json(const struct status *);

#endif
