/*
 * The value of a lock: reading a value that we wrote gives the same owner, and
 * a foreign value is never taken for ours.
 */
#include <ctype.h>

#include "../../src/protocol/owner.c"
#include "tap.h"

#define TOKEN "01234567-89ab-4cde-8f01-23456789abcd"
#define VALUE (OWNER_ID + OWNER_DETAILS + 64)

static const char good[] = "redlock-run/2 token=" TOKEN " try=3 "
			   "since=1763635200123 pid=4242 host=web1 "
			   "user=deploy command=backup.sh";

/* Reads a copy of value without a byte to spare. */
static int
parse(struct owner *o, const char *value, size_t len)
{
	char *copy = tap_bytes(value, len);
	int result;

	memset(o, 0x55, sizeof(*o));
	result = owner_parse(o, copy, len);
	free(copy);
	return result;
}

/* The value as the acquire script puts it together. */
static size_t
compose(char value[VALUE], const struct owner *o, unsigned int attempt)
{
	char id[OWNER_ID], details[OWNER_DETAILS];

	return (size_t)snprintf(value, VALUE, "%ssince=%lld %s",
	    owner_id(o, attempt, id), (long long)o->since_ms,
	    owner_details(o, details));
}

static struct owner
sample(const char *host, const char *user, const char *command)
{
	struct owner o = {
		.token = TOKEN, .pid = 4242, .since_ms = 1763635200123
	};

	snprintf(o.host, sizeof(o.host), "%s", host);
	snprintf(o.user, sizeof(o.user), "%s", user);
	snprintf(o.command, sizeof(o.command), "%s", command);
	return o;
}

static void
same(const struct owner *got, const struct owner *want)
{
	SAME_TEXT(got->token, want->token);
	SAME_TEXT(got->host, want->host);
	SAME_TEXT(got->user, want->user);
	SAME_TEXT(got->command, want->command);
	SAME_INT(got->pid, want->pid);
	SAME_INT(got->since_ms, want->since_ms);
	CHECK(got->in_cooldown == want->in_cooldown);
	SAME_INT(got->ttl_ms, want->ttl_ms);
	SAME_INT(got->lease_ms, want->lease_ms);
	SAME_INT(got->hold_ms, want->hold_ms);
	SAME_INT(got->start_ticks, want->start_ticks);
	SAME_INT(got->slots, want->slots);
	SAME_TEXT(got->version, want->version);
	SAME_TEXT(got->message, want->message);
}

static void
comes_back(const struct owner *o)
{
	char value[VALUE];
	size_t len = compose(value, o, 1);
	struct owner got;

	CHECK(len < sizeof(value));
	if (parse(&got, value, len) == 0)
		same(&got, o);
	else
		tap_fail("refused: %s", value);
}

static void
refused_bytes(const char *value, size_t len)
{
	static const struct owner none;
	struct owner o;

	if (parse(&o, value, len) != -1)
		tap_fail("taken for ours: %.*s", (int)len, value);
	else if (memcmp(&o, &none, sizeof(o)) != 0)
		tap_fail("something is left of: %.*s", (int)len, value);
}

static void
refused(const char *value)
{
	refused_bytes(value, strlen(value));
}

static void
initial(void)
{
	char host[OWNER_FIELD] = "";
	const struct passwd *pw = getpwuid(geteuid());
	struct owner o;

	memset(&o, 0x55, sizeof(o));
	owner_init(&o, "backup.sh", 1);
	gethostname(host, sizeof(host) - 1);
	SAME_TEXT(o.host, host);
	if (pw != NULL)
		SAME_TEXT(o.user, pw->pw_name);
	SAME_TEXT(o.command, "backup.sh");
	SAME_INT(o.pid, getpid());
	SAME_INT(o.since_ms, 0);
	CHECK(!o.in_cooldown);
	comes_back(&o);
}

static void
tokens(void)
{
	enum { RUNS = 100 };
	struct owner o[RUNS];

	for (int i = 0; i < RUNS; i++) {
		owner_init(&o[i], "true", 1);
		SAME_INT(strlen(o[i].token), OWNER_TOKEN - 1);
		for (int c = 0; c < OWNER_TOKEN - 1; c++)
			if (c == 8 || c == 13 || c == 18 || c == 23)
				CHECK(o[i].token[c] == '-');
			else
				CHECK(strchr("0123456789abcdef",
					  o[i].token[c]) != NULL);
		CHECK(o[i].token[14] == '4'); /* random */
		for (int j = 0; j < i; j++)
			CHECK(strcmp(o[i].token, o[j].token) != 0);
	}
}

static void
commands(void)
{
	static const struct {
		const char *argv0;
		const char *command;
	} pairs[] = {
		{ "backup.sh", "backup.sh" },
		{ "./backup.sh", "backup.sh" },
		{ "/usr/local/bin/backup.sh", "backup.sh" },
		{ "../a b/c d", "c d" },
		{ "/opt/secret=1/x", "x" },
		{ "dir/", "dir/" },
		{ "/", "/" },
		{ "", "" },
	};
	char argv0[1000];
	struct owner o;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		owner_init(&o, pairs[i].argv0, 1);
		SAME_TEXT(o.command, pairs[i].command);
	}
	memset(argv0, 'x', sizeof(argv0) - 1);
	argv0[sizeof(argv0) - 1] = '\0';
	owner_init(&o, argv0, 1);
	SAME_INT(strlen(o.command), OWNER_FIELD - 1);
	comes_back(&o);
}

static void
ids(void)
{
	struct owner o = sample("web1", "deploy", "backup.sh");
	char id[OWNER_ID];

	CHECK(owner_id(&o, 1, id) == id);
	SAME_TEXT(id, "redlock-run/2 token=" TOKEN " try=1 ");
	SAME_TEXT(owner_id(&o, UINT_MAX, id),
	    "redlock-run/2 token=" TOKEN " try=4294967295 ");
}

static void
details(void)
{
	struct owner o = sample("web1", "deploy", "backup.sh");
	char buf[OWNER_DETAILS], value[VALUE];

	CHECK(owner_details(&o, buf) == buf);
	SAME_TEXT(buf, "pid=4242 host=web1 user=deploy command=backup.sh");
	compose(value, &o, 3);
	SAME_TEXT(value, good);
	o = sample("a b", "c%d", "e\nf\x7fg");
	SAME_TEXT(owner_details(&o, buf),
	    "pid=4242 host=a%20b user=c%25d command=e%0Af%7Fg");
	o = sample("", "", "");
	SAME_TEXT(owner_details(&o, buf), "pid=4242 host= user= command=");
	CHECK(owner_head(buf) == strlen(buf));
	o = sample("\xc3\xa9", "", "");
	SAME_TEXT(owner_details(&o, buf),
	    "pid=4242 host=\xc3\xa9 user= command=");
}

static void
options(void)
{
	struct owner o = sample("web1", "deploy", "backup.sh");
	char buf[OWNER_DETAILS], what[OWNER_WHAT], value[VALUE];

	o.ttl_ms = 60000;
	comes_back(&o);
	SAME_TEXT(owner_what(what, &o), "backup.sh");
	snprintf(o.message, sizeof(o.message), "https://ci/7 slots=2");
	comes_back(&o);
	SAME_TEXT(owner_details(&o, buf),
	    "pid=4242 host=web1 user=deploy command=backup.sh ttl=60000 "
	    "message=https://ci/7%20slots=2");
	SAME_TEXT(owner_what(what, &o), "backup.sh: https://ci/7 slots=2");
	o.start_ticks = 98765;
	comes_back(&o);
	SAME_TEXT(owner_details(&o, buf),
	    "pid=4242 host=web1 user=deploy command=backup.sh ttl=60000 "
	    "start=98765 message=https://ci/7%20slots=2");
	o.slots = 7;
	comes_back(&o);
	o.hold_ms = 300000;
	comes_back(&o);
	SAME_TEXT(owner_details(&o, buf),
	    "pid=4242 host=web1 user=deploy command=backup.sh ttl=60000 "
	    "hold=300000 start=98765 slots=7 message=https://ci/7%20slots=2");
	SAME_INT(owner_longest_ms(&o), 300000);
	SAME_INT(owner_lease_ms(&o, 3600000), 60000);
	o.ttl_ms = 1800000;
	o.lease_ms = 60000;
	comes_back(&o);
	SAME_TEXT(strstr(owner_details(&o, buf), "ttl="),
	    "ttl=1800000 lease=60000 hold=300000 start=98765 slots=7 "
	    "message=https://ci/7%20slots=2");
	SAME_INT(owner_longest_ms(&o), 1800000);
	SAME_INT(owner_lease_ms(&o, 1), 60000);
	SAME_INT(owner_lease_ms(&o, 3600000), 360000);
	SAME_INT(owner_lease_ms(&o, 86400000), 1800000);
	snprintf(o.version, sizeof(o.version), "1.0.0~rc1");
	comes_back(&o);
	SAME_TEXT(strstr(owner_details(&o, buf), "slots="),
	    "slots=7 version=1.0.0~rc1 message=https://ci/7%20slots=2");
	/* Cut in the message, as scripts cut a long value. */
	CHECK(owner_parse(&o, value, compose(value, &o, 1) - 8) == 0);
	SAME_TEXT(o.message, "");
	SAME_INT(o.slots, 7);
}

/* Other versions write fields that this one does not know. */
static void
fields_by_name(void)
{
	char value[VALUE];
	struct owner o;

	snprintf(value, sizeof(value),
	    "%s lane=7 slots=3 slots=4 ttl=1x start=5 message=m hold=9 ttl=2",
	    good);
	SAME_INT(parse(&o, value, strlen(value)), 0);
	SAME_INT(o.slots, 3);
	SAME_INT(o.hold_ms, 9);
	SAME_INT(o.ttl_ms, 0); /* the first, which is unreadable */
	SAME_TEXT(o.message, "m");
	snprintf(value, sizeof(value), "%s xhold=1 hold= holdx=2 hold", good);
	SAME_INT(parse(&o, value, strlen(value)), 0);
	SAME_INT(o.hold_ms, 0);
}

static void
every_byte_comes_back(void)
{
	char text[2] = "", around[4] = "axb";
	struct owner o;

	for (int c = 1; c < 256; c++) {
		text[0] = around[1] = (char)c;
		o = sample(text, around, text);
		comes_back(&o);
		o = sample(around, text, around);
		comes_back(&o);
	}
	o = sample("", "", "");
	comes_back(&o);
	o = sample(" ", "user=x", "% %20");
	comes_back(&o);
}

static void
extremes_come_back(void)
{
	char field[OWNER_FIELD], value[VALUE];
	struct owner o;

	for (const char *c = "x \n%\xff"; *c != '\0'; c++) {
		memset(field, *c, sizeof(field) - 1);
		field[sizeof(field) - 1] = '\0';
		o = sample(field, field, field);
		memset(o.message, *c, sizeof(o.message) - 1);
		memset(o.version, *c, sizeof(o.version) - 1);
		o.ttl_ms = INT64_MAX;
		o.lease_ms = INT64_MAX;
		o.hold_ms = INT64_MAX;
		o.start_ticks = INT64_MAX;
		o.slots = INT_MAX;
		o.pid = INT_MAX;
		o.since_ms = INT64_MAX;
		comes_back(&o);
		compose(value, &o, UINT_MAX);
		for (const char *p = value; *p != '\0'; p++)
			CHECK((unsigned char)*p >= ' ' && *p != 0x7f);
	}
}

static void
cooldowns(void)
{
	char value[VALUE];
	struct owner o;

	snprintf(value, sizeof(value), "cooldown %s", good);
	CHECK(parse(&o, value, strlen(value)) == 0);
	CHECK(o.in_cooldown);
	SAME_TEXT(o.token, TOKEN);
	SAME_TEXT(o.command, "backup.sh");
	SAME_INT(o.since_ms, 1763635200123);
	CHECK(parse(&o, good, strlen(good)) == 0);
	CHECK(!o.in_cooldown);
	snprintf(value, sizeof(value), "cooldown cooldown %s", good);
	refused(value);
	snprintf(value, sizeof(value), "COOLDOWN %s", good);
	refused(value);
	snprintf(value, sizeof(value), "cooldown%s", good);
	refused(value);
}

static void
other_clients(void)
{
	char value[5000];

	refused("");
	refused("?");
	refused(" ");
	refused("1");
	refused(TOKEN);
	refused("8d1f5f9e1c5d4f3f9a1e:1");
	refused("cooldown");
	refused("cooldown ");
	refused("cooldown redlock-run/2 ");
	refused("redlock-run");
	refused("redlock-run/2");
	refused("redlock-run/2 ");
	refused("{\"token\":\"" TOKEN "\"}");
	refused_bytes("\0\0\0\0", 4);
	refused_bytes("redlock-run/2\0token=x", 21);
	memset(value, 'x', sizeof(value));
	refused_bytes(value, sizeof(value));
	memset(value, ' ', sizeof(value));
	refused_bytes(value, sizeof(value));
	memset(value, '%', sizeof(value));
	refused_bytes(value, sizeof(value));
	memset(value, 0xff, sizeof(value));
	refused_bytes(value, sizeof(value));
}

/* The good value with its first "from" replaced by "to". */
static void
refused_with(const char *from, const char *to)
{
	const char *at = strstr(good, from);
	char value[VALUE];

	if (at == NULL) {
		tap_fail("'%s' is not in the good value", from);
		return;
	}
	snprintf(value, sizeof(value), "%.*s%s%s", (int)(at - good), good, to,
	    at + strlen(from));
	refused(value);
}

/* Reads the good value with its first "from" replaced by "to". */
static struct owner
read_with(const char *from, const char *to)
{
	const char *at = strstr(good, from);
	char value[VALUE];
	struct owner o = { 0 };

	if (at == NULL) {
		tap_fail("'%s' is not in the good value", from);
		return o;
	}
	snprintf(value, sizeof(value), "%.*s%s%s", (int)(at - good), good, to,
	    at + strlen(from));
	if (parse(&o, value, strlen(value)) == -1)
		tap_fail("refused: %s", value);
	SAME_TEXT(o.token, TOKEN);
	return o;
}

static void
wrong_heads(void)
{
	static const char *const fields[] = { "token=" TOKEN " ", "try=3 ",
		"since=1763635200123 " };
	char twice[128];

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		refused_with(fields[i], "");
		snprintf(twice, sizeof(twice), " %s", fields[i]);
		refused_with(fields[i], twice);
		snprintf(twice, sizeof(twice), "x=y %s", fields[i]);
		refused_with(fields[i], twice);
		snprintf(twice, sizeof(twice), "X%s", fields[i]);
		refused_with(fields[i], twice);
	}
	refused_with("redlock-run/2", "REDLOCK-RUN/1");
	refused_with("redlock-run/2", "redlock-run/");
	refused_with("redlock-run/2", "redlock-run/x");
	refused_with("redlock-run/2", "redlock-run/2x");
	refused_with("redlock-run/2", "redlock-run/-2");
	refused_with("redlock-run/2", " redlock-run/2");
	refused_with("redlock-run/2", "a b redlock-run/2");
	refused_with("redlock-run/2", "a1 redlock-run/2");
	refused_with("redlock-run/2 ", "redlock-run/2");
	refused_with("redlock-run/2 ", "redlock-run/2  ");
	refused_with("redlock-run/2 ", "redlock-run/2\t");
	refused_with("token=" TOKEN, "token=");
	refused_with("token=", "token:");
	refused_with("token=", "token");
	refused_with("token=", "Token=");
	refused_with("token=", "token=x");
	refused_with("token=", "token=%00");
	refused_with("token=", "token=%xy");
}

static void
other_versions(void)
{
	struct owner o;

	SAME_TEXT(read_with("run/2", "run/1").host, "web1");
	SAME_TEXT(read_with("run/2", "run/99999999999999999999").host, "web1");
	CHECK(!read_with("redlock", "paused redlock").in_cooldown);
	o = read_with("host=web1 user=deploy", "new=1 user=deploy host=web1");
	SAME_TEXT(o.host, "web1");
	SAME_TEXT(o.user, "deploy");
	SAME_TEXT(read_with("host=web1", "host=a host=b").host, "a");
	SAME_TEXT(read_with("host=web1 ", "xhost=web1 hostx=1 ").host, "?");
	SAME_TEXT(read_with("user=deploy ", "").user, "?");
	SAME_TEXT(read_with("command=", "command").command, "?");
	SAME_INT(read_with("pid=4242 ", "").pid, 0);
}

/* Every version reads these in the same way. */
static void
vectors(void)
{
	char line[VALUE], path[] = __FILE__, got[VALUE], *slash, *last = NULL;
	int lines = 0;
	FILE *f;

	for (slash = strrchr(path, '/'); *slash != '\0'; slash++)
		*slash = '\0';
	snprintf(got, sizeof(got), "%s/../versions/vectors", path);
	f = fopen(got, "re");
	if (f == NULL) {
		tap_fail("cannot read %s", got);
		return;
	}
	while (fgets(line, sizeof(line), f) != NULL) {
		const char *kind = strtok_r(line, "|", &last), *value, *want;
		struct owner o;

		if (strcmp(kind, "value") != 0)
			continue;
		strtok_r(NULL, "|", &last);
		value = strtok_r(NULL, "|", &last);
		want = strtok_r(NULL, "\n", &last);
		snprintf(got, sizeof(got), "foreign");
		if (parse(&o, value, strlen(value)) == 0)
			snprintf(got, sizeof(got), "%s %s %s %s",
			    o.in_cooldown ? "cooldown" : "held", o.host, o.user,
			    o.command);
		SAME_TEXT(got, want);
		lines++;
	}
	CHECK(lines >= 10);
	fclose(f);
}

static void
wrong_numbers(void)
{
	static const char *const pids[] = { "pid=", "pid=-0", "pid=-1",
		"pid=self", "pid=2147483648", "pid=4294971538",
		"pid=99999999999999999999999999" };

	refused_with("try=3", "try=");
	refused_with("try=3", "try=-1");
	refused_with("try=3", "try=+3");
	refused_with("try=3", "try=%203");
	refused_with("try=3", "try=3%00");
	refused_with("try=3", "try=x");
	refused_with("try=3", "try=3x");
	refused_with("try=3", "try=0x3");
	refused_with("try=3", "try=3.0");
	refused_with("try=3", "try=4294967296");
	refused_with("try=3", "try=99999999999999999999");
	refused_with("since=1763635200123", "since=");
	refused_with("since=1763635200123", "since=-1");
	refused_with("since=1763635200123", "since=1e3");
	refused_with("since=1763635200123", "since=9223372036854775808");
	refused_with("since=1763635200123", "since=18446744073709551617");
	for (size_t i = 0; i < sizeof(pids) / sizeof(pids[0]); i++)
		SAME_INT(read_with("pid=4242", pids[i]).pid, 0);
}

static void
too_long(void)
{
	char field[600] = "host=", xs[OWNER_FIELD];

	memset(xs, 'x', sizeof(xs) - 1);
	xs[sizeof(xs) - 1] = '\0';
	for (size_t n = OWNER_FIELD - 2; n < 500; n += n < 130 ? 1 : 100) {
		memset(field + 5, 'x', n);
		field[5 + n] = '\0';
		CHECK(strncmp(read_with("host=web1", field).host, xs, n) == 0);
		SAME_TEXT(read_with("host=web1", field).user, "deploy");
	}
}

static void
wrong_encodings(void)
{
	static const char *const texts[] = { "%", "%4", "backup%", "backup%2",
		"%zz", "%g1", "%%41", "%-1", "%+1", "%0x", "%1z", "%\t1",
		"%\n\n41", "a%00b" };
	char field[32];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		snprintf(field, sizeof(field), "command=%s", texts[i]);
		SAME_TEXT(read_with("command=backup.sh", field).command, "?");
		SAME_TEXT(read_with("command=backup.sh", field).host, "web1");
	}
	SAME_TEXT(read_with("host=web1", "host=%zz").host, "?");
	SAME_TEXT(read_with("user=deploy", "user=%").user, "?");
}

/* Scripts cut a long value. */
static void
every_beginning(void)
{
	size_t since = (size_t)(strstr(good, "since=") - good) + 6;
	size_t command = (size_t)(strstr(good, "command=") - good) + 8;
	struct owner o;

	for (size_t len = 0; len <= since; len++)
		refused_bytes(good, len);
	for (size_t len = since + 1; len < command; len++) {
		CHECK(parse(&o, good, len) == 0);
		SAME_TEXT(o.command, "?");
	}
	for (size_t len = command; len < strlen(good); len++) {
		CHECK(parse(&o, good, len) == 0);
		SAME_INT(strlen(o.command), (int64_t)(len - command));
	}
}

static void
nul_bytes(void)
{
	const size_t head = (size_t)(strstr(good, "pid=") - good);
	char value[sizeof(good)];
	struct owner o;

	for (size_t at = 0; at < sizeof(good) - 1; at++) {
		memcpy(value, good, sizeof(good));
		value[at] = '\0';
		if (at < head)
			refused_bytes(value, sizeof(good) - 1);
		else
			CHECK(parse(&o, value, sizeof(good) - 1) == 0);
	}
	SAME_TEXT(o.command, "?");
	SAME_TEXT(o.user, "deploy");
}

/* Whatever becomes of it, fields end and numbers are in range. */
static void
every_byte_changed(void)
{
	char value[sizeof(good)], who[OWNER_WHO];
	struct owner o;
	int result;

	for (size_t at = 0; at < sizeof(good) - 1; at++)
		for (int c = 0; c < 256; c++) {
			memcpy(value, good, sizeof(good));
			value[at] = (char)c;
			result = parse(&o, value, sizeof(good) - 1);
			owner_who(who, &o, value, sizeof(good) - 1);
			if (result == -1)
				continue;
			CHECK(memchr(o.token, '\0', sizeof(o.token)) != NULL);
			CHECK(memchr(o.host, '\0', sizeof(o.host)) != NULL);
			CHECK(memchr(o.user, '\0', sizeof(o.user)) != NULL);
			CHECK(memchr(o.command, '\0', sizeof(o.command)) !=
			    NULL);
			CHECK(o.pid >= 0);
			CHECK(o.since_ms >= 0);
		}
}

static void
who_is(const char *value, size_t len, const char *want)
{
	char *copy = tap_bytes(value, len);
	char *buf = malloc(OWNER_WHO);
	struct owner o;

	if (buf == NULL)
		abort();
	owner_parse(&o, copy, len);
	CHECK(owner_who(buf, &o, copy, len) == buf);
	SAME_TEXT(buf, want);
	free(buf);
	free(copy);
}

static void
who(void)
{
	char value[VALUE], field[OWNER_FIELD], want[OWNER_WHO];
	struct owner o;

	who_is(good, strlen(good), "deploy@web1 pid 4242 (backup.sh)");
	snprintf(value, sizeof(value), "cooldown %s", good);
	who_is(value, strlen(value), "deploy@web1 pid 4242 (backup.sh)");
	memset(field, 'x', sizeof(field) - 1);
	field[sizeof(field) - 1] = '\0';
	o = sample(field, field, field);
	o.pid = INT_MAX;
	who_is("redlock-run/9 token=T try=1 since=1 host=h", 42,
	    "?@h pid ? (?)");
	snprintf(want, sizeof(want), "%s@%s pid 2147483647 (%s)", field, field,
	    field);
	who_is(value, compose(value, &o, 1), want);
}

static void
who_else(void)
{
	char value[VALUE], buf[OWNER_WHO];
	const struct owner nobody = { 0 };

	who_is(TOKEN, strlen(TOKEN), "another client (" TOKEN ")");
	who_is("", 0, "another client ()");
	who_is("?", 1, "another client (?)");
	who_is("a\0\x1b[31m\xff", 8, "another client (a\\x00\\x1b[31m\\xff)");
	memset(value, '\n', sizeof(value));
	owner_who(buf, &nobody, value, sizeof(value));
	CHECK(strncmp(buf, "another client (\\x0a\\x0a", 24) == 0);
	CHECK(buf[strlen(buf) - 1] == ')');
	for (const char *p = buf; *p != '\0'; p++)
		CHECK(isprint((unsigned char)*p));
}

static void
ages(void)
{
	struct owner o = { .since_ms = 1763635200123 };

	SAME_INT(owner_age_ms(&o, 1763635200123000), 0);
	SAME_INT(owner_age_ms(&o, 1763635201623999), 1500);
	SAME_INT(owner_age_ms(&o, 1763635200122999), 0);
	SAME_INT(owner_age_ms(&o, INT64_MIN), 0);
	o.since_ms = INT64_MAX;
	SAME_INT(owner_age_ms(&o, INT64_MIN), 0);
	SAME_INT(owner_age_ms(&o, INT64_MAX), 0);
	o.since_ms = 0;
	SAME_INT(owner_age_ms(&o, INT64_MAX), INT64_MAX / 1000);
}

static const struct tap_test tests[] = {
	{ "TTL, slots and message are fields that an owner may lack", options },
	{ "optional fields are found by their names, among unknown ones",
	    fields_by_name },
	{ "how long a lock has been held is never negative, whatever the clocks say",
	    ages },
	{ "an owner is this process of this user on this host", initial },
	{ "a token is a random UUID of its own", tokens },
	{ "of the command there is only the base name of argv[0]", commands },
	{ "the id is all that stands before since", ids },
	{ "the value can be read with redis-cli GET", details },
	{ "every byte comes back as it was", every_byte_comes_back },
	{ "the longest fields and largest numbers come back",
	    extremes_come_back },
	{ "a lock in cooldown is told from a held one", cooldowns },
	{ "another client's value is none of ours", other_clients },
	{ "a value with a missing, wrong or doubled field in its head is none",
	    wrong_heads },
	{ "other versions' numbers, states, fields and orders are readable",
	    other_versions },
	{ "the vectors of all versions are read as they say", vectors },
	{ "a number out of range makes the head none, and a field unknown",
	    wrong_numbers },
	{ "an over-long field is cut, and the others are read", too_long },
	{ "a field with a bad percent-encoding is unknown", wrong_encodings },
	{ "a value that was cut in its head is none; cut later, it has less",
	    every_beginning },
	{ "a NUL makes the head none, and a field unknown", nul_bytes },
	{ "no byte that is changed does harm", every_byte_changed },
	{ "a holder is told by user, host, pid and command", who },
	{ "another client is told by its value, escaped", who_else },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
