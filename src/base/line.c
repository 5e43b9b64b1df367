/* A line may contain a NUL, so its length is counted. */
#include <string.h>

#include "base/line.h"

char *
line_next(char **text, char *end, size_t *len)
{
	char *line = *text, *next;

	if (line == end)
		return NULL;
	next = memchr(line, '\n', (size_t)(end - line));
	*text = next == NULL ? end : next + 1;
	*len = (size_t)(*text - line);
	if (line[*len - 1] == '\n')
		line[--*len] = '\0';
	if (*len > 0 && line[*len - 1] == '\r')
		line[--*len] = '\0';
	return line;
}

void
line_trim(char *line)
{
	size_t len = strlen(line);

	while (len > 0 && strchr(" \t", line[len - 1]) != NULL)
		len--;
	line[len] = '\0';
}
