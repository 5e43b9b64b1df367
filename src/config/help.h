/* What --help prints. */
#ifndef HELP_H
#define HELP_H

#include <stdio.h>

void help_print(FILE *out);

#endif
