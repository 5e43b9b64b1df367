/*
 * Writes and reads owner values.  A value may come from another program: any
 * bytes, of any length.
 */
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "base/number.h"
#include "base/escape.h"
#include "protocol/lease.h"
#include "protocol/owner.h"

static const char program[] = "redlock-run/";
static const char format[] = OWNER_FORMAT " ";
static const char cooldown[] = "cooldown ";

/*
 * Reads /etc/passwd first, where most users are. getpwuid() starts the name
 * services, which takes a tenth of a whole run's time.
 */
static void
user_name(char *buf, size_t size)
{
	const struct passwd *pw = NULL;
	FILE *passwd = fopen("/etc/passwd", "re");

	while (passwd != NULL && (pw = fgetpwent(passwd)) != NULL)
		if (pw->pw_uid == geteuid())
			break;
	if (pw == NULL)
		pw = getpwuid(geteuid());
	if (pw != NULL)
		snprintf(buf, size, "%s", pw->pw_name);
	else
		snprintf(buf, size, "%u", (unsigned int)geteuid());
	if (passwd != NULL)
		fclose(passwd);
}

static void
host_name(char buf[OWNER_FIELD])
{
	memset(buf, 0, OWNER_FIELD);
	if (gethostname(buf, OWNER_FIELD - 1) == -1 || buf[0] == '\0')
		snprintf(buf, OWNER_FIELD, "localhost");
}

bool
owner_on_this_host(const struct owner *o)
{
	char host[OWNER_FIELD];

	host_name(host);
	return strcmp(o->host, host) == 0;
}

void
owner_init(struct owner *o, const char *argv0, int slots)
{
	const char *slash = strrchr(argv0, '/');
	uuid_t uuid;

	memset(o, 0, sizeof(*o));
	uuid_generate_random(uuid);
	uuid_unparse_lower(uuid, o->token);
	o->pid = getpid();
	host_name(o->host);
	user_name(o->user, sizeof(o->user));
	if (slash != NULL && slash[1] != '\0')
		argv0 = slash + 1;
	snprintf(o->command, sizeof(o->command), "%s", argv0);
	o->slots = slots > 1 ? slots : 0;
	snprintf(o->version, sizeof(o->version), "%s", VERSION);
}

bool
owner_is_token(const char *text)
{
	char same[OWNER_TOKEN];
	uuid_t uuid;

	if (uuid_parse(text, uuid) == -1)
		return false;
	uuid_unparse_lower(uuid, same);
	return strcmp(text, same) == 0;
}

char *
owner_id(const struct owner *o, unsigned int attempt, char buf[OWNER_ID])
{
	size_t used = (size_t)snprintf(buf, OWNER_ID, "%stoken=%s try=", format,
	    o->token);

	if (attempt != 0)
		snprintf(buf + used, OWNER_ID - used, "%u ", attempt);
	return buf;
}

/* Appends " name=text" or "name=text", percent-encoded. */
static size_t
put_field(char *buf, size_t size, size_t used, const char *name,
    const char *text)
{
	used += (size_t)snprintf(buf + used, size - used,
	    "%s%s=", used == 0 ? "" : " ", name);
	for (; *text != '\0' && used + 4 < size; text++) {
		unsigned char c = (unsigned char)*text;

		if (c <= ' ' || c == '%' || c == 0x7f)
			used += (size_t)snprintf(buf + used, size - used,
			    "%%%02X", c);
		else
			buf[used++] = (char)c;
	}
	buf[used] = '\0';
	return used;
}

char *
owner_details(const struct owner *o, char buf[OWNER_DETAILS])
{
	size_t n = (size_t)snprintf(buf, OWNER_DETAILS, "pid=%d", (int)o->pid);

	/* All fields fit, with three bytes for each of theirs. */
	_Static_assert(3 * (3 * OWNER_FIELD + OWNER_VERSION + OWNER_MESSAGE) +
		    192 <
		OWNER_DETAILS,
	    "room for the fields");
	n = put_field(buf, OWNER_DETAILS, n, "host", o->host);
	n = put_field(buf, OWNER_DETAILS, n, "user", o->user);
	n = put_field(buf, OWNER_DETAILS, n, "command", o->command);
	if (o->ttl_ms > 0)
		n += (size_t)snprintf(buf + n, OWNER_DETAILS - n,
		    " ttl=%" PRId64, o->ttl_ms);
	if (o->lease_ms > 0)
		n += (size_t)snprintf(buf + n, OWNER_DETAILS - n,
		    " lease=%" PRId64, o->lease_ms);
	if (o->hold_ms > 0)
		n += (size_t)snprintf(buf + n, OWNER_DETAILS - n,
		    " hold=%" PRId64, o->hold_ms);
	if (o->start_ticks > 0)
		n += (size_t)snprintf(buf + n, OWNER_DETAILS - n,
		    " start=%" PRId64, o->start_ticks);
	if (o->slots > 0)
		n += (size_t)snprintf(buf + n, OWNER_DETAILS - n, " slots=%d",
		    o->slots);
	if (o->version[0] != '\0')
		n = put_field(buf, OWNER_DETAILS, n, "version", o->version);
	if (o->message[0] != '\0')
		put_field(buf, OWNER_DETAILS, n, "message", o->message);
	return buf;
}

size_t
owner_head(const char *details)
{
	const char *command = strstr(details, " command=");

	return command == NULL ?
	    0 :
	    (size_t)(strchrnul(command + 1, ' ') - details);
}

/* The text of a field. */
struct text {
	const char *at, *end;
};

/* Returns whether the field at p has that name, and stores its text. */
static bool
field_at(const char *p, const char *end, const char *name, struct text *t)
{
	size_t len = strlen(name);

	if ((size_t)(end - p) <= len || memcmp(p, name, len) != 0 ||
	    p[len] != '=')
		return false;
	t->at = p + len + 1;
	t->end = memchr(t->at, ' ', (size_t)(end - t->at));
	if (t->end == NULL)
		t->end = end;
	return true;
}

/* The fields behind the head, and `by`, the user who broke a lock. */
enum field {
	PID,
	HOST,
	USER,
	COMMAND,
	TTL,
	LEASE,
	HOLD,
	START,
	SLOTS,
	BY_VERSION,
	MESSAGE,
	BROKEN_BY,
	FIELDS
};

/* Stores the texts of the first field of each name; those of the others stay. */
static void
find_fields(const char *p, const char *end, struct text found[FIELDS])
{
	static const char names[FIELDS][sizeof("command")] = { [PID] = "pid",
		[HOST] = "host",
		[USER] = "user",
		[COMMAND] = "command",
		[TTL] = "ttl",
		[LEASE] = "lease",
		[HOLD] = "hold",
		[START] = "start",
		[SLOTS] = "slots",
		[BY_VERSION] = "version",
		[MESSAGE] = "message",
		[BROKEN_BY] = "by" };
	const char *blank, *equals;
	size_t len;

	for (; p < end; p = blank + 1) {
		blank = memchr(p, ' ', (size_t)(end - p));
		if (blank == NULL)
			blank = end;
		equals = memchr(p, '=', (size_t)(blank - p));
		len = equals != NULL ? (size_t)(equals - p) : sizeof(names[0]);
		for (int i = 0; len < sizeof(names[0]) && i < FIELDS; i++)
			if (found[i].at == NULL && names[i][len] == '\0' &&
			    memcmp(names[i], p, len) == 0)
				found[i] = (struct text){ equals + 1, blank };
	}
}

/*
 * Decodes a text into buf, as much as fits.  Returns its whole length, or -1
 * if it is malformed or contains a NUL.
 */
static ssize_t
decode(struct text t, char *buf, size_t size)
{
	int high, low;
	ssize_t n = 0;

	for (; t.at < t.end; t.at++, n++) {
		char c = *t.at;

		if (c == '%') {
			if (t.end - t.at < 3 ||
			    (high = number_hex(t.at[1])) == -1 ||
			    (low = number_hex(t.at[2])) == -1)
				return -1;
			c = (char)(high * 16 + low);
			t.at += 2;
		}
		if (c == '\0')
			return -1;
		if ((size_t)n + 1 < size)
			buf[n] = c;
	}
	buf[(size_t)n < size ? (size_t)n : size - 1] = '\0';
	return n;
}

static bool
to_number(struct text t, int64_t max, int64_t *number)
{
	return number_parse(t.at, (size_t)(t.end - t.at), max, number) == 0;
}

/* Reads a field; if it is absent or cannot be read, buf becomes `none`. */
static void
read_text(struct text t, const char *none, char *buf, size_t size)
{
	if (t.at == NULL || decode(t, buf, size) == -1)
		snprintf(buf, size, "%s", none);
}

/* Returns the number in a field; 0 if it is absent or unreadable. */
static int64_t
read_number(struct text t, int64_t max)
{
	int64_t number;

	return t.at != NULL && to_number(t, max, &number) ? number : 0;
}

/* Skips the text at *p.  Returns false if something else is there. */
static bool
skip(const char **p, const char *end, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(end - *p) <= len || memcmp(*p, text, len) != 0)
		return false;
	*p += len;
	return true;
}

/* Skips a word of characters from first to last, and the blank behind it. */
static bool
skip_word(const char **p, const char *end, char first, char last)
{
	const char *q = *p;

	while (q < end && *q >= first && *q <= last)
		q++;
	if (q == *p || q == end || *q != ' ')
		return false;
	*p = q + 1;
	return true;
}

/*
 * Reads the head, which is the same in all versions: a state, the program with
 * any number, token, try and since.  Returns what follows it, or NULL.
 */
static const char *
read_head(struct owner *o, const char *p, const char *end)
{
	struct text token, try, since;
	ssize_t len;
	int64_t n;

	o->in_cooldown = skip(&p, end, cooldown);
	if (!o->in_cooldown)
		skip_word(&p, end, 'a', 'z');
	if (!skip(&p, end, program) || !skip_word(&p, end, '0', '9') ||
	    !field_at(p, end, "token", &token) || token.end == end ||
	    !field_at(token.end + 1, end, "try", &try) || try.end == end ||
	    !field_at(try.end + 1, end, "since", &since))
		return NULL;
	len = decode(token, o->token, sizeof(o->token));
	if (len <= 0 || (size_t)len >= sizeof(o->token) ||
	    !to_number(try, UINT_MAX, &n) ||
	    !to_number(since, INT64_MAX, &o->since_ms))
		return NULL;
	return since.end;
}

/*
 * All versions keep the head.  The fields behind it are found by their names,
 * because other versions write them in another order, among unknown ones.
 */
int
owner_parse(struct owner *o, const char *value, size_t len)
{
	struct text found[FIELDS] = { 0 };
	const char *end = value + len, *p;

	memset(o, 0, sizeof(*o));
	p = read_head(o, value, end);
	if (p == NULL) {
		memset(o, 0, sizeof(*o));
		return -1;
	}
	find_fields(p, end, found);
	o->pid = (pid_t)read_number(found[PID], INT_MAX);
	read_text(found[HOST], "?", o->host, sizeof(o->host));
	read_text(found[USER], "?", o->user, sizeof(o->user));
	read_text(found[COMMAND], "?", o->command, sizeof(o->command));
	o->ttl_ms = read_number(found[TTL], INT64_MAX);
	o->lease_ms = read_number(found[LEASE], INT64_MAX);
	o->hold_ms = read_number(found[HOLD], INT64_MAX);
	o->start_ticks = read_number(found[START], INT64_MAX);
	o->slots = (int)read_number(found[SLOTS], INT_MAX);
	read_text(found[BY_VERSION], "", o->version, sizeof(o->version));
	read_text(found[MESSAGE], "", o->message, sizeof(o->message));
	return 0;
}

bool
owner_is_unconfirmed(const char *value, size_t len)
{
	static const char mark[] = " unconfirmed"; /* common.lua's MARK */
	const size_t n = sizeof(mark) - 1;

	return len >= n && memcmp(value + len - n, mark, n) == 0;
}

char *
owner_by(const struct owner *o, char buf[OWNER_DETAILS])
{
	char by[OWNER_BY];

	snprintf(by, sizeof(by), "%s@%s", o->user, o->host);
	put_field(buf, OWNER_DETAILS, 0, "by", by);
	return buf;
}

void
owner_read_by(char buf[OWNER_BY], const char *text, size_t len)
{
	struct text found[FIELDS] = { 0 };

	if (text != NULL)
		find_fields(text, text + len, found);
	read_text(found[BROKEN_BY], "", buf, OWNER_BY);
}

int64_t
owner_age_ms(const struct owner *o, int64_t now_us)
{
	int64_t now_ms = now_us / 1000;

	return now_ms > o->since_ms ? now_ms - o->since_ms : 0;
}

int64_t
owner_lease_ms(const struct owner *o, int64_t age_ms)
{
	return o->lease_ms == 0 ?
	    o->ttl_ms :
	    lease_length_ms(o->lease_ms, o->ttl_ms, age_ms);
}

int64_t
owner_longest_ms(const struct owner *o)
{
	return o->hold_ms > o->ttl_ms ? o->hold_ms : o->ttl_ms;
}

char *
owner_what(char buf[OWNER_WHAT], const struct owner *o)
{
	snprintf(buf, OWNER_WHAT, "%s%s%s", o->command,
	    o->message[0] != '\0' ? ": " : "", o->message);
	return buf;
}

char *
owner_pid(char buf[OWNER_PID], const struct owner *o)
{
	if (o->pid > 0)
		snprintf(buf, OWNER_PID, "%d", (int)o->pid);
	else
		snprintf(buf, OWNER_PID, "?");
	return buf;
}

char *
owner_who(char buf[OWNER_WHO], const struct owner *o, const char *value,
    size_t len)
{
	char text[128], what[OWNER_WHAT], pid[OWNER_PID];

	if (o->token[0] != '\0')
		snprintf(buf, OWNER_WHO, "%s@%s pid %s (%s)", o->user, o->host,
		    owner_pid(pid, o), owner_what(what, o));
	else if (len > 2 && memcmp(value, "? ", 2) == 0)
		snprintf(buf, OWNER_WHO,
		    "another client (key is a %s, not a lock)",
		    escape_text(text, sizeof(text), value + 2, len - 2));
	else
		snprintf(buf, OWNER_WHO, "another client (%s)",
		    escape_text(text, sizeof(text), value, len));
	return buf;
}
