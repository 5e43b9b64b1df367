/*
 * Parsed by hand: strtol() accepts blanks and signs and takes no length.
 */
#include <stdbool.h>

#include "base/number.h"

/*
 * Returns how many digits text begins with; *fits is whether *number holds
 * them.
 */
static size_t
read_digits(const char *text, size_t len, int64_t *number, bool *fits)
{
	int64_t n = 0;
	size_t i;

	*fits = true;
	for (i = 0; i < len && text[i] >= '0' && text[i] <= '9'; i++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, text[i] - '0', &n))
			*fits = false;
	*number = *fits ? n : INT64_MAX;
	return i;
}

size_t
number_prefix(const char *text, size_t len, int64_t *number)
{
	bool fits;

	return read_digits(text, len, number, &fits);
}

int
number_parse(const char *text, size_t len, int64_t max, int64_t *number)
{
	int64_t n;
	bool fits;

	if (len == 0 || read_digits(text, len, &n, &fits) < len || !fits ||
	    n > max)
		return -1;
	*number = n;
	return 0;
}

int
number_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}
