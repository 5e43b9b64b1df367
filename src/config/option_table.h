/* The options: their spelling, their modes and their effect. */
#ifndef OPTION_TABLE_H
#define OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "config/options.h"

struct option_row {
	const char *name;     /* after "--"; NULL ends the table */
	char letter;          /* after "-", or 0 */
	unsigned int modes;   /* 1 << enum mode, for each mode that has it */
	const char *argument; /* as in --help; NULL: takes no value */

	/*
	 * Takes the value, which stays in place; exits if it is not valid.
	 * NULL for --help and --version, which end the program.
	 */
	void (*set)(struct options *, const struct option_row *, char *value);
	int where; /* for set(): a member of struct options, a key or a mode */

	const char *help;  /* lines of a sentence; NULL: not shown */
	const char *group; /* title above this row, or NULL */
};

#define OPTIONS_MAX 64 /* rows, at most */

extern const struct option_row option_table[];

/* Returns the option with this letter, or NULL. */
const struct option_row *option_of_letter(char letter);

/*
 * Returns the option that the first len bytes of word name or abbreviate, or
 * NULL if there is none or several.
 */
const struct option_row *option_of_word(const char *word, size_t len);

/* Whether the option chooses a mode. */
bool option_is_mode(const struct option_row *);

/*
 * Returns the option that chooses a mode, without its "--".  Not for MODE_RUN.
 */
const char *option_of_mode(enum mode);

#endif
