/* Decimal numbers: digits and nothing else, in every locale. */
#ifndef NUMBER_H
#define NUMBER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads the len bytes of text, all of them digits.  Returns 0, or -1 if they
 * are anything else, none at all or more than max or than fits; *number is then
 * untouched.
 */
int number_parse(const char *text, size_t len, int64_t max, int64_t *number);

/*
 * Reads the digits with which the len bytes of text begin.  Returns how many
 * there are; *number is what they mean, or INT64_MAX if that is more.
 */
size_t number_prefix(const char *text, size_t len, int64_t *number);

/* The value of a hexadecimal digit; -1 if c is none. */
int number_hex(char c);

#endif
