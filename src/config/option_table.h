/* The options: how they are written, where they are allowed, what they do. */
#ifndef OPTION_TABLE_H
#define OPTION_TABLE_H

#include <stddef.h>

#include "config/options.h"

struct option_row {
	const char *name;     /* behind "--"; NULL ends the table */
	char letter;          /* behind "-", or 0 */
	unsigned int modes;   /* 1 << enum mode, for each that has it */
	const char *argument; /* as --help names it; NULL: takes none */

	/*
	 * Takes the value, which stays in place; exits if it is not valid.
	 * NULL for --help and --version, which end the program.
	 */
	void (*set)(struct options *, const struct option_row *, char *value);
	int where; /* for set(): a member of struct options, a key, a mode */

	const char *help;  /* a sentence in lines; NULL: not shown */
	const char *group; /* title before this row, or NULL */
};

#define OPTIONS_MAX 64 /* rows, at most */

extern const struct option_row option_table[];

/* Returns the option with this letter, or NULL. */
const struct option_row *option_of_letter(char letter);

/*
 * Returns the option that the first len bytes of word name or abbreviate, or
 * NULL if that is none or several.
 */
const struct option_row *option_of_word(const char *word, size_t len);

/*
 * Returns the option that chooses a mode, without its "--".  Not for MODE_RUN.
 */
const char *option_of_mode(enum mode);

#endif
