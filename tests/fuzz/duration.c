/*
 * Any text is either refused, or has the value that strtold() gives its parts,
 * rounded up, and can be written again.
 */
#include "../../src/base/duration.c"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char buf[DURATION_TEXT];
	char *end, *text = strndup((const char *)data, size);
	long double want = 0;
	int64_t ms = -1;
	size_t unit, len;

	if (text == NULL)
		abort();
	if (duration_parse(text, &ms) == 0) {
		for (const char *p = text; *p != '\0'; p = end + len) {
			long double part = strtold(p, &end);

			len = strspn(end, "dhms");
			unit =
			    len == 0 ? find_unit("s", 1) : find_unit(end, len);
			if (end == p || unit == UNITS)
				abort();
			want += part * (long double)units[unit].ms;
		}
		if (ms < 0 || ms > DURATION_MAX_MS)
			abort();
		if ((long double)ms < want - 0.1L ||
		    (long double)ms > want + 1.1L)
			abort();
		if (strlen(duration_format(ms, buf)) >= sizeof(buf))
			abort();
	} else if (ms != -1)
		abort();
	free(text);
	return 0;
}
