/*
 * The reply to INFO may come from a faulty server: a field may be absent, of
 * any length and of any content.
 */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "redis/info.h"

bool
info_field(const char *info, const char *name, char *buf, size_t size)
{
	size_t len = strlen(name);
	const char *line;

	for (line = info; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len) == 0 && line[len] == ':') {
			line += len + 1;
			snprintf(buf, size, "%.*s", (int)strcspn(line, "\r\n"),
			    line);
			return true;
		}
	}
	return false;
}

void
info_run_id(const char *info, char run_id[INFO_RUN_ID])
{
	if (!info_field(info, "run_id", run_id, INFO_RUN_ID) ||
	    run_id[strspn(run_id, "0")] == '\0')
		run_id[0] = '\0';
}

static bool
info_integer(const char *info, const char *name, int64_t *number)
{
	char text[32];
	const char *digits = text;
	size_t len;

	if (!info_field(info, name, text, sizeof(text)))
		return false;
	digits += text[0] == '-';
	len = number_prefix(digits, strlen(digits), number);
	if (text[0] == '-')
		*number = -*number;
	return len > 0 && digits[len] == '\0';
}

int64_t
info_number(const char *info, const char *name, int64_t fallback)
{
	int64_t n;

	if (!info_integer(info, name, &n) || n < 0)
		return fallback;
	return n < INFO_MAX ? n : INFO_MAX;
}

int64_t
info_uptime_s(const char *info)
{
	int64_t n;

	if (!info_integer(info, "uptime_in_seconds", &n))
		return -1;
	return n < 0 ? 0 : n < INFO_MAX ? n : INFO_MAX;
}
