/* What --history found, as a table for people or as JSON for programs. */
#ifndef TELL_H
#define TELL_H

#include <stdio.h>

#include "inspect/runlog.h"

/* Both print at most a hundred runs a lock; whether that worked, ferror() knows. */
void tell_table(FILE *, const struct history *);
void tell_json(FILE *, const struct history *);

#endif
