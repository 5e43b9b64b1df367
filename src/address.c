/*
 * URLs are taken apart by hand: there is no small well-kept library for them,
 * and the grammar that is needed is smaller than any.  Nothing is trusted to
 * fit, and nothing is silently ignored.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"

/*
 * Copies src[0..len) to dst, percent-decoded.  False if it does not fit, is
 * badly encoded or holds a NUL.
 */
static bool
decode(char *dst, size_t size, const char *src, size_t len)
{
	char hex[3] = "";
	char *end;

	while (len > 0) {
		if (size-- < 2)
			return false;
		if (*src != '%') {
			*dst++ = *src++;
			len--;
			continue;
		}
		if (len < 3)
			return false;
		hex[0] = src[1];
		hex[1] = src[2];
		*dst = (char)strtol(hex, &end, 16);
		if (end != hex + 2 || hex[0] == '+' || hex[0] == '-' ||
		    hex[0] == ' ' || *dst++ == '\0')
			return false;
		src += 3;
		len -= 3;
	}
	*dst = '\0';
	return true;
}

/* A decimal number of digits alone, at most max; -1 for anything else. */
static int
number(const char *s, size_t len, int max)
{
	int n = 0;

	if (len == 0 || len > 9)
		return -1;
	for (; len > 0; s++, len--) {
		if (*s < '0' || *s > '9')
			return -1;
		n = n * 10 + (*s - '0');
	}
	return n <= max ? n : -1;
}

static const char *
unix_parse(struct address *a, const char *rest)
{
	const char *query = strchr(rest, '?');
	size_t len = query == NULL ? strlen(rest) : (size_t)(query - rest);

	if (rest[0] != '/')
		return "needs an absolute path, as in unix:///run/redis.sock";
	if (!decode(a->path, sizeof(a->path), rest, len))
		return "has a path that is too long or badly encoded";
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

static const char *
userinfo_parse(struct address *a, const char *s, size_t len)
{
	const char *colon = memchr(s, ':', len);
	size_t user_len = colon == NULL ? len : (size_t)(colon - s);

	if (!decode(a->user, sizeof(a->user), s, user_len))
		return "has a user name that is too long or badly encoded";
	if (colon == NULL)
		return NULL;
	if (!decode(a->password, sizeof(a->password), colon + 1,
		len - user_len - 1))
		return "has a password that is too long or badly encoded";
	return NULL;
}

static const char *
host_parse(struct address *a, const char *s, size_t len)
{
	const char *end, *port;

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
	if ((size_t)(end - s) >= sizeof(a->host))
		return "has a host name that is too long";
	memcpy(a->host, s, (size_t)(end - s));
	a->host[end - s] = '\0';
	if (strpbrk(a->host, " \t/?#@%\\\"") != NULL)
		return "has a host name with a character that cannot be in one";

	port = *end == ']' ? end + 1 : end;
	len -= (size_t)(port - s);
	if (len == 0)
		return NULL;
	if (*port != ':')
		return "has something between host and port";
	a->port = number(port + 1, len - 1, 65535);
	return a->port > 0 ? NULL : "has a bad port number";
}

static const char *
tcp_parse(struct address *a, const char *rest)
{
	bool v6;
	const char *slash, *at = NULL, *why;
	size_t len;

	/* A password may hold '/' and '@' unencoded if a host follows. */
	at = strrchr(rest, '@');
	if (at != NULL) {
		why = userinfo_parse(a, rest, (size_t)(at - rest));
		if (why != NULL)
			return why;
		rest = at + 1;
	}
	slash = strchr(rest, '/');
	len = slash == NULL ? strlen(rest) : (size_t)(slash - rest);
	a->port = 6379;
	why = host_parse(a, rest, len);
	if (why != NULL)
		return why;
	if (slash != NULL && slash[1] != '\0') {
		a->db = number(slash + 1, strlen(slash + 1), 999999999);
		if (a->db == -1)
			return "has a bad database number";
	}
	v6 = strchr(a->host, ':') != NULL;
	len = (size_t)snprintf(a->text, sizeof(a->text),
	    "redis://%.255s%s%s%s%s:%d", a->user, a->user[0] ? "@" : "",
	    v6 ? "[" : "", a->host, v6 ? "]" : "", a->port);
	if (a->db != 0)
		snprintf(a->text + len, sizeof(a->text) - len, "/%d", a->db);
	return NULL;
}

const char *
address_parse(struct address *a, const char *url)
{
	const char *scheme_end = strstr(url, "://");

	memset(a, 0, sizeof(*a));
	for (const char *p = url; *p != '\0'; p++)
		if ((unsigned char)*p <= 0x20 || *p == 0x7f)
			return "has a blank or control character in it";
	if (strncmp(url, "unix://", 7) == 0)
		return unix_parse(a, url + 7);
	if (strncmp(url, "redis://", 8) == 0)
		return tcp_parse(a, url + 8);
	if (scheme_end != NULL &&
	    strcspn(url, ":/@") == (size_t)(scheme_end - url))
		return "is of no known kind (redis://, unix:// or host:port)";
	if (strpbrk(url, "@/") != NULL)
		return "needs redis:// in front";
	return tcp_parse(a, url);
}

/* Where the password is, if the URL may have one, and how long; or NULL. */
static const char *
find_secret(const char *url, size_t *len)
{
	const char *start = url + strcspn(url, ":/@");
	const char *end = strrchr(url, '@');
	const char *query = strchr(url, '?');
	const char *secret = NULL;

	start = strncmp(start, "://", 3) == 0 ? start + 3 : url;
	if (end != NULL && end >= start)
		secret = memchr(start, ':', (size_t)(end - start));
	if (secret != NULL)
		secret++;
	if (query != NULL && (query = strstr(query, "password=")) != NULL) {
		query += strlen("password=");
		end = query + strlen(query);
		if (secret == NULL || query < secret)
			secret = query;
	}
	if (secret != NULL)
		*len = (size_t)(end - secret);
	return secret;
}

char *
address_mask(char *dst, size_t size, const char *url)
{
	size_t len;
	const char *secret = find_secret(url, &len);

	if (secret == NULL)
		snprintf(dst, size, "%s", url);
	else
		snprintf(dst, size, "%.*s***%s", (int)(secret - url), url,
		    secret + len);
	return dst;
}

void
address_wipe(char *url)
{
	size_t len;
	const char *secret = find_secret(url, &len);

	if (secret != NULL)
		memset(url + (secret - url), '*', len);
}
