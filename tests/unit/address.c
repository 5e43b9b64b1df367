/*
 * URLs of servers.  A mistake in parsing would send a lock or a password to the
 * wrong place; a mistake in masking would put a password into a log.
 */
#include "../../src/redis/address.c"
#include "tap.h"

/* Parses a copy of url without a spare byte behind it; returns the mistake. */
static const char *
parse(struct address *a, const char *url)
{
	char *copy = tap_bytes(url, strlen(url) + 1);
	const char *why;

	memset(a, 0x55, sizeof(*a));
	why = address_parse(a, copy);
	free(copy);
	return why;
}

/* The password, or "" for none. */
static const char *
password_of(const struct address *a)
{
	return a->password != NULL ? a->password : "";
}

static void
is_tcp(const char *url, const char *host, int port, int db, const char *text)
{
	struct address a;
	const char *why = parse(&a, url);

	if (why != NULL) {
		tap_fail("'%s' %s", url, why);
		return;
	}
	if (strcmp(a.at[0].host, host) != 0 || a.at[0].port != port ||
	    a.db != db || strcmp(a.text, text) != 0 || a.path[0] != '\0')
		tap_fail("'%s' is host '%s' port %d db %d path '%s' text '%s'",
		    url, a.at[0].host, a.at[0].port, a.db, a.path, a.text);
}

static void
is_user(const char *url, const char *user, const char *password)
{
	struct address a;
	const char *why = parse(&a, url);

	if (why != NULL)
		tap_fail("'%s' %s", url, why);
	else if (strcmp(a.user, user) != 0 ||
	    strcmp(password_of(&a), password) != 0)
		tap_fail("'%s' is user '%s' password '%s'", url, a.user,
		    password_of(&a));
	else if (strcmp(a.at[0].host, "h") != 0 || a.at[0].port != 6379)
		tap_fail("'%s' is host '%s' port %d", url, a.at[0].host,
		    a.at[0].port);
}

static void
is_unix(const char *url, const char *path, int db, const char *text)
{
	struct address a;
	const char *why = parse(&a, url);

	if (why != NULL) {
		tap_fail("'%s' %s", url, why);
		return;
	}
	if (strcmp(a.path, path) != 0 || a.db != db ||
	    strcmp(a.text, text) != 0 || a.at[0].host[0] != '\0' ||
	    a.user[0] != '\0' || a.password != NULL)
		tap_fail("'%s' is path '%s' db %d text '%s' host '%s'", url,
		    a.path, a.db, a.text, a.at[0].host);
}

/* The reason is the end of a sentence that holds the words in why. */
static void
refused(const char *url, const char *why)
{
	struct address a;
	const char *got = parse(&a, url);

	if (got == NULL)
		tap_fail("'%.100s' is taken for '%s'", url, a.text);
	else if (strstr(got, why) == NULL)
		tap_fail("'%.100s' %s (and not: %s)", url, got, why);
}

static void
tcp(void)
{
	is_tcp(ADDRESS_DEFAULT, "127.0.0.1", 6379, 0, ADDRESS_DEFAULT);
	is_tcp("redis://h", "h", 6379, 0, "redis://h:6379");
	is_tcp("redis://h:7000", "h", 7000, 0, "redis://h:7000");
	is_tcp("redis://h/", "h", 6379, 0, "redis://h:6379");
	is_tcp("redis://h:7000/", "h", 7000, 0, "redis://h:7000");
	is_tcp("redis://h/0", "h", 6379, 0, "redis://h:6379");
	is_tcp("redis://h/1", "h", 6379, 1, "redis://h:6379/1");
	is_tcp("redis://h/3", "h", 6379, 3, "redis://h:6379/3");
	is_tcp("redis://h:7000/15", "h", 7000, 15, "redis://h:7000/15");
	is_tcp("redis://redis.example.org:1/2", "redis.example.org", 1, 2,
	    "redis://redis.example.org:1/2");
	is_tcp("redis://h:65535/999999999", "h", 65535, 999999999,
	    "redis://h:65535/999999999");
}

static void
bare(void)
{
	is_tcp("h", "h", 6379, 0, "redis://h:6379");
	is_tcp("h:7000", "h", 7000, 0, "redis://h:7000");
	is_tcp("10.0.0.1", "10.0.0.1", 6379, 0, "redis://10.0.0.1:6379");
	is_tcp("web_1-a.example:1", "web_1-a.example", 1, 0,
	    "redis://web_1-a.example:1");
	is_tcp("b\xc3\xbc"
	       "cher",
	    "b\xc3\xbc"
	    "cher",
	    6379, 0,
	    "redis://b\xc3\xbc"
	    "cher:6379");
}

static void
ipv6(void)
{
	is_tcp("redis://[::1]", "::1", 6379, 0, "redis://[::1]:6379");
	is_tcp("redis://[::1]:7000", "::1", 7000, 0, "redis://[::1]:7000");
	is_tcp("redis://[::1]:7000/2", "::1", 7000, 2, "redis://[::1]:7000/2");
	is_tcp("redis://[2001:db8::7]/4", "2001:db8::7", 6379, 4,
	    "redis://[2001:db8::7]:6379/4");
	is_tcp("[::ffff:10.0.0.1]:1", "::ffff:10.0.0.1", 1, 0,
	    "redis://[::ffff:10.0.0.1]:1");
	is_tcp("redis://u:p@[::1]:7000", "::1", 7000, 0,
	    "redis://u@[::1]:7000");
}

static void
ipv6_errors(void)
{
	refused("redis://[::1", "'['");
	refused("[::1", "'['");
	refused("redis://[", "'['");
	refused("redis://[]", "no host");
	refused("redis://[]:6379", "no host");
	refused("redis://[::1]7000", "between host and port");
	refused("redis://[::1]]:7000", "between host and port");
	refused("redis://[::1]:", "port");
	refused("redis://::1", "no host");
	refused("redis://2001:db8::7", "port");
	refused("2001:db8::7", "port");
}

static void
users(void)
{
	is_user("redis://h", "", "");
	is_user("redis://u:p@h", "u", "p");
	is_user("redis://u:p@h:6379/0", "u", "p");
	is_user("redis://u@h", "u", "");
	is_user("redis://u:@h", "u", "");
	is_user("redis://:p@h", "", "p");
	is_user("redis://:@h", "", "");
	is_user("redis://@h", "", "");
}

static void
rude_passwords(void)
{
	is_user("redis://u:a:b@h", "u", "a:b");
	is_user("redis://u:a@b@h", "u", "a@b");
	is_user("redis://u:a/b@h", "u", "a/b");
	is_user("redis://u:a://b@h", "u", "a://b");
	is_user("redis://u:a?b#c@h", "u", "a?b#c");
	is_user("redis://u:[x]@h", "u", "[x]");
	is_user("redis://:\xc3\xa9\xff@h", "", "\xc3\xa9\xff");
}

static void
decoding(void)
{
	char url[32], want[2] = "";

	is_user("redis://%75:%70@h", "u", "p");
	is_user("redis://a%40b:c%3ad%2Fe@h", "a@b", "c:d/e");
	is_user("redis://a%3Ab:c@h", "a:b", "c");
	is_user("redis://u:%25@h", "u", "%");
	is_user("redis://u:%2525@h", "u", "%25");
	is_user("redis://u:100%25+@h", "u", "100%+");
	is_user("redis://u:p%20w@h", "u", "p w");
	for (int c = 1; c < 256; c++) {
		want[0] = (char)c;
		snprintf(url, sizeof(url), "redis://u:%%%02x@h", c);
		is_user(url, "u", want);
		snprintf(url, sizeof(url), "redis://u:%%%02X@h", c);
		is_user(url, "u", want);
	}
	is_unix("unix:///a%20b%2Fc", "/a b/c", 0, "unix:///a b/c");
}

static void
bad_encoding(void)
{
	static const char *const bad[] = { "%", "%4", "%g1", "%1g", "%zz", "%%",
		"%%41", "%+1", "%-1", "%0x", "%x1", "%00", "a%00", "%00a", "a%",
		"a%4", "%41%4" };
	char url[64];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(url, sizeof(url), "redis://u:%s@h", bad[i]);
		refused(url, "password that is");
		snprintf(url, sizeof(url), "redis://%s:p@h", bad[i]);
		refused(url, "user name that is");
		snprintf(url, sizeof(url), "unix:///%s", bad[i]);
		refused(url, "path that is");
	}
}

static void
unix_sockets(void)
{
	is_unix("unix:///run/redis.sock", "/run/redis.sock", 0,
	    "unix:///run/redis.sock");
	is_unix("unix:///run/redis.sock?db=0", "/run/redis.sock", 0,
	    "unix:///run/redis.sock");
	is_unix("unix:///run/redis.sock?db=7", "/run/redis.sock", 7,
	    "unix:///run/redis.sock?db=7");
	is_unix("unix:///s", "/s", 0, "unix:///s");
	is_unix("unix:///a:b@c/d", "/a:b@c/d", 0, "unix:///a:b@c/d");
	is_unix("unix:////s", "//s", 0, "unix:////s");
	is_unix("/run/redis.sock", "/run/redis.sock", 0,
	    "unix:///run/redis.sock");
	is_unix("/s?db=7", "/s", 7, "unix:///s?db=7");
}

static void
unix_errors(void)
{
	refused("unix://", "absolute path");
	refused("unix://run/redis.sock", "absolute path");
	refused("unix://./s", "absolute path");
	refused("unix:///run/redis://:secret@h", "another URL in its path");
	refused("unix://u:p@/s", "cannot have");
	refused("unix://?db=1", "absolute path");
	refused("unix:///s?", "unknown parameter");
	refused("unix:///s?x=1", "unknown parameter");
	refused("unix:///s?DB=1", "unknown parameter");
	refused("unix:///s?db", "unknown parameter");
	refused("unix:///s?db=", "database");
	refused("unix:///s?db=1&x=2", "database");
	refused("unix:///s?db=1?db=2", "database");
	refused("unix:///s?db=-1", "database");
}

static void
no_host(void)
{
	refused("", "no host");
	refused("redis://", "no host");
	refused("redis:///3", "no host");
	refused("redis://:6379", "no host");
	refused("redis://u:p@", "no host");
	refused("redis://u:p@:6379", "no host");
	refused("redis://u:p@/0", "no host");
	refused(":6379", "no host");
}

static void
bad_numbers(void)
{
	static const char *const ports[] = { "", "0", "-1", "+1", "65536",
		"99999", "4294973675", "18446744073709557995", "6379x", "x",
		"0x10", "1e3", "6379:1", "9999999999999999999999999" };
	static const char *const dbs[] = { "-1", "+1", "x", "1x", "0x1", "1.0",
		"1/", "/1", "1/2", "4294967296", "1000000000",
		"18446744073709551616", "99999999999999999999999999" };
	char url[64];

	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		snprintf(url, sizeof(url), "redis://h:%s", ports[i]);
		refused(url, "port that is not 1 to 65535");
		snprintf(url, sizeof(url), "redis://[::1]:%s/1", ports[i]);
		refused(url, "port that is not 1 to 65535");
		snprintf(url, sizeof(url), "h:%s", ports[i]);
		refused(url, "port that is not 1 to 65535");
	}
	for (size_t i = 0; i < sizeof(dbs) / sizeof(dbs[0]); i++) {
		snprintf(url, sizeof(url), "redis://h/%s", dbs[i]);
		refused(url, "bad database number");
		snprintf(url, sizeof(url), "unix:///s?db=%s", dbs[i]);
		refused(url, "bad database number");
	}
}

static void
kinds(void)
{
	refused("redisss://h", "an unknown scheme");
	refused("http://h", "an unknown scheme");
	refused("REDIS://h", "an unknown scheme");
	refused("redis+tls://h", "an unknown scheme");
	refused("://h", "an unknown scheme");
	refused("h/3", "redis://");
	refused("h:6379/3", "redis://");
	refused("u:p@h", "redis://");
	refused("unix:/run/redis.sock", "redis://");
	refused("redis:/h", "redis://");
}

static void
host_characters(void)
{
	char url[32];

	for (const char *c = "#%\\\""; *c != '\0'; c++) {
		snprintf(url, sizeof(url), "redis://a%cb", *c);
		refused(url, "character that cannot be");
		snprintf(url, sizeof(url), "redis://[a%cb]", *c);
		refused(url, "character that cannot be");
	}
}

static void
blanks(void)
{
	char url[] = "redis://u:?@h";

	for (int c = 1; c <= 0x20; c++) {
		url[10] = (char)c;
		refused(url, "control character");
	}
	url[10] = 0x7f;
	refused(url, "control character");
	refused(" h", "blank");
	refused("h ", "blank");
	refused("h:1 ", "blank");
	refused("redis://a redis://b", "blank");
	refused("unix:///a b", "blank");
	refused("\nh", "control character");
	refused("h\n", "control character");
	refused("h:1\r", "control character");
	refused("unix:///s\t", "control character");
}

/* "before", n times c, "behind". */
static const char *
long_url(const char *before, int c, size_t n, const char *behind)
{
	static char url[8192];

	snprintf(url, sizeof(url), "%s", before);
	memset(url + strlen(before), c, n);
	snprintf(url + strlen(before) + n, sizeof(url) - strlen(before) - n,
	    "%s", behind);
	return url;
}

static void
lengths(void)
{
	struct address a;

	CHECK(parse(&a, long_url("redis://", 'x', 255, ":1/2")) == NULL);
	SAME_INT(strlen(a.at[0].host), 255);
	SAME_INT(a.at[0].port, 1);
	SAME_INT(a.db, 2);
	SAME_INT(strlen(a.text), 8 + 255 + 4);
	refused(long_url("redis://", 'x', 256, ""), "host name that is too");
	refused(long_url("redis://[", ':', 256, "]"), "host name that is too");
	refused(long_url("", 'x', 5000, ":1"), "host name that is too");

	CHECK(parse(&a, long_url("redis://u:", 'x', 511, "@h")) == NULL);
	SAME_INT(strlen(a.password), 511);
	refused(long_url("redis://u:", 'x', 512, "@h"), "password that is too");
	refused(long_url("redis://u:", 'x', 5000, "@h"),
	    "password that is too");

	CHECK(parse(&a, long_url("redis://", 'x', 511, ":p@h")) == NULL);
	SAME_INT(strlen(a.user), 511);
	SAME_TEXT(a.password, "p");
	refused(long_url("redis://", 'x', 512, ":p@h"), "user name that is");
	refused(long_url("redis://", 'x', 512, "@h"), "user name that is");

	CHECK(parse(&a, long_url("unix:///", 'x', 106, "?db=999999999")) ==
	    NULL);
	SAME_INT(strlen(a.path), 107);
	SAME_INT(a.db, 999999999);
	SAME_INT(strlen(a.text), 7 + 107 + 13);
	refused(long_url("unix:///", 'x', 107, ""), "path that is too long");
	refused(long_url("unix:///", 'x', 5000, ""), "path that is too long");
}

/* Percent-encoded, a byte takes three; the limit is for decoded bytes. */
static void
decoded_lengths(void)
{
	char url[8 + 3 * 512 + 8];
	struct address a;
	size_t used;

	for (int n = 511; n <= 512; n++) {
		used = (size_t)snprintf(url, sizeof(url), "redis://:");
		for (int i = 0; i < n; i++)
			used += (size_t)snprintf(url + used, sizeof(url) - used,
			    "%%e9");
		snprintf(url + used, sizeof(url) - used, "@h");
		if (n == 511) {
			CHECK(parse(&a, url) == NULL);
			SAME_INT(strlen(a.password), 511);
		} else
			refused(url, "password that is too long");
	}
}

/* Of that kind, with these hosts in its text. */
static void
is_kind(const char *url, enum address_kind kind, bool tls, int nat,
    const char *master, int db, const char *text)
{
	struct address a;
	const char *why = parse(&a, url);

	if (why != NULL) {
		tap_fail("'%s' %s", url, why);
		return;
	}
	if (a.kind != kind || a.tls != tls || a.nat != nat || a.db != db ||
	    strcmp(a.master, master) != 0 || strcmp(a.text, text) != 0)
		tap_fail("'%s' is kind %d tls %d nat %d master '%s' db %d text "
			 "'%s'",
		    url, (int)a.kind, a.tls, a.nat, a.master, a.db, a.text);
}

static void
tls(void)
{
	is_kind("rediss://h", ADDRESS_SERVER, true, 1, "", 0,
	    "rediss://h:6379");
	is_kind("rediss://u:p@h:1/2", ADDRESS_SERVER, true, 1, "", 2,
	    "rediss://u@h:1/2");
	is_kind("redis://h", ADDRESS_SERVER, false, 1, "", 0, "redis://h:6379");
	refused("redis://h,i", "has a comma");
	refused("rediss://h,i", "has a comma");
	refused("h,i", "has a comma");
}

static void
sentinels(void)
{
	is_kind("redis+sentinel://h/m", ADDRESS_SENTINEL, false, 1, "m", 0,
	    "redis+sentinel://h:26379/m");
	is_kind("redis+sentinel://h:1,i,[::1]:3/my-master/4", ADDRESS_SENTINEL,
	    false, 3, "my-master", 4,
	    "redis+sentinel://h:1,i:26379,[::1]:3/my-master/4");
	is_kind("redis+sentinel://u:p,w@h,i/m/", ADDRESS_SENTINEL, false, 2,
	    "m", 0, "redis+sentinel://u@h:26379,i:26379/m");
	is_kind("rediss+sentinel://:p@h/m/0", ADDRESS_SENTINEL, true, 1, "m", 0,
	    "rediss+sentinel://h:26379/m");
}

static void
sentinel_errors(void)
{
	refused("redis+sentinel://h", "does not name the master");
	refused("redis+sentinel://h/", "does not name the master");
	refused("redis+sentinel://h//", "does not name the master");
	refused("redis+sentinel://h//1", "does not name the master");
	refused("redis+sentinel:///m", "no host");
	refused("redis+sentinel://,h/m", "no host");
	refused("redis+sentinel://h,/m", "no host");
	refused("redis+sentinel://h,,i/m", "no host");
	refused("redis+sentinel://h:0,i/m", "port");
	refused("redis+sentinel://h,i:x/m", "port");
	refused("redis+sentinel://h,[::1/m", "'['");
	refused("redis+sentinel://h/m/x", "database");
	refused("redis+sentinel://h/m/1/2", "database");
	refused("redis+sentinel://h/%zz", "master's name");
	refused("redis+sentinel://h/m?db=1", "mymaster/1");
	refused("sentinel://h/m", "an unknown scheme");
	refused("redis-sentinel://h/m", "an unknown scheme");
}

static void
clusters(void)
{
	is_kind("redis+cluster://h", ADDRESS_CLUSTER, false, 1, "", 0,
	    "redis+cluster://h:6379");
	is_kind("redis+cluster://h:1,[::1]:2,i/", ADDRESS_CLUSTER, false, 3, "",
	    0, "redis+cluster://h:1,[::1]:2,i:6379");
	is_kind("rediss+cluster://u:p@h,i", ADDRESS_CLUSTER, true, 2, "", 0,
	    "rediss+cluster://u@h:6379,i:6379");
}

static void
cluster_errors(void)
{
	refused("redis+cluster://h/1", "one database");
	refused("redis+cluster://h/m", "one database");
	refused("redis+cluster://", "no host");
	refused("redis+cluster://h,", "no host");
	refused("redis+cluster://h:1:2,i", "port");
	refused("cluster://h", "an unknown scheme");
	refused("redis+clusters://h", "an unknown scheme");
}

static void
many_hosts(void)
{
	char url[512] = "redis+cluster://h";
	struct address a;

	for (int n = 2; n <= ADDRESS_HOSTS; n++)
		strcat(url, ",h");
	CHECK(parse(&a, url) == NULL);
	SAME_INT(a.nat, ADDRESS_HOSTS);
	strcat(url, ",h");
	refused(url, "too many hosts");
}

static void
same_place(const char *one, const char *other, bool same)
{
	struct address a, b;

	CHECK(parse(&a, one) == NULL);
	CHECK(parse(&b, other) == NULL);
	if (address_same(&a, &b) != same || address_same(&b, &a) != same)
		tap_fail("'%s' and '%s': %s", one, other,
		    same ? "not the same" : "the same");
}

static void
places(void)
{
	same_place("redis://h", "redis://u:p@h:6379/3", true);
	same_place("redis://h", "redis://h:6380", false);
	same_place("redis://h", "redis+cluster://h", false);
	same_place("redis+cluster://h,i", "redis+cluster://u@h,i", true);
	same_place("redis+cluster://h,i", "redis+cluster://h", false);
	same_place("redis+cluster://h,i", "redis+cluster://h,j", false);
	same_place("redis+sentinel://h/m", "redis+sentinel://h/m/2", true);
	same_place("redis+sentinel://h/m", "redis+sentinel://h/n", false);
}

static void
text_is_a_url(void)
{
	static const char *const urls[] = { "redis://h:1/2", "redis://[::1]:5",
		"redis://h:6379", "redis://[fe80::1]:6379/7",
		"unix:///run/s?db=3", "unix:///run/s", "rediss://h:1",
		"redis+sentinel://h:1,[::1]:2/m/3",
		"rediss+cluster://h:1,[::1]:2" };
	struct address a;

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		CHECK(parse(&a, urls[i]) == NULL);
		SAME_TEXT(a.text, urls[i]);
	}
}

static void
text_has_no_password(void)
{
	static const char *const urls[] = { "redis://u:secret@h",
		"redis://:secret@h", "redis://u:x/secret@h:1/2",
		"redis://u:x@secret@h", "redis://u:x://secret@h",
		"redis://u:%73ecret@[::1]", "redis://secret@h",
		"redis+cluster://secret@h,i", "redis+sentinel://u:secret@h,i/m",
		"rediss+cluster://:secret,x@h,i" };
	struct address a;

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		CHECK(parse(&a, urls[i]) == NULL);
		CHECK(strstr(a.user_alone ? a.user : password_of(&a),
			  "secret") != NULL);
		CHECK(strstr(a.text, "secret") == NULL);
	}
}

/* Its password, if it has one, is cut, wiped and known as such. */
static void
wipes(const char *url, const char *want, bool password)
{
	const char *stars = password ? strstr(want, "***") : NULL;
	size_t before, after, hidden;
	char *buf = malloc(ADDRESS_TEXT);

	if (buf == NULL)
		abort();
	snprintf(buf, ADDRESS_TEXT, "%s", url);
	address_wipe(buf);
	if (stars == NULL)
		want = url;
	before = stars == NULL ? strlen(want) : (size_t)(stars - want);
	after = stars == NULL ? 0 : strlen(stars + 3);
	hidden = strlen(url) - before - after;
	if (strlen(buf) != strlen(url) || strncmp(buf, want, before) != 0 ||
	    strspn(buf + before, "*") != hidden ||
	    strcmp(buf + before + hidden, stars == NULL ? "" : stars + 3) != 0)
		tap_fail("'%s' is wiped to '%s'", url, buf);
	CHECK(address_has_password(url, false) == (stars != NULL));
	free(buf);
}

static void
shows(const char *url, const char *want)
{
	char *buf = malloc(ADDRESS_TEXT);
	const char *got;

	if (buf == NULL)
		abort();
	got = address_mask(buf, ADDRESS_TEXT, url);
	CHECK(got == buf);
	if (strcmp(got, want) != 0)
		tap_fail("'%s' is shown as '%s', not '%s'", url, got, want);
	free(buf);
}

static void
masks(const char *url, const char *want)
{
	shows(url, want);
	wipes(url, want, true);
}

static void
masking(void)
{
	masks("redis://u:secret@h:1/2", "redis://u:***@h:1/2");
	masks("redis://:secret@h", "redis://:***@h");
	masks("redis://u:@h", "redis://u:***@h");
	masks("redis://u:se:cr@et@h", "redis://u:***@h");
	masks("redis://u:sec/ret@h", "redis://u:***@h");
	masks("redis://u:a://b@h", "redis://u:***@h");
	masks("redis://u:secret@", "redis://u:***@");
	masks("rediss://u:secret@h", "rediss://u:***@h");
	masks("redis+sentinel://u:sec,ret@h:1,i:2/m",
	    "redis+sentinel://u:***@h:1,i:2/m");
	masks("redis+cluster://:secret@h,i", "redis+cluster://:***@h,i");
	masks("http://u:secret@h", "http://u:***@h");
	masks("unix://u:secret@/s", "unix://u:***@/s");
	masks("u:secret@h:1", "u:***@h:1");
	masks("u:secret://x@h", "u:***@h");
	masks("u:se@cret://x@h", "u:***@h");
	masks("unix:///s?db=0&password=secret", "unix:///s?db=0&password=***");
	masks("redis://h/0?password=secret", "redis://h/0?password=***");
	masks("redis://u:se?password=cret@h", "redis://u:***");
	masks("redis://u:secret@h/0?password=secret", "redis://u:***");
	masks("unix:///s?db=0&password=se:cr@et",
	    "unix:///s?db=0&password=***");
	masks("redis:u:secret@h", "redis:***@h");
	masks("redis:/u:secret@h", "redis:***@h");
	masks("redis//u:secret@h", "redis//u:***@h");
	masks("-rredis://:secret@h", "-rredis://:***@h");
	masks("--redis=redis://u:secret@h", "--redis=redis://u:***@h");
	masks("redis://:secret", "redis://:***");
	masks("redis://:secret/0", "redis://:***");
}

/* Malformed, so nothing but its form tells what the password is. */
static void
masking_malformed(void)
{
	masks("redis://user:s3cret", "redis://user:***");
	masks("rediss://default:s3cret/0", "rediss://default:***");
	masks("redis://u:s3cret%40h", "redis://u:***");
	masks("redis://h:6379?auth=s3cret", "redis://h:6379?auth=***");
	masks("redis://h/0?pass=s3cret", "redis://h/0?pass=***");
	masks("redis://u:pa#s3cret", "redis://u:***");
	masks("redis://h:6379#s3cret", "redis://h:***");
	masks("redis://u:p@h:6379?auth=s3cret", "redis://u:***");
	masks("redis://h?s3cret", "redis://h?***");
	masks("redis://h?db=1&x=s3cret", "redis://h?db=1&x=***");
	masks("redis://h?a=b&x=s3cret", "redis://h?a=***");
	masks("redis://u:/s3cret", "redis://u:***");
	masks("redis://u:65536", "redis://u:***");
	masks("redis://u@h:s3cret", "redis://***");
	masks("redis://[::1]:s3cret", "redis://[::1]:***");
	masks("redis+sentinel://h:1,i:s3cret/m", "redis+sentinel://h:1,i:***");
	masks("Redis://u:s3cret", "Redis://u:***");
	masks("unix:///s?auth=s3cret", "unix:///s?auth=***");
	masks("--redis-redis://u:s3cret", "--redis-redis://u:***");
}

static void
shows_server(const char *url, const char *want)
{
	char buf[ADDRESS_TEXT];

	address_mask_server(buf, sizeof(buf), url);
	if (strcmp(buf, want) != 0)
		tap_fail("'%s' is shown as '%s', not '%s'", url, buf, want);
	CHECK(address_has_password(url, true) == (strcmp(url, want) != 0));
}

/* The same words elsewhere are names of locks, or URLs of other things. */
static void
masking_servers(void)
{
	shows_server("u:s3cret", "u:***");
	shows_server("h?auth=s3cret", "h?auth=***");
	shows_server("/s?auth=s3cret", "/s?auth=***");
	shows_server("http://u:s3cret", "http://u:***");
	shows_server("h:6379", "h:6379");
	shows_server("[::1]:6379", "[::1]:6379");
	shows_server("/run/a:b?db=3", "/run/a:b?db=3");
	shows("deploy:prod", "deploy:prod");
	shows("https://ci.example:x/job?id=7", "https://ci.example:x/job?id=7");
}

/* A user without a colon: redis-cli takes it for a password. */
static void
masking_users(void)
{
	static const struct {
		const char *url, *want;
	} users[] = {
		{ "redis://user@h:1", "redis://***@h:1" },
		{ "redis://us/er@h", "redis://***@h" },
		{ "redis://us@er@h", "redis://***@h" },
		{ "rediss+sentinel://user@h,i/m",
		    "rediss+sentinel://***@h,i/m" },
		{ "-rredis://user@h", "-rredis://***@h" },
		{ "user@h", "***@h" },
	};

	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		shows(users[i].url, users[i].want);
		wipes(users[i].url, users[i].want, false);
	}
}

static void
cuts(const char *url, const char *want)
{
	char buf[ADDRESS_TEXT];
	bool cut;

	snprintf(buf, sizeof(buf), "%s", url);
	cut = address_cut(buf);
	CHECK(cut == (want != NULL));
	SAME_TEXT(buf, want != NULL ? want : url);
}

static void
cutting(void)
{
	cuts("redis://u:secret@h:1/2", "redis://u@h:1/2");
	cuts("redis://:secret@h", "redis://h");
	cuts("-rredis://:se@cr:et@h", "-rredis://h");
	cuts("--redis=rediss://u:secret@h", "--redis=rediss://u@h");
	cuts("redis://u:a?b#c@h", "redis://u@h");
	cuts("redis://u@h", NULL);
	cuts("redis://h:1", NULL);
	cuts("redis://h/0?password=secret", NULL);
	cuts("a:b", NULL);
	cuts("", NULL);
}

static void
not_masked(void)
{
	static const char *const urls[] = { "", "h", "h:1", ADDRESS_DEFAULT,
		"redis://h:1", "redis://[::1]:7000/3", "/a@h", "./b/a@h",
		"unix:///a@h/s", "unix:///a:b/c?db=3", "://", "@", "redis://",
		"redis://@", "nonsense" };

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
		masks(urls[i], urls[i]);
}

static void
mask_sizes(void)
{
	static const char url[] = "redis://u:zecret@host:6379/1";
	char *buf;

	for (size_t size = 1; size < sizeof(url) + 4; size++) {
		buf = malloc(size);
		if (buf == NULL)
			abort();
		address_mask(buf, size, url);
		CHECK(strlen(buf) < size);
		CHECK(strchr(buf, 'z') == NULL);
		free(buf);
	}
}

/* Valkey's names for Redis's schemes; the address is shown as one of Redis. */
static void
valkey(void)
{
	is_tcp("valkey://h", "h", 6379, 0, "redis://h:6379");
	is_tcp("valkey://h:7000/3", "h", 7000, 3, "redis://h:7000/3");
	is_kind("valkeys://u:p@h", ADDRESS_SERVER, true, 1, "", 0,
	    "rediss://u@h:6379");
	is_kind("valkey+sentinel://h/m/1", ADDRESS_SENTINEL, false, 1, "m", 1,
	    "redis+sentinel://h:26379/m/1");
	is_kind("valkeys+cluster://h,i", ADDRESS_CLUSTER, true, 2, "", 0,
	    "rediss+cluster://h:6379,i:6379");
	refused("valkeyss://h", "an unknown scheme");
	refused("valkey+tls://h", "an unknown scheme");
	refused("valke://h", "an unknown scheme");
	refused("valkey:/h", "one '/' too few");
	refused("valkeys:/h", "one '/' too few");
	masks("valkey://u:s3cret@h", "valkey://u:***@h");
	masks("valkey://u:s3cret", "valkey://u:***");
	masks("valkeys://h?auth=s3cret", "valkeys://h?auth=***");
}

/* As hosts hand out their URLs. */
static void
parameters(void)
{
	refused("redis://h?db=1",
	    "unknown parameter 'db'; a database is named");
	refused("redis://h:6379/0?family=0", "unknown parameter 'family'; ");
	refused("rediss://u:p@h:6380?ssl_cert_reqs=none",
	    "unknown parameter 'ssl_cert_reqs'; the certificate is always");
	refused("rediss://h?ssl_ca_certs=/x&db=1", "use --tls-ca");
	refused("redis://u:p?family=1@h?password=s3cret",
	    "'password'; use --password-file");
	refused("redis+cluster://h,i?timeout=1", "--node-timeout");
	refused("h?family=0", "unknown parameter 'family'");
	refused("redis://h?s3cret", "an unknown parameter behind its '?'");
	refused("redis://h?famil=0", "an unknown parameter behind its '?'");
	refused("redis://h?", "an unknown parameter behind its '?'");
	refused("redis://h:x?family=0", "port that is not 1 to 65535");
	refused("redis://?family=0", "no host");
}

static const struct tap_test tests[] = {
	{ "redis://host[:port][/db] names a server", tcp },
	{ "host and host:port do so without redis:// in front", bare },
	{ "IPv6 addresses stand in brackets", ipv6 },
	{ "an IPv6 address without its brackets is refused", ipv6_errors },
	{ "user and password stand before the last @", users },
	{ "a password may hold any character as it is", rude_passwords },
	{ "user, password and path are percent-decoded", decoding },
	{ "a bad percent-encoding is refused, and so is a NUL", bad_encoding },
	{ "unix:///path[?db=N] names a socket, or the path alone",
	    unix_sockets },
	{ "a socket needs an absolute path and has no other parameter",
	    unix_errors },
	{ "a URL without a host is refused", no_host },
	{ "ports and databases are plain numbers in range", bad_numbers },
	{ "other kinds of URL are refused", kinds },
	{ "a host name has no character that cannot be in one",
	    host_characters },
	{ "valkey:// and valkeys:// are redis:// and rediss://", valkey },
	{ "a parameter is refused, and what takes its place is named",
	    parameters },
	{ "blanks and control characters are refused anywhere", blanks },
	{ "what is too long is refused, never cut", lengths },
	{ "the length of a password is that of its decoded bytes",
	    decoded_lengths },
	{ "rediss:// is the same with TLS; one server has one host", tls },
	{ "redis+sentinel://host[,host]/master[/db] names a master",
	    sentinels },
	{ "a URL of Sentinels has hosts and a master", sentinel_errors },
	{ "redis+cluster://host[,host] names nodes", clusters },
	{ "a URL of a cluster has hosts and no database", cluster_errors },
	{ "there may be sixteen hosts and no more", many_hosts },
	{ "two URLs that lead to the same place are known", places },
	{ "the address is shown as a URL that means the same", text_is_a_url },
	{ "the address is shown without its password", text_has_no_password },
	{ "a URL as it was typed is shown with its password masked", masking },
	{ "in a malformed URL of ours all that may be a password is masked",
	    masking_malformed },
	{ "a word that must be a server is masked without a scheme, too",
	    masking_servers },
	{ "a URL with a user alone is shown with that masked", masking_users },
	{ "a URL without a password is shown as it is", not_masked },
	{ "a password is cut out of a URL, and of nothing else", cutting },
	{ "a mask that has to be cut shows no password either", mask_sizes },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
