/*
 * The replies of hostile servers.  Each follows from bytes of the fuzzer's
 * input: a correct reply, the right form with wrong words and numbers, an
 * error, or anything.
 */
#ifndef REPLIES_H
#define REPLIES_H

#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "protocol/owner.h"
#include "scripts.h"

#define SECRET "s3cret" /* the password of the URLs */

enum kind {
	ACQUIRE,
	RENEW,
	RELEASE,
	STATUS,
	HISTORY,
	BREAK,
	INFO,
	BLPOP,
	WAIT,
	SCAN,
	SENTINEL,
	CLUSTER,
	TIME,
	AUTH,
	OTHER
};

struct request {
	enum kind kind;
	int slot;
	int64_t received_ms;
};

struct fake {
	int number;
	char id[OWNER_ID];   /* that of the last acquire */
	int64_t answered_ms; /* the latest answered acquire or renewal came */
};

static struct {
	const uint8_t *next;
	size_t left;
} input;

/* The next byte of input, 0 when it is used up. */
static uint8_t
take(void)
{
	if (input.left == 0)
		return 0;
	input.left--;
	return *input.next++;
}

/* A number that some check may have forgotten. */
static long long
number(void)
{
	static const long long numbers[] = { 0, 1, 2, 3, -1, -2, 7, 10, 700, 64,
		65, 60000, 86400000, INT32_MAX, INT32_MAX + 1LL, INT32_MIN,
		INT32_MIN - 1LL, 1LL << 53, 8999999999999999LL,
		9000000000000000LL, INT64_MAX, INT64_MAX - 1, INT64_MIN,
		INT64_MIN + 1 };
	const uint8_t n = take();

	if (n < sizeof(numbers) / sizeof(numbers[0]))
		return numbers[n];
	if (n < 64)
		return clock_wall_us() + (n - 40) * 3600000000LL;
	return n - 128;
}

/* A word of a reply, of *len bytes: a value, a key, or anything. */
static const char *
word(const struct fake *s, size_t *len)
{
	static const char *const words[] = { "another", "~shared", "", "0",
		"redlock-run/2 token=01234567-89ab-4cde-8f01-23456789abcd "
		"try=1 since=1763635200123 pid=42 host=h user=u command=c",
		"cooldown redlock-run/2 token=11234567-89ab-4cde-8f01-23456789abcd "
		"try=2 since=1763635200000 pid=1 host=a%1b[2Jb user=%20 "
		"command=%e2%80%ae",
		"redlock:a", "{redlock:a}:~3", "{redlock:a}:~runs",
		"redlock:\x1b]0;x\a", "redlock:~x", "start", "end", "lost",
		"1763635200500-0", "10.0.0.3", "name.example", "6379", "17",
		"redlock-run/2 token=x ended=exited ran=7 status=3 waited=1",
		"redlock-run/2 token=y since=1763635200400 pid=1 host=h user=u "
		"command=c waited=1 skipped=busy",
		"redlock-run/2 token=z try=1 since=1763635200300 pid=1 host=h "
		"user=u command=c waited=1 skipped=queue-full",
		"broken",
		"redlock-run/2 token=y try=1 since=1763635200300 pid=1 host=h "
		"user=u command=c by=%1b]0;x%07 message=%9b2J" };
	static char text[4096];
	const uint8_t n = take();

	if (n < sizeof(words) / sizeof(words[0])) {
		*len = strlen(words[n]);
		return words[n];
	}
	if (n < 96) {
		*len = (size_t)snprintf(text, sizeof(text),
		    "%s%ssince=%lld pid=1 host=h user=u command=c%s",
		    n < 40 ? "cooldown " : "", s->id, number(),
		    n < 60 ? " ended=killed signal=9" : "");
		return text;
	}
	*len = n < 104 ? sizeof(text) : n & 31u;
	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < *len && i < 31; i++)
		text[i] = (char)take();
	return text;
}

/* The bytes that a server sends at a time. */
static struct {
	char text[65536];
	size_t len;
} out;

__attribute__((format(printf, 1, 2))) static void
say_reply(const char *fmt, ...)
{
	size_t room = sizeof(out.text) - out.len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(out.text + out.len, room, fmt, ap);
	va_end(ap);
	out.len += (size_t)n < room ? (size_t)n : room;
}

static void
say_bulk(const char *text, size_t len)
{
	say_reply("$%zu\r\n", len);
	if (out.len + len + 2 > sizeof(out.text))
		return;
	memcpy(out.text + out.len, text, len);
	out.len += len;
	say_reply("\r\n");
}

static void
say_word(const struct fake *s)
{
	size_t len;
	const char *text = word(s, &len);

	say_bulk(text, len);
}

/* Any value, or one in which others are. */
static void
say_anything(const struct fake *s, int depth)
{
	static const char *const resp3[] = { "_", "#t", ",1.5", "(12345678901",
		"=7\r\ntxt:abc", "%1\r\n:1\r\n:2", "~1\r\n:1", ">1\r\n:1" };
	int n;

	switch (take() % 8) {
	case 0:
	case 1:
		say_reply(":%lld\r\n", number());
		break;
	case 2:
	case 3:
		say_word(s);
		break;
	case 4:
		if (HIREDIS_MAJOR >= 1 && take() % 4 == 0)
			say_reply("%s\r\n", resp3[take() % 8]);
		else
			say_reply(take() & 1 ? "$-1\r\n" : "*-1\r\n");
		break;
	case 5:
		say_reply("+%s\r\n", take() & 1 ? "OK" : "QUEUED");
		break;
	default:
		n = depth > 6 ? 0 : take() % 12;
		say_reply("*%d\r\n", n);
		while (n-- > 0)
			say_anything(s, depth + 1);
	}
}

/* A push: of our key, of all, of another, of several, or of anything. */
static void
say_push(const struct fake *s)
{
	static const char *const keys[] = { "redlock:a", "{redlock:a}:~2",
		"redlock:b", "other" };
	const uint8_t n = take();

	if (n < 4)
		say_reply(">2\r\n$10\r\ninvalidate\r\n*1\r\n$%zu\r\n%s\r\n",
		    strlen(keys[n]), keys[n]);
	else if (n < 6)
		say_reply(">2\r\n$10\r\ninvalidate\r\n_\r\n");
	else if (n < 128) {
		say_reply(">2\r\n$10\r\ninvalidate\r\n");
		say_anything(s, 4);
	} else {
		say_reply(">%d\r\n", n & 3);
		for (int i = 0; i < (n & 3); i++)
			say_anything(s, 4);
	}
}

/* A server without AUTH echoes its arguments. */
static void
say_error(const struct request *r)
{
	static const char *const errors[] = { "LOADING it loads",
		"NOAUTH Authentication required.",
		"WRONGPASS invalid username-password pair", "NOPERM no",
		"READONLY You can't write", "UNBLOCKED force unblock",
		"OOM command not allowed", "NOSCRIPT No matching script.",
		"NOPERM no permissions to run the 'evalsha' command",
		"BUSY it is", "MISCONF disk", "MOVED 866 10.0.0.2:7000",
		"MOVED 866 :6379", "MOVED 1", "MOVED 866 name.example:1",
		"ASK 866 10.0.0.3:7000", "ASK 866 10.0.0.3:70000", "TRYAGAIN",
		"CLUSTERDOWN", "ERR max number of clients reached",
		"ERR unknown command 'EVAL'", "ERR \x1b[2J", "" };
	static const char *const echoes[] = { "NOAUTH '" SECRET "'",
		"ERR unknown command `AUTH`, with args beginning with: `user`, "
		"`" SECRET "`, ",
		"MOVED 866 " SECRET ":1", ("LOADING " SECRET) };
	const uint8_t n = take();

	if (r->kind == AUTH && n < 4)
		say_reply("-%s\r\n", echoes[n]);
	else
		say_reply("-%s\r\n",
		    errors[n % (sizeof(errors) / sizeof(errors[0]))]);
}

/* INFO, as a server that is old, or with numbers from anywhere. */
static void
say_info(const struct fake *s, bool good)
{
	char text[256];
	long long uptime_s = good ? 999999 : number();
	int len = snprintf(text, sizeof(text),
	    "role:%s\r\nredis_version:7.0.15\r\nuptime_in_seconds:%lld\r\n"
	    "run_id:run-of-%d\r\nmaxmemory:%lld\r\nmaster_port:%lld\r\n",
	    good || take() & 1 ? "master" : "slave", uptime_s,
	    good ? s->number : take() % 2, good ? 0 : number(),
	    good ? 0 : number());

	say_bulk(text, (size_t)len);
}

/* Up to seven times n words, the last of each n a number if with_number. */
static void
say_list(const struct fake *s, int n, bool with_number)
{
	int groups = take() % 8;

	say_reply("*%d\r\n", n * groups);
	for (int i = 1; i <= n * groups; i++)
		if (with_number && i % n == 0)
			say_reply(":%lld\r\n", number());
		else
			say_word(s);
}

/*
 * A reply in the words of yes and no below: *N is an array of N, 'text a
 * string, N nil, f the time as a fence, s the slot that is asked for, and from
 * the input n a number, w a word, a anything; W, P and T are lists of words,
 * in pairs with a number, or by threes; i and j are INFO.
 */
static void
say_form(const struct fake *s, const struct request *r, const char *form)
{
	size_t len;

	for (; *form != '\0'; form += len + strspn(form + len, " ")) {
		len = strcspn(form, " ");
		if (*form == '\'')
			say_bulk(form + 1, len - 1);
		else if (*form == '*' || *form == '+')
			say_reply("%.*s\r\n", (int)len, form);
		else if (*form == 'N')
			say_reply("$-1\r\n");
		else if (*form == 'f')
			say_reply(":%lld\r\n", (long long)clock_wall_us());
		else if (*form == 's')
			say_reply(":%d\r\n", r->slot);
		else if (*form == 'n')
			say_reply(":%lld\r\n", number());
		else if (*form == 'w')
			say_word(s);
		else if (*form == 'a')
			say_anything(s, 4);
		else if (*form == 'W' || *form == 'P' || *form == 'T')
			say_list(s,
			    *form == 'W'     ? 1 :
				*form == 'P' ? 2 :
					       3,
			    *form == 'P');
		else if (*form == 'i' || *form == 'j')
			say_info(s, *form == 'i');
		else
			say_reply(":%.*s\r\n", (int)len, form);
	}
}

/* A correct reply. */
static const char *const yes[] = { [ACQUIRE] = "*5 1 f 0 s f",
	[RENEW] = "*2 1 f",
	[RELEASE] = "*1 1",
	[STATUS] = "*15 0 5 0 1 f N -2 0 1 -2 0 0 0 *0 *2 w 700",
	[HISTORY] =
	    "*4 f *3 '1763635200500-0 'start w *0 *3 '1763635200501-0 w w",
	[BREAK] = "*1 1",
	[INFO] = "i",
	[BLPOP] = "*2 'key '1",
	[WAIT] = "1",
	[SCAN] = "*2 '0 *1 'redlock:a",
	[SENTINEL] = "*2 '10.0.0.2 '6379",
	[CLUSTER] = "*1 *3 0 16383 *2 '10.0.0.1 7000",
	[TIME] = "*2 '1763635200 '7",
	[AUTH] = "+OK",
	[OTHER] = "+OK" };

/* The right form, with words and numbers from anywhere. */
static const char *const no[][2] = {
	[ACQUIRE] = { "*15 0 0 n n n w n n n n n n n n n", "*5 1 n n n n" },
	[RENEW] = { "*10 0 n n n n w n n n n", "*2 1 n" },
	[RELEASE] = { "*10 0 0 n n n w n n n n", "*10 0 0 n n n N n n n n" },
	[STATUS] = { "*15 0 n n n n w n n n n n n n a P",
	    "*15 0 n 0 1 n N n 0 1 n 0 n 0 W P" },
	[HISTORY] = { "*4 n T W T", "*4 f T a a" },
	[BREAK] = { "*10 0 0 n n n w n n n n", "*1 n" },
	[INFO] = { "j", "j" },
	[BLPOP] = { "N", "a" },
	[WAIT] = { "n", "a" },
	[SCAN] = { "*2 w W", "*2 '0 W" },
	[SENTINEL] = { "*2 w w", "N" },
	[CLUSTER] = { "*1 *3 0 16383 *2 w n", "*2 a a" },
	[TIME] = { "*2 w w", "a" },
	[AUTH] = { "a", "+QUEUED" },
	[OTHER] = { "a", "a" },
};

static bool
is_script(const char *text, const struct script *script)
{
	return strcmp(text, script->text) == 0 ||
	    strcmp(text, script->sha1) == 0;
}

/* What a command asks for; of the lock's script its last word says it. */
static enum kind
kind_of(const redisReply *r)
{
	static const char *const names[] = { [ACQUIRE] = "acquire",
		[RENEW] = "renew",
		[RELEASE] = "release",
		[INFO] = "INFO",
		[BLPOP] = "BLPOP",
		[WAIT] = "WAIT",
		[SCAN] = "SCAN",
		[SENTINEL] = "SENTINEL",
		[CLUSTER] = "CLUSTER",
		[TIME] = "TIME",
		[AUTH] = "AUTH",
		[OTHER] = NULL };
	bool eval = strncmp(r->element[0]->str, "EVAL", 4) == 0;
	const redisReply *what = r->element[eval ? r->elements - 1 : 0];
	const char *script = eval ? r->element[1]->str : "";

	if (is_script(script, &script_status) ||
	    is_script(script, &script_metrics))
		return STATUS;
	if (is_script(script, &script_history))
		return HISTORY;
	if (is_script(script, &script_break))
		return BREAK;
	for (int kind = 0; kind < OTHER; kind++)
		if (names[kind] != NULL && strcmp(what->str, names[kind]) == 0)
			return (enum kind)kind;
	return OTHER;
}

#endif
