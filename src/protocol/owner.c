/*
 * Writes and reads owner values.  A value may come from another program: any
 * bytes, of any length.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "base/number.h"
#include "base/escape.h"
#include "protocol/owner.h"

static const char version[] = "redlock-run/2 ";
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
	size_t used = (size_t)snprintf(
	    buf, OWNER_ID, "%stoken=%s try=", version, o->token);

	if (attempt != 0)
		snprintf(buf + used, OWNER_ID - used, "%u ", attempt);
	return buf;
}

/* Appends " name=text" or "name=text", percent-encoded. */
static size_t
put_field(
    char *buf, size_t size, size_t used, const char *name, const char *text)
{
	used += (size_t)snprintf(
	    buf + used, size - used, "%s%s=", used == 0 ? "" : " ", name);
	for (; *text != '\0' && used + 4 < size; text++) {
		unsigned char c = (unsigned char)*text;

		if (c <= ' ' || c == '%' || c == 0x7f)
			used += (size_t)snprintf(
			    buf + used, size - used, "%%%02X", c);
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
	_Static_assert(
	    3 * (3 * OWNER_FIELD + OWNER_MESSAGE) + 192 < OWNER_DETAILS,
	    "room for the fields");
	n = put_field(buf, OWNER_DETAILS, n, "host", o->host);
	n = put_field(buf, OWNER_DETAILS, n, "user", o->user);
	n = put_field(buf, OWNER_DETAILS, n, "command", o->command);
	if (o->ttl_ms > 0)
		n += (size_t)snprintf(
		    buf + n, OWNER_DETAILS - n, " ttl=%" PRId64, o->ttl_ms);
	if (o->hold_ms > 0)
		n += (size_t)snprintf(
		    buf + n, OWNER_DETAILS - n, " hold=%" PRId64, o->hold_ms);
	if (o->start_ticks > 0)
		n += (size_t)snprintf(buf + n, OWNER_DETAILS - n,
		    " start=%" PRId64, o->start_ticks);
	if (o->slots > 0)
		n += (size_t)snprintf(
		    buf + n, OWNER_DETAILS - n, " slots=%d", o->slots);
	if (o->message[0] != '\0')
		put_field(buf, OWNER_DETAILS, n, "message", o->message);
	return buf;
}

/*
 * Reads "name=text" and the blank or end behind it from *p, and decodes text
 * into buf.  Returns false if it is absent, too long or contains a NUL.
 */
static bool
take_field(
    const char **p, const char *end, const char *name, char *buf, size_t size)
{
	size_t name_len = strlen(name), n = 0;
	const char *s = *p;
	int high, low;

	if ((size_t)(end - s) <= name_len || memcmp(s, name, name_len) != 0 ||
	    s[name_len] != '=')
		return false;
	for (s += name_len + 1; s < end && *s != ' '; s++) {
		if (n + 1 >= size)
			return false;
		if (*s == '%') {
			if (end - s < 3 || (high = number_hex(s[1])) == -1 ||
			    (low = number_hex(s[2])) == -1)
				return false;
			buf[n] = (char)(high * 16 + low);
			s += 2;
		} else
			buf[n] = *s;
		if (buf[n++] == '\0')
			return false;
	}
	buf[n] = '\0';
	*p = s < end ? s + 1 : s;
	return true;
}

static bool
take_number(const char **p, const char *end, const char *name, int64_t max,
    int64_t *number)
{
	char text[24];

	return take_field(p, end, name, text, sizeof(text)) &&
	    number_parse(text, strlen(text), max, number) == 0;
}

/* Returns the first field of that name at or after p, or end. */
static const char *
find_field(const char *p, const char *end, const char *name)
{
	size_t len = strlen(name);
	const char *blank;

	for (; p < end; p = blank + 1) {
		if ((size_t)(end - p) > len && memcmp(p, name, len) == 0 &&
		    p[len] == '=')
			return p;
		blank = memchr(p, ' ', (size_t)(end - p));
		if (blank == NULL)
			break;
	}
	return end;
}

/* Returns the number in that field; 0 if it is absent or unreadable. */
static int64_t
read_number(const char *p, const char *end, const char *name, int64_t max)
{
	int64_t number;

	p = find_field(p, end, name);
	return take_number(&p, end, name, max, &number) ? number : 0;
}

/* Reads the optional fields, in any order, among others that we do not know. */
static void
take_options(struct owner *o, const char *p, const char *end)
{
	o->ttl_ms = read_number(p, end, "ttl", INT64_MAX);
	o->hold_ms = read_number(p, end, "hold", INT64_MAX);
	o->start_ticks = read_number(p, end, "start", INT64_MAX);
	o->slots = (int)read_number(p, end, "slots", INT_MAX);
	p = find_field(p, end, "message");
	if (!take_field(&p, end, "message", o->message, sizeof(o->message)))
		o->message[0] = '\0';
}

/* Skips text at *p. Returns false if something else is there. */
static bool
skip(const char **p, const char *end, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(end - *p) <= len || memcmp(*p, text, len) != 0)
		return false;
	*p += len;
	return true;
}

int
owner_parse(struct owner *o, const char *value, size_t len)
{
	const char *p = value, *end = value + len;
	int64_t attempt, pid;

	memset(o, 0, sizeof(*o));
	o->in_cooldown = skip(&p, end, cooldown);
	if (skip(&p, end, version) &&
	    take_field(&p, end, "token", o->token, sizeof(o->token)) &&
	    take_number(&p, end, "try", UINT_MAX, &attempt) &&
	    take_number(&p, end, "since", INT64_MAX, &o->since_ms) &&
	    take_number(&p, end, "pid", INT_MAX, &pid) &&
	    take_field(&p, end, "host", o->host, sizeof(o->host)) &&
	    take_field(&p, end, "user", o->user, sizeof(o->user)) &&
	    take_field(&p, end, "command", o->command, sizeof(o->command))) {
		o->pid = (pid_t)pid;
		take_options(o, p, end);
		return 0;
	}
	memset(o, 0, sizeof(*o));
	return -1;
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
	const char *p, *end;

	buf[0] = '\0';
	if (text == NULL)
		return;
	end = text + len;
	for (p = end; p > text && p[-1] != ' ';)
		p--;
	if (!take_field(&p, end, "by", buf, OWNER_BY))
		buf[0] = '\0';
}

int64_t
owner_age_ms(const struct owner *o, int64_t now_us)
{
	int64_t now_ms = now_us / 1000;

	return now_ms > o->since_ms ? now_ms - o->since_ms : 0;
}

char *
owner_what(char buf[OWNER_WHAT], const struct owner *o)
{
	snprintf(buf, OWNER_WHAT, "%s%s%s", o->command,
	    o->message[0] != '\0' ? ": " : "", o->message);
	return buf;
}

char *
owner_who(
    char buf[OWNER_WHO], const struct owner *o, const char *value, size_t len)
{
	char text[128], what[OWNER_WHAT];

	if (o->token[0] != '\0')
		snprintf(buf, OWNER_WHO, "%s@%s pid %d (%s)", o->user, o->host,
		    (int)o->pid, owner_what(what, o));
	else if (len > 2 && memcmp(value, "? ", 2) == 0)
		snprintf(buf, OWNER_WHO,
		    "another client (key is a %s, not a lock)",
		    escape_text(text, sizeof(text), value + 2, len - 2));
	else
		snprintf(buf, OWNER_WHO, "another client (%s)",
		    escape_text(text, sizeof(text), value, len));
	return buf;
}
