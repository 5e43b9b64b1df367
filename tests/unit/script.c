/*
 * The form of a script: its digest, and its text where the server lacks it.  Text
 * that is sent too often costs Redis its time, and text that is not sent when it is
 * needed costs the lock.
 */
#include "../../src/redis/script.c"
#include "tap.h"

static const struct script one = { "return 1",
	"e0e1f9fabfc9d4800c877a703b823ac0" };
static const struct script two = { "return 2",
	"7f923f79fe76194c868d7e1d0820de36" };

/* Sends the script, and returns the command. */
static const char *
command(struct script_form *f, const struct script *script)
{
	const char *words[2];

	script_words(f, script, words);
	script_sent(f, script);
	SAME_TEXT(words[1],
	    strcmp(words[0], "EVAL") == 0 ? script->text : script->sha1);
	return words[0];
}

static void
digest(void)
{
	struct script_form f = { 0 };

	script_begin(&f);
	SAME_TEXT(command(&f, &one), "EVALSHA");
	SAME_TEXT(command(&f, &two), "EVALSHA");
}

static void
forgotten(void)
{
	struct script_form f = { 0 };

	script_refused(&f, "NOSCRIPT No matching script.");
	SAME_TEXT(command(&f, &one), "EVAL");
	SAME_TEXT(command(&f, &one), "EVALSHA");
	script_refused(&f, "NOSCRIPT No matching script.");
	script_begin(&f);
	SAME_TEXT(command(&f, &one), "EVALSHA");
}

static void
denied(void)
{
	struct script_form f = { 0 };

	script_refused(&f,
	    "NOPERM this user has no permissions to run evalsha");
	SAME_TEXT(command(&f, &one), "EVAL");
	SAME_TEXT(command(&f, &one), "EVAL");
	script_begin(&f);
	SAME_TEXT(command(&f, &two), "EVAL");
}

static void
text_first(void)
{
	struct script_form f = { .text_first = true };

	SAME_TEXT(command(&f, &one), "EVAL");
	SAME_TEXT(command(&f, &one), "EVALSHA");
	SAME_TEXT(command(&f, &two), "EVAL");
	SAME_TEXT(command(&f, &two), "EVALSHA");
	script_begin(&f);
	SAME_TEXT(command(&f, &two), "EVAL");
}

static const struct tap_test tests[] = {
	{ "a script is sent by its digest", digest },
	{ "a script that the server has forgotten is sent as text once, on that "
	  "connection",
	    forgotten },
	{ "where EVALSHA is denied all scripts are text, on each connection",
	    denied },
	{ "with text_first a script is text once on each connection",
	    text_first },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
