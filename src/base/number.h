/* Decimal numbers: digits and nothing else, in every locale. */
#ifndef NUMBER_H
#define NUMBER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads the len bytes of text as a number of digits alone.  Returns 0, or -1
 * for anything else, for no digits, and for more than max or INT64_MAX; *number
 * is then untouched.
 */
int number_parse(const char *text, size_t len, int64_t max, int64_t *number);

/*
 * Reads the digits that the len bytes of text begin with.  Returns how many
 * there are; *number is their value, at most INT64_MAX.
 */
size_t number_prefix(const char *text, size_t len, int64_t *number);

/* Returns the value of a hexadecimal digit, or -1 if c is none. */
int number_hex(char c);

#endif
