/*
 * Any text: either it is refused, or it means what strtold() says, rounded
 * up, and can be written again.
 */
#include "../../src/base/duration.c"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char buf[DURATION_TEXT];
	char *end, *text = strndup((const char *)data, size);
	long double want;
	int64_t ms = -1, unit_ms;

	if (text == NULL)
		abort();
	if (duration_parse(text, &ms) == 0) {
		want = strtold(text, &end);
		if (unit_parse(end, &unit_ms) == -1)
			abort();
		want *= (long double)unit_ms;
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
