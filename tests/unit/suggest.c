/* Suggestions: a typo finds its word, other words find none. */
#include "../../src/config/suggest.c"
#include "tap.h"

static const char *const words[] = { "ttl", "prefix", "kill-after",
	"node-timeout", "redis", "replicas", "log" };

#define NWORDS (sizeof(words) / sizeof(words[0]))

static const char *
nearest(const char *typed)
{
	const char *word = suggest_nearest(typed, strlen(typed), words, NWORDS);

	return word == NULL ? "" : word;
}

static void
slips(void)
{
	SAME_TEXT(nearest("ttll"), "ttl");
	SAME_TEXT(nearest("tl"), "ttl");
	SAME_TEXT(nearest("tlt"), "ttl");
	SAME_TEXT(nearest("perfix"), "prefix");
	SAME_TEXT(nearest("kill_after"), "kill-after");
	SAME_TEXT(nearest("nodetimeout"), "node-timeout");
	SAME_TEXT(nearest("rediss"), "redis");
	SAME_TEXT(nearest("replica"), "replicas");
	SAME_TEXT(nearest("redis"), "redis");
}

static void
strangers(void)
{
	SAME_TEXT(nearest(""), "");
	SAME_TEXT(nearest("x"), "");
	SAME_TEXT(nearest("zzzzzz"), "");
	SAME_TEXT(nearest("config"), "");
	SAME_TEXT(nearest("an-option-that-is-longer-than-any-other"), "");
	CHECK(suggest_nearest("ttl", 3, words, 0) == NULL);
}

static void
length(void)
{
	CHECK(suggest_nearest("prefix=x", 6, words, NWORDS) == words[1]);
}

static void
joined(void)
{
	char text[64], little[8];

	SAME_TEXT(suggest_join(text, sizeof(text), "--", words, 0), "");
	SAME_TEXT(suggest_join(text, sizeof(text), "--", words, 1), "--ttl");
	SAME_TEXT(suggest_join(text, sizeof(text), "--", words, 2),
	    "--ttl or --prefix");
	SAME_TEXT(suggest_join(text, sizeof(text), "", words, 3),
	    "ttl, prefix or kill-after");
	SAME_TEXT(suggest_join(little, sizeof(little), "--", words, 3),
	    "--ttl, ");
}

static const struct tap_test tests[] = {
	{ "a letter too many, too few, wrong or swapped finds the word",
	    slips },
	{ "a word that resembles none finds none", strangers },
	{ "only the first bytes of what was typed count", length },
	{ "words are joined by commas and the last by or", joined },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
