/* Writes and reads the record of a run. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "protocol/record.h"
#include "wire.h"

#define NUMBER_MAX INT64_C(9000000000000000) /* below 2^53: exact in JSON */

static const char *const endings[] = { [ENDED_EXITED] = "exited",
	[ENDED_KILLED] = "killed",
	[ENDED_MAX_RUN] = "max-run",
	[ENDED_LOST] = "lost",
	[ENDED_NOT_RUN] = "not-run",
	[ENDED_DIED] = "died",
	[ENDED_RUNNING] = "running",
	[ENDED_SKIPPED] = "skipped" };
static const char *const skips[] = { [SKIP_BUSY] = "busy",
	[SKIP_WAITED] = "waited",
	[SKIP_MODE] = "mode",
	[SKIP_SUPERSEDED] = "superseded",
	[SKIP_QUEUE_FULL] = "queue-full" };

void
record_waited(char text[RECORD_TEXT], int64_t waited_ms)
{
	snprintf(text, RECORD_TEXT, " waited=%" PRId64, waited_ms);
}

void
record_end(char text[RECORD_TEXT], const struct record *r)
{
	bool killed = r->signal >= 0;
	int n = 0;

	if (r->ran_ms >= 0)
		n = snprintf(text, RECORD_TEXT, " ran=%" PRId64, r->ran_ms);
	snprintf(text + n, (size_t)(RECORD_TEXT - n), " ended=%s %s=%" PRId64,
	    endings[r->ending], killed ? "signal" : "status",
	    killed ? r->signal : r->status);
}

void
record_skip(char text[RECORD_TEXT], enum skip_reason why)
{
	text[0] = '\0';
	if (why != SKIP_NONE)
		snprintf(text, RECORD_TEXT, " skipped=%s", skips[why]);
}

bool
record_is_success(const struct record *r)
{
	return r->ending == ENDED_EXITED && r->status == 0;
}

/*
 * Returns the value of a field whose name has the form " x="; NULL if absent.
 */
static const char *
field(const char *text, size_t len, const char *name, size_t *value_len)
{
	const char *end = text + len, *value;

	value = memmem(text, len, name, strlen(name));
	if (value == NULL)
		return NULL;
	value += strlen(name);
	text = memchr(value, ' ', (size_t)(end - value));
	*value_len = (size_t)((text == NULL ? end : text) - value);
	return value;
}

/* Returns the number in a field, or -1. */
static int64_t
number(const char *text, size_t len, const char *name)
{
	size_t n;
	const char *value = field(text, len, name, &n);
	int64_t number;

	if (value == NULL || number_parse(value, n, NUMBER_MAX, &number) == -1)
		return -1;
	return number;
}

/* Returns the index of word in words[1] to words[last], or 0. */
static int
find(const char *word, size_t len, const char *const words[], int last)
{
	for (int i = 1; i <= last; i++)
		if (strlen(words[i]) == len && memcmp(word, words[i], len) == 0)
			return i;
	return 0;
}

/* Whether it has the form that the words of later versions have, too. */
static bool
is_word(const char *word, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((word[i] < 'a' || word[i] > 'z') && word[i] != '-')
			return false;
	return len > 0;
}

static enum ending
read_ending(const char *text, size_t len)
{
	size_t n;
	const char *word = field(text, len, " ended=", &n);
	int known;

	if (word == NULL || !is_word(word, n))
		return ENDED_UNKNOWN;
	known = find(word, n, endings, ENDED_NOT_RUN);
	return known == 0 ? ENDED_OTHER : (enum ending)known;
}

static enum skip_reason
read_skip(const char *text, size_t len)
{
	size_t n;
	const char *word = field(text, len, " skipped=", &n);

	return word == NULL ?
	    SKIP_NONE :
	    (enum skip_reason)find(word, n, skips, SKIP_QUEUE_FULL);
}

void
record_read(struct record *r, const char *text, size_t len)
{
	*r = (struct record){ .waited_ms = number(text, len, " waited="),
		.ran_ms = number(text, len, " ran="),
		.status = number(text, len, " status="),
		.signal = number(text, len, " signal="),
		.ending = read_ending(text, len),
		.skip = read_skip(text, len) };
}

int
record_slot(const char *text, size_t len)
{
	int64_t slot = number(text, len, " slot=");

	return slot >= 1 && slot <= LOCK_SLOTS ? (int)slot : 0;
}

const char *
record_ending_word(enum ending ending)
{
	return endings[ending];
}

const char *
record_skip_word(enum skip_reason why)
{
	return skips[why];
}
