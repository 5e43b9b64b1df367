/* --show-config: the settings in force. */
#ifndef SHOW_CONFIG_H
#define SHOW_CONFIG_H

#include <stdio.h>

#include "config/options.h"

/*
 * Prints every setting with its value and its origin: option, variable, line of
 * the configuration file, or default.  Masks passwords.
 */
void show_config(FILE *out, const struct options *opt);

#endif
