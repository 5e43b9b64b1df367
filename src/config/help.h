/* What --help prints. */
#ifndef HELP_H
#define HELP_H

#include <stdbool.h>
#include <stdio.h>

/* Writes how the program is called. */
void help_synopsis(FILE *out);

/* Writes --help, or -h: the synopsis and the options that have a letter. */
void help_print(FILE *out, bool in_short);

#endif
