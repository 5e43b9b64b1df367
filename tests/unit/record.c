/* The record of a run, written and read. */
#include "../../src/protocol/record.c"
#include "tap.h"

static const char owner[] = "redlock-run/2 token=A try=1 since=5 pid=1 host=h "
			    "user=u command=c message=x%20ended=lost";

/* Reads a copy of the text behind an owner value, without a byte to spare. */
static struct record
read_behind(const char *value, const char *text, size_t len)
{
	char joined[512], *copy;
	struct record r;

	len += strlen(value);
	snprintf(joined, sizeof(joined), "%s%s", value, text);
	copy = tap_bytes(joined, len);
	record_read(&r, copy, len);
	free(copy);
	return r;
}

static struct record
read_text(const char *text)
{
	return read_behind(owner, text, strlen(text));
}

static void
same(const char *text, const struct record *want)
{
	struct record got = read_text(text);

	SAME_INT(got.waited_ms, want->waited_ms);
	SAME_INT(got.ran_ms, want->ran_ms);
	SAME_INT(got.status, want->status);
	SAME_INT(got.signal, want->signal);
	SAME_INT(got.ending, want->ending);
	SAME_INT(got.skip, want->skip);
}

static void
ends_as(const struct record *r, const char *want)
{
	char text[RECORD_TEXT];

	record_end(text, r);
	SAME_TEXT(text, want);
}

static void
written(void)
{
	char text[RECORD_TEXT];

	record_waited(text, 7);
	SAME_TEXT(text, " waited=7");
	ends_as(&(struct record){ 7, 3400, 0, -1, ENDED_EXITED, SKIP_NONE },
	    " ran=3400 ended=exited status=0");
	ends_as(&(struct record){ 7, 0, -1, 9, ENDED_KILLED, SKIP_NONE },
	    " ran=0 ended=killed signal=9");
	ends_as(&(struct record){ 7, 1, -1, 15, ENDED_MAX_RUN, SKIP_NONE },
	    " ran=1 ended=max-run signal=15");
	ends_as(&(struct record){ 7, 1, 3, -1, ENDED_LOST, SKIP_NONE },
	    " ran=1 ended=lost status=3");
	ends_as(&(struct record){ 7, -1, 127, -1, ENDED_NOT_RUN, SKIP_NONE },
	    " ended=not-run status=127");
	record_skip(text, SKIP_BUSY);
	SAME_TEXT(text, " skipped=busy");
	record_skip(text, SKIP_WAITED);
	SAME_TEXT(text, " skipped=waited");
	record_skip(text, SKIP_MODE);
	SAME_TEXT(text, " skipped=mode");
	record_skip(text, SKIP_SUPERSEDED);
	SAME_TEXT(text, " skipped=superseded");
	record_skip(text, SKIP_QUEUE_FULL);
	SAME_TEXT(text, " skipped=queue-full");
	record_skip(text, SKIP_NONE);
	SAME_TEXT(text, "");
}

/* Writes and reads an end with that status or signal; the other is -1. */
static void
there_and_back(enum ending ending, int64_t ms, int64_t status, int64_t signal)
{
	struct record r = { ms, ms, status, signal, ending, SKIP_NONE };
	char start[RECORD_TEXT], end[RECORD_TEXT], text[2 * RECORD_TEXT];

	record_waited(start, ms);
	record_end(end, &r);
	snprintf(text, sizeof(text), "%s%s", start, end);
	same(text, &r);
}

static void
both_ways(void)
{
	char start[RECORD_TEXT], skip[RECORD_TEXT], text[2 * RECORD_TEXT];

	for (int e = ENDED_EXITED; e <= ENDED_NOT_RUN; e++)
		for (int64_t n = 0; n <= NUMBER_MAX; n = 10 * n + 9) {
			there_and_back((enum ending)e, n, n % 256, -1);
			there_and_back((enum ending)e, n, -1, n % 65);
		}
	for (int s = SKIP_BUSY; s <= SKIP_QUEUE_FULL; s++) {
		struct record r = { 1, -1, -1, -1, ENDED_UNKNOWN,
			(enum skip_reason)s };

		record_waited(start, 1);
		record_skip(skip, r.skip);
		snprintf(text, sizeof(text), "%s%s", start, skip);
		same(text, &r);
	}
	same(" waited=3",
	    &(struct record){ 3, -1, -1, -1, ENDED_UNKNOWN, SKIP_NONE });
}

static void
successes(void)
{
	for (int e = ENDED_EXITED; e <= ENDED_NOT_RUN; e++)
		for (int64_t status = -1; status <= 1; status++) {
			struct record r = { 0, 34, status,
				status == -1 ? 9 : -1, (enum ending)e,
				SKIP_NONE };

			CHECK(record_is_success(&r) ==
			    (e == ENDED_EXITED && status == 0));
		}
}

static void
later_versions(void)
{
	static const struct {
		const char *text;
		struct record record;
	} later[] = {
		{ " lane=7 waited=1 lane=8 ran=2 of=3 ended=exited why=x "
		  "status=0 rest=5",
		    { 1, 2, 0, -1, ENDED_EXITED, SKIP_NONE } },
		{ " status=0 ended=exited ran=2 waited=1",
		    { 1, 2, 0, -1, ENDED_EXITED, SKIP_NONE } },
		{ " ran=2 ended=paused status=0",
		    { -1, 2, 0, -1, ENDED_OTHER, SKIP_NONE } },
		{ " ended=exite", { -1, -1, -1, -1, ENDED_OTHER, SKIP_NONE } },
		{ " ended=exitedx",
		    { -1, -1, -1, -1, ENDED_OTHER, SKIP_NONE } },
		{ " ended=out-of-turn signal=9",
		    { -1, -1, -1, 9, ENDED_OTHER, SKIP_NONE } },
		{ " waited=1 skipped=paused lane=7",
		    { 1, -1, -1, -1, ENDED_UNKNOWN, SKIP_NONE } },
		{ " waited=1 skipped=busy lane=7",
		    { 1, -1, -1, -1, ENDED_UNKNOWN, SKIP_BUSY } },
		{ " xwaited=1 aran=2 unended=exited",
		    { -1, -1, -1, -1, ENDED_UNKNOWN, SKIP_NONE } },
	};

	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		same(later[i].text, &later[i].record);
	/* Inspection's own words are no words of the record. */
	for (int e = ENDED_DIED; e <= ENDED_SKIPPED; e++) {
		char text[64];

		snprintf(text, sizeof(text), " ended=%s",
		    record_ending_word((enum ending)e));
		SAME_INT(read_text(text).ending, ENDED_OTHER);
	}
	CHECK(record_ending_word(ENDED_OTHER) == NULL);
	CHECK(record_ending_word(ENDED_UNKNOWN) == NULL);
	CHECK(record_skip_word(SKIP_NONE) == NULL);
}

static void
twice(void)
{
	same(" waited=1 waited=2 ended=killed ended=exited signal=9 signal=1",
	    &(struct record){ 1, -1, -1, 9, ENDED_KILLED, SKIP_NONE });
	same(" ended= ended=exited",
	    &(struct record){ -1, -1, -1, -1, ENDED_UNKNOWN, SKIP_NONE });
}

/* An entry may be cut anywhere. */
static void
cut(void)
{
	static const char text[] = " waited=7 ran=34 ended=max-run status=3";
	const size_t word = (size_t)(strstr(text, "max-run") - text);

	for (size_t len = 0; len < sizeof(text); len++) {
		struct record r = read_behind("", text, len);

		SAME_INT(r.waited_ms, len > 8 ? 7 : -1);
		SAME_INT(r.ran_ms, len > 15 ? 34 : len > 14 ? 3 : -1);
		SAME_INT(r.ending,
		    len >= word + 7 ? ENDED_MAX_RUN :
			len > word  ? ENDED_OTHER :
				      ENDED_UNKNOWN);
		SAME_INT(r.status, len + 1 == sizeof(text) ? 3 : -1);
		SAME_INT(r.signal, -1);
	}
}

static void
hostile(void)
{
	static const char *const numbers[] = { "", "x", "-1", "1x", "1e3", "+1",
		"0x1", "9000000000000001", "99999999999999999999999" };
	char text[128];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		snprintf(text, sizeof(text),
		    " waited=%s ran=%s ended=exited status=%s signal=%s",
		    numbers[i], numbers[i], numbers[i], numbers[i]);
		same(text,
		    &(struct record){
			-1, -1, -1, -1, ENDED_EXITED, SKIP_NONE });
	}
	/* A byte that no word has makes it none; a blank ends it. */
	for (int c = 0; c < 256; c++) {
		bool fits = (c >= 'a' && c <= 'z') || c == '-';
		char word[] = " ended=exited? skipped=busy?";

		word[13] = word[27] = (char)c;
		record_read(&(struct record){ 0 }, word, sizeof(word) - 1);
		snprintf(text, sizeof(text), "%s", word);
		SAME_INT(read_behind("", word, 14).ending,
		    fits         ? ENDED_OTHER :
			c == ' ' ? ENDED_EXITED :
				   ENDED_UNKNOWN);
	}
}

static int
slot_in(const char *text)
{
	char *copy = tap_bytes(text, strlen(text));
	int slot = record_slot(copy, strlen(text));

	free(copy);
	return slot;
}

static void
slots(void)
{
	SAME_INT(slot_in(" waited=1 slot=1"), 1);
	SAME_INT(slot_in(" slots=64 waited=1 slot=64 new=1"), 64);
	SAME_INT(slot_in(" slots=3 waited=1"), 0);
	SAME_INT(slot_in(" waited=1 slot=2 slot=3"), 2);
	SAME_INT(slot_in(" message=x%20slot=3"), 0);
	SAME_INT(slot_in(" slot=0"), 0);
	SAME_INT(slot_in(" slot=65"), 0);
	SAME_INT(slot_in(" slot=-1"), 0);
	SAME_INT(slot_in(" slot=1x"), 0);
	SAME_INT(slot_in(" slot="), 0);
	SAME_INT(slot_in("slot=1"), 0);
	SAME_INT(slot_in(""), 0);
}

static const struct tap_test tests[] = {
	{ "a record of a lock with slots has the slot, from 1 to 64", slots },
	{ "each part of a record has the same bytes as ever", written },
	{ "a record that was written is read", both_ways },
	{ "status 0 is a success if nothing stopped the run", successes },
	{ "unknown fields are ignored, an unknown ending is an end",
	    later_versions },
	{ "of two fields with one name the first counts", twice },
	{ "a record that is cut loses what is cut", cut },
	{ "no number and no word comes from other bytes", hostile },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
