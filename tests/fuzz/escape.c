/*
 * Any bytes: the result is printable UTF-8, and escaping it again changes
 * nothing.  The first byte of the input is the room for the result.
 */
#include "../../src/base/escape.c"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
judge(const char *text, size_t len)
{
	uint32_t cp;
	size_t n;

	for (; len > 0; text += n, len -= n) {
		n = utf8_decode(text, len, &cp);
		if (n == 0 || unprintable(cp))
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *src = (const char *)data + 1;
	char *once, twice[256], *json = NULL;
	size_t room, len = 0;
	FILE *out;

	if (size < 2)
		return 0;
	room = (size_t)data[0] + 1;
	once = malloc(room);
	out = open_memstream(&json, &len);
	if (once == NULL || out == NULL)
		abort();
	escape_text(once, room, src, size - 1);
	judge(once, strlen(once));
	escape_text(twice, sizeof(twice), once, strlen(once));
	if (strcmp(once, twice) != 0)
		abort();
	escape_json(out, src, size - 1);
	fclose(out);
	if (len < 2 || json[0] != '"' || json[len - 1] != '"')
		abort();
	judge(json, len);
	free(json);
	free(once);
	return 0;
}
