/* Finds the word that a user may have meant. */
#include <stdio.h>
#include <string.h>

#include "config/suggest.h"

#define LONGEST 32 /* words compared are not longer */

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * The optimal string alignment distance: how many characters of a have to be
 * added, removed, replaced or swapped with their neighbour to make b.
 */
static size_t
distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t d[LONGEST + 1][LONGEST + 1];

	for (size_t i = 0; i <= a_len; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= b_len; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= a_len; i++)
		for (size_t j = 1; j <= b_len; j++) {
			d[i][j] = least(d[i - 1][j], d[i][j - 1]) + 1;
			d[i][j] = least(d[i][j],
			    d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[a_len][b_len];
}

/* A typo changes at most one character in three. */
const char *
suggest_nearest(const char *typed, size_t len, const char *const words[],
    size_t n)
{
	const char *nearest = NULL;
	size_t word_len, apart, limit = (len + 2) / 3;

	if (len > LONGEST)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		word_len = strlen(words[i]);
		if (word_len > LONGEST)
			continue;
		apart = distance(typed, len, words[i], word_len);
		if (apart < limit || (apart == limit && nearest == NULL)) {
			nearest = words[i];
			limit = apart;
		}
	}
	return nearest;
}

char *
suggest_join(char *text, size_t size, const char *prefix,
    const char *const words[], size_t n)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < n && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s%s",
		    i == 0         ? "" :
			i == n - 1 ? " or " :
				     ", ",
		    prefix, words[i]);
	return text;
}
