/* Moments of the past, as journalctl(1) reads them. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "base/moment.h"

#define DATE     "0000-00-00"
#define TIME_MIN "00:00"
#define TIME_SEC "00:00:00"

/* Whether text looks like the pattern, where 0 stands for any digit. */
static bool
matches(const char *text, const char *pattern)
{
	for (; *pattern != '\0'; text++, pattern++)
		if (*pattern == '0' ? *text < '0' || *text > '9' :
				      *text != *pattern)
			return false;
	return *text == '\0';
}

static int
two_digits(const char *p)
{
	return (p[0] - '0') * 10 + (p[1] - '0');
}

/* Reads a day that the calendar has, from 1970 on. */
static int
read_date(const char *text, struct tm *tm)
{
	struct tm day = { .tm_year = two_digits(text) * 100 +
		    two_digits(text + 2) - 1900,
		.tm_mon = two_digits(text + 5) - 1,
		.tm_mday = two_digits(text + 8) };

	*tm = day;
	timegm(&day); /* moves a day that its month lacks into the next one */
	return tm->tm_year < 70 || day.tm_mon != tm->tm_mon ||
		day.tm_mday != tm->tm_mday ?
	    -1 :
	    0;
}

static int
read_time(const char *text, struct tm *tm)
{
	tm->tm_hour = two_digits(text);
	tm->tm_min = two_digits(text + 3);
	tm->tm_sec = text[5] == '\0' ? 0 : two_digits(text + 6);
	return tm->tm_hour > 23 || tm->tm_min > 59 || tm->tm_sec > 59 ? -1 : 0;
}

/* Reads a day or a time of day into *tm, which holds the last midnight. */
static int
read_calendar(const char *text, struct tm *tm)
{
	if (strcmp(text, "today") == 0)
		return 0;
	if (strcmp(text, "yesterday") == 0) {
		tm->tm_mday--;
		return 0;
	}
	if (matches(text, TIME_MIN) || matches(text, TIME_SEC))
		return read_time(text, tm);
	if (matches(text, DATE))
		return read_date(text, tm);
	if (matches(text, DATE " " TIME_MIN) ||
	    matches(text, DATE " " TIME_SEC))
		return read_date(text, tm) == 0 ?
		    read_time(text + sizeof(DATE), tm) :
		    -1;
	return -1;
}

int
moment_parse(const char *text, int64_t now_ms, struct moment *m)
{
	time_t now = now_ms / 1000;
	struct tm tm;
	int64_t ms;

	if (duration_parse(text, &ms) == 0) {
		*m = (struct moment){ .kind = MOMENT_AGO, .ms = ms };
		return 0;
	}
	if (errno == ERANGE)
		return -1;
	errno = EINVAL;
	if (localtime_r(&now, &tm) == NULL)
		return -1;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	if (read_calendar(text, &tm) == -1)
		return -1;
	tm.tm_isdst = -1; /* the rules of that day decide */
	*m = (struct moment){ .kind = MOMENT_AT,
		.ms = (int64_t)mktime(&tm) * 1000 };
	return 0;
}

int64_t
moment_ms(const struct moment *m, int64_t now_ms)
{
	return m->kind == MOMENT_AGO ? now_ms - m->ms : m->ms;
}
