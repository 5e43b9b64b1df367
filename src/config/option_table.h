/* The options: how each is written, where it is allowed, what it does. */
#ifndef OPTION_TABLE_H
#define OPTION_TABLE_H

#include <stddef.h>

#include "config/options.h"

struct option_row {
	const char *name;     /* behind "--"; NULL ends the table */
	char letter;          /* behind "-", or 0 */
	const char *argument; /* as --help names it; NULL: takes none */
	unsigned int modes;   /* 1 << enum mode, for each that has it */

	/*
	 * Takes the value, which stays in place; exits if it is none.  NULL
	 * for --help and --version, which end the program.
	 */
	void (*set)(struct options *, const struct option_row *, char *value);
	int where; /* for set(): a member of struct options, a key, a mode */

	const char *help;  /* a sentence in lines; NULL: not shown */
	const char *group; /* title above the first of a group, else NULL */
};

#define OPTIONS_MAX 64 /* rows, at most */

extern const struct option_row option_table[];

/* The option of a letter; NULL if there is none. */
const struct option_row *option_of_letter(char letter);

/*
 * The option that the first len bytes of word name, in full or abbreviated;
 * NULL if that is none or several.
 */
const struct option_row *option_of_word(const char *word, size_t len);

/* The option that chooses a mode, without its "--"; not for MODE_RUN. */
const char *option_of_mode(enum mode);

#endif
