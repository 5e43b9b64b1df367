/* What --status found, as a table for people or as JSON for programs. */
#ifndef SHOW_H
#define SHOW_H

#include <stdio.h>

#include "inspect/lockinfo.h"

/* Whether the printing worked, ferror() knows. */
void show_table(FILE *, const struct status *);
void show_json(FILE *, const struct status *);

#endif
