/*
 * Any reply to INFO: a value is at most one line and fits its buffer, and a
 * number is in range.
 */
#include <stdlib.h>

#include "../../src/redis/info.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *info = strndup((const char *)data, size);
	char value[8] = "";
	int64_t n;

	if (info == NULL)
		abort();
	if (info_field(info, "a", value, sizeof(value)) &&
	    (strpbrk(value, "\r\n") != NULL || strstr(info, "a:") == NULL))
		abort();
	n = info_number(info, "a", -7);
	if (n != -7 && (n < 0 || n > INFO_MAX))
		abort();
	n = info_uptime_s(info);
	if (n < -1 || n > INFO_MAX)
		abort();
	free(info);
	return 0;
}
