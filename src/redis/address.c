/*
 * Parsed by hand: there is no small, maintained library for URLs, and our
 * grammar is smaller than theirs.  Every length is checked, and no part is
 * silently ignored.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/secret.h"
#include "redis/address.h"
#include "redis/address_parameter.h"

/*
 * Copies src[0..len) to dst, percent-decoded.  Returns false if it does not
 * fit, is badly encoded or contains a NUL.
 */
static bool
decode(char *dst, size_t size, const char *src, size_t len)
{
	int high, low;

	while (len > 0) {
		if (size-- < 2)
			return false;
		if (*src != '%') {
			*dst++ = *src++;
			len--;
			continue;
		}
		if (len < 3 || (high = number_hex(src[1])) == -1 ||
		    (low = number_hex(src[2])) == -1 || high + low == 0)
			return false;
		*dst++ = (char)(high * 16 + low);
		src += 3;
		len -= 3;
	}
	*dst = '\0';
	return true;
}

/* Returns the number in s[0..len), 0 to max, or -1 for anything else. */
static int
number(const char *s, size_t len, int max)
{
	int64_t n;

	return number_parse(s, len, max, &n) == 0 ? (int)n : -1;
}

int
address_port(const char *text)
{
	int port = number(text, strlen(text), 65535);

	return port > 0 ? port : -1;
}

static const char *
unix_parse(struct address *a, const char *rest)
{
	const char *query = strchr(rest, '?');
	size_t len = query == NULL ? strlen(rest) : (size_t)(query - rest);

	if (rest[0] != '/' && strchr(rest, '@') != NULL)
		return "has a user or password, which a socket's URL cannot "
		       "have; use --password-file or REDISCLI_AUTH";
	if (rest[0] != '/')
		return "needs an absolute path, as in unix:///run/redis.sock";
	if (!decode(a->path, sizeof(a->path), rest, len))
		return "has a path that is too long or badly encoded";
	/* It would be shown, and the URL may have a password. */
	if (strstr(a->path, "://") != NULL)
		return "has another URL in its path";
	if (query != NULL) {
		if (strncmp(query, "?db=", 4) != 0)
			return "has an unknown parameter (only ?db=N)";
		a->db = number(query + 4, strlen(query + 4), 999999999);
		if (a->db == -1)
			return "has a bad database number";
	}
	snprintf(a->text, sizeof(a->text),
	    a->db != 0 ? "unix://%s?db=%d" : "unix://%s", a->path, a->db);
	return NULL;
}

/*
 * User and password in a word that may be a URL: the text between its scheme,
 * if any, and the last '@'. This is the only parser for them, so whatever is
 * used as a password is also masked as one.
 */
struct userinfo {
	const char *begin;
	const char *colon; /* before the password; NULL: no password */
	const char *end;   /* the '@'; NULL: no user and no password */
	bool scheme;       /* the word begins with a scheme */
};

static struct userinfo
find_userinfo(const char *word)
{
	const char *first = word + strcspn(word, ":/@");
	bool scheme = strncmp(first, "://", 3) == 0;
	struct userinfo u = { .begin = scheme ? first + 3 : word,
		.scheme = scheme };

	u.end = strrchr(u.begin, '@');
	if (u.end != NULL)
		u.colon = memchr(u.begin, ':', (size_t)(u.end - u.begin));
	return u;
}

static const char *
password_parse(struct address *a, const char *s, size_t len)
{
	char password[ADDRESS_SECRET];
	bool good = decode(password, sizeof(password), s, len);

	if (good && password[0] != '\0')
		a->password = secret_keep(password, strlen(password));
	explicit_bzero(password, sizeof(password));
	return good ? NULL : "has a password that is too long or badly encoded";
}

static const char *
userinfo_parse(struct address *a, const struct userinfo *u)
{
	const char *user_end = u->colon != NULL ? u->colon : u->end;

	if (!decode(a->user, sizeof(a->user), u->begin,
		(size_t)(user_end - u->begin)))
		return "has a user name that is too long or badly encoded";
	a->user_alone = u->colon == NULL && a->user[0] != '\0';
	if (u->colon == NULL)
		return NULL;
	return password_parse(a, u->colon + 1, (size_t)(u->end - u->colon - 1));
}

/* Reads one host[:port]; port is the default. */
static const char *
host_parse(struct address *a, const char *s, size_t len, int port)
{
	struct endpoint *at = &a->at[a->nat];
	const char *end, *rest;

	if (a->nat == ADDRESS_HOSTS)
		return "has too many hosts";
	if (len > 0 && s[0] == '[') {
		end = memchr(s, ']', len);
		if (end == NULL)
			return "has a '[' without its ']'";
		s++, len--;
	} else {
		end = memchr(s, ':', len);
		if (end == NULL)
			end = s + len;
	}
	if (end == s)
		return "has no host";
	if ((size_t)(end - s) >= sizeof(at->host))
		return "has a host name that is too long";
	memcpy(at->host, s, (size_t)(end - s));
	at->host[end - s] = '\0';
	if (strpbrk(at->host, " \t/?#@%\\\",") != NULL)
		return "has a host name with a character that cannot be in one";

	at->port = port;
	a->nat++;
	rest = *end == ']' ? end + 1 : end;
	len -= (size_t)(rest - s);
	if (len == 0)
		return NULL;
	if (*rest != ':')
		return "has something between host and port";
	at->port = number(rest + 1, len - 1, 65535);
	return at->port > 0 ? NULL : "has a port that is not 1 to 65535";
}

const char *
address_endpoint(struct endpoint *at, const char *word)
{
	struct address a = { .nat = 0 };
	const char *wrong;

	*at = (struct endpoint){ .port = 0 };
	if (word[0] == '/')
		return decode(at->host, sizeof(at->host), word, strlen(word)) ?
		    NULL :
		    "has a path that is too long or badly encoded";
	if (strstr(word, "://") != NULL)
		return "has a URL in place of HOST[:PORT]";
	wrong = host_parse(&a, word, strlen(word), 0);
	*at = a.at[0];
	return wrong;
}

/* Reads a list of hosts, or the only host of a server. */
static const char *
hosts_parse(struct address *a, const char *s, size_t len, int port)
{
	const char *comma, *why;

	if (a->kind == ADDRESS_SERVER && memchr(s, ',', len) != NULL)
		return "has a comma; separate servers by blanks in "
		       "REDLOCK_REDIS, or repeat -r";
	if (a->kind == ADDRESS_SERVER)
		return host_parse(a, s, len, port);
	while ((comma = memchr(s, ',', len)) != NULL) {
		why = host_parse(a, s, (size_t)(comma - s), port);
		if (why != NULL)
			return why;
		len -= (size_t)(comma + 1 - s);
		s = comma + 1;
	}
	return host_parse(a, s, len, port);
}

/* Reads the text after the hosts: "/master" for Sentinels, and "/db". */
static const char *
path_parse(struct address *a, const char *slash)
{
	const char *end;

	if (a->kind == ADDRESS_SENTINEL) {
		if (slash == NULL || slash[1] == '\0' || slash[1] == '/')
			return "does not name the master, as in "
			       "redis+sentinel://host:26379/mymaster";
		end = slash + 1 + strcspn(slash + 1, "/");
		if (!decode(a->master, sizeof(a->master), slash + 1,
			(size_t)(end - slash - 1)))
			return "has a master's name that is too long or badly "
			       "encoded";
		slash = *end == '/' ? end : NULL;
	}
	if (slash == NULL || slash[1] == '\0')
		return NULL;
	if (a->kind == ADDRESS_CLUSTER)
		return "has a path; a cluster has one database";
	a->db = number(slash + 1, strlen(slash + 1), 999999999);
	return a->db == -1 ? "has a bad database number" : NULL;
}

/*
 * Writes the URL for messages and comparisons: without the password, and
 * without a user that stands alone, which may be one.
 */
static void
write_text(struct address *a, const char *scheme)
{
	size_t size = sizeof(a->text), len;
	bool v6;

	len = (size_t)snprintf(a->text, size, "%s://%.255s%s", scheme,
	    a->user_alone ? "***" : a->user, a->user[0] ? "@" : "");
	for (int i = 0; i < a->nat && len < size; i++) {
		v6 = strchr(a->at[i].host, ':') != NULL;
		len += (size_t)snprintf(a->text + len, size - len,
		    "%s%s%s%s:%d", i > 0 ? "," : "", v6 ? "[" : "",
		    a->at[i].host, v6 ? "]" : "", a->at[i].port);
	}
	if (a->master[0] != '\0' && len < size)
		len += (size_t)snprintf(a->text + len, size - len, "/%s",
		    a->master);
	if (a->db != 0 && len < size)
		snprintf(a->text + len, size - len, "/%d", a->db);
}

static const char *
tcp_parse(struct address *a, const char *url, const char *scheme)
{
	/* A password may contain an unencoded '/' or '@' if a host follows. */
	const struct userinfo u = find_userinfo(url);
	const char *rest = u.end != NULL ? u.end + 1 : u.begin;
	const char *query = strchr(rest, '?'), *why;
	size_t len = strcspn(rest, "/?");

	if (u.end != NULL && (why = userinfo_parse(a, &u)) != NULL)
		return why;
	why = hosts_parse(a, rest, len,
	    a->kind == ADDRESS_SENTINEL ? 26379 : 6379);
	if (why == NULL && query != NULL)
		why = address_parameter(query + 1);
	if (why == NULL)
		why = path_parse(a, rest[len] == '/' ? rest + len : NULL);
	if (why == NULL)
		write_text(a, scheme);
	return why;
}

/* Whether url[0..len) is that scheme, or the same of Valkey. */
static bool
is_scheme(const char *url, size_t len, const char *scheme)
{
	const size_t redis = strlen("redis"), valkey = strlen("valkey");

	if (len >= valkey && strncmp(url, "valkey", valkey) == 0) {
		url += valkey;
		len -= valkey;
		scheme += redis;
	}
	return len == strlen(scheme) && strncmp(url, scheme, len) == 0;
}

const char *
address_parse(struct address *a, const char *url)
{
	static const struct {
		const char *scheme;
		enum address_kind kind;
		bool tls;
	} schemes[] = {
		{ "redis", ADDRESS_SERVER, false },
		{ "rediss", ADDRESS_SERVER, true },
		{ "redis+sentinel", ADDRESS_SENTINEL, false },
		{ "rediss+sentinel", ADDRESS_SENTINEL, true },
		{ "redis+cluster", ADDRESS_CLUSTER, false },
		{ "rediss+cluster", ADDRESS_CLUSTER, true },
	};
	const char *scheme_end = strstr(url, "://");
	size_t len = scheme_end == NULL ? 0 : (size_t)(scheme_end - url);

	memset(a, 0, sizeof(*a));
	for (const char *p = url; *p != '\0'; p++)
		if ((unsigned char)*p <= 0x20 || *p == 0x7f)
			return "contains a blank or control character";
	if (strncmp(url, "unix://", 7) == 0)
		return unix_parse(a, url + 7);
	if (url[0] == '/')
		return unix_parse(a, url);
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		if (!is_scheme(url, len, schemes[i].scheme))
			continue;
		a->kind = schemes[i].kind;
		a->tls = schemes[i].tls;
		return tcp_parse(a, url, schemes[i].scheme);
	}
	if (scheme_end != NULL && strcspn(url, ":/@") == len)
		return "has an unknown scheme (known: redis://, rediss://, "
		       "redis+sentinel://, redis+cluster://, valkey:// as "
		       "redis://, unix:// or host:port)";
	len = strcspn(url, ":");
	if (url[len] == ':' && url[len + 1] == '/' &&
	    (is_scheme(url, len, "redis") || is_scheme(url, len, "rediss")))
		return "has one '/' too few; write it as in redis://localhost";
	if (strpbrk(url, "@/") != NULL)
		return "lacks redis:// in front";
	return tcp_parse(a, url, "redis");
}

const char *
address_user(const struct address *a)
{
	return a->user[0] != '\0' ? a->user : "default";
}

bool
address_same(const struct address *a, const struct address *b)
{
	if (a->kind != b->kind || a->nat != b->nat ||
	    strcmp(a->path, b->path) != 0 || strcmp(a->master, b->master) != 0)
		return false;
	for (int i = 0; i < a->nat; i++)
		if (a->at[i].port != b->at[i].port ||
		    strcmp(a->at[i].host, b->at[i].host) != 0)
			return false;
	return true;
}

/* Whether the word is a URL of ours, or was meant as one. */
static bool
is_ours(const char *word, const struct userinfo *u)
{
	static const char *const names[] = { "redis", "valkey", "unix" };

	for (size_t i = 0; u->scheme && i < sizeof(names) / sizeof(*names);
	     i++) {
		const char *name = strcasestr(word, names[i]);

		if (name != NULL && name < u->begin)
			return true;
	}
	return false;
}

/*
 * Finds the text in a list of hosts that follows a ':' and is no port: a
 * password of a URL that lacks its '@' or has it encoded.
 */
static const char *
find_no_port(const char *hosts)
{
	const char *end = hosts + strcspn(hosts, "/?"), *p, *close;

	for (p = hosts; p < end; p++) {
		close = *p == '[' ? memchr(p, ']', (size_t)(end - p)) : NULL;
		if (close != NULL)
			p = close;
		else if (*p == ':' && p[1] != '\0' &&
		    number(p + 1, strcspn(p + 1, ",/?"), 65535) <= 0)
			return p + 1;
	}
	return NULL;
}

/* Finds the first value behind a '?', other than the number of a database. */
static const char *
find_value(const char *rest)
{
	const char *value = strchr(rest, '?');
	size_t digits;

	if (value == NULL)
		return NULL;
	value++;
	if (strncmp(value, "db=", 3) == 0) {
		digits = strspn(value + 3, "0123456789");
		if (value[3 + digits] == '\0')
			return NULL;
		if (value[3 + digits] == '&')
			value += 3 + digits + 1;
	}
	return value[strcspn(value, "=")] == '=' ?
	    value + strcspn(value, "=") + 1 :
	    value;
}

/* Returns the earlier of two places in one text, each of which may be NULL. */
static const char *
earlier(const char *a, const char *b)
{
	return b != NULL && (a == NULL || b < a) ? b : a;
}

/*
 * Finds a secret that lasts until the end of the word: one without its host, or
 * behind a '?'.
 */
static const char *
find_open_secret(const char *word, const struct userinfo *u, bool server)
{
	const char *rest = u->end != NULL ? u->end + 1 : u->begin;
	const char *query = strchr(word, '?'), *secret = NULL;

	if (u->end == NULL && u->scheme && *u->begin == ':')
		secret = u->begin + 1;
	if (query != NULL && (query = strstr(query, "password=")) != NULL)
		secret = earlier(secret, query + strlen("password="));
	if (server || is_ours(word, u))
		secret = earlier(secret,
		    earlier(find_no_port(rest), find_value(rest)));
	return secret;
}

/*
 * Finds the secret in a word that may be a URL, or must be one if it names a
 * server: its password, or a user that stands alone, which redis-cli takes for
 * a password.  Returns its start, with its length and whether it is a password;
 * NULL if there is none.
 */
static const char *
find_secret(const char *word, bool server, size_t *len, bool *password)
{
	const struct userinfo u = find_userinfo(word);
	const char *secret = u.colon != NULL ? u.colon + 1 : NULL;
	const char *end = u.end;
	const char *open = find_open_secret(word, &u, server);

	*password = secret != NULL || open != NULL;
	if (secret == NULL && end != NULL && end > u.begin && *u.begin != '/' &&
	    (u.scheme || memchr(u.begin, '/', (size_t)(end - u.begin)) == NULL))
		secret = u.begin;
	if (open != NULL) {
		secret = earlier(secret, open);
		end = open + strlen(open);
	}
	if (secret != NULL)
		*len = (size_t)(end - secret);
	return secret;
}

static char *
mask(char *dst, size_t size, const char *word, bool server)
{
	size_t len;
	bool password;
	const char *secret = find_secret(word, server, &len, &password);

	if (secret == NULL)
		snprintf(dst, size, "%s", word);
	else
		snprintf(dst, size, "%.*s***%s", (int)(secret - word), word,
		    secret + len);
	return dst;
}

char *
address_mask(char *dst, size_t size, const char *word)
{
	return mask(dst, size, word, false);
}

char *
address_mask_server(char *dst, size_t size, const char *word)
{
	return mask(dst, size, word, true);
}

bool
address_has_password(const char *word, bool server)
{
	size_t len;
	bool password;

	return find_secret(word, server, &len, &password) != NULL && password;
}

void
address_wipe(char *url)
{
	size_t len;
	bool password;
	const char *secret = find_secret(url, false, &len, &password);

	if (secret != NULL && password)
		memset(url + (secret - url), '*', len);
}

bool
address_cut(char *url)
{
	size_t len;
	bool password;
	const char *secret = find_secret(url, false, &len, &password);
	char *from;

	if (secret == NULL || !password || secret == url || secret[-1] != ':')
		return false;
	from = url + (secret - url) - 1;
	secret += len;
	/* Without a user the '@' goes as well. */
	if (from[-1] == '/' && *secret == '@')
		secret++;
	memmove(from, secret, strlen(secret) + 1);
	return true;
}
