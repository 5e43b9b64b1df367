/*
 * Hosts hand out URLs for the client libraries of several languages: redis-py,
 * node-redis, go-redis and others.
 */
#include <stddef.h>
#include <string.h>

#include "redis/address_parameter.h"

#define HAS(name) "has the unknown parameter '" name "'; "
#define VERIFIED                                                               \
	"the certificate is always verified, by --tls-ca or the system's "     \
	"authorities"
#define CHOSEN  "leave it out, as redlock-run chooses it itself"
#define LIMITED "leave it out; --node-timeout limits each answer"

const char *
address_parameter(const char *query)
{
	static const struct {
		const char *name;
		const char *refusal;
	} known[] = {
		{ "db",
		    HAS("db") "a database is named behind the host, as in "
			      "redis://localhost/1, or behind the master, "
			      "as in mymaster/1" },
		{ "family",
		    HAS("family") "leave it out; all addresses of a "
				  "host are tried" },
		{ "username", HAS("username") "write redis://user@host" },
		{ "password", HAS("password") "use --password-file" },
		{ "ssl", HAS("ssl") "use a rediss:// URL" },
		{ "tls", HAS("tls") "use a rediss:// URL" },
		{ "ssl_cert_reqs", HAS("ssl_cert_reqs") VERIFIED },
		{ "ssl_check_hostname",
		    HAS("ssl_check_hostname") VERIFIED
		    ", for --tls-server-name if that is set" },
		{ "skip_verify", HAS("skip_verify") VERIFIED },
		{ "rejectUnauthorized", HAS("rejectUnauthorized") VERIFIED },
		{ "ssl_ca_certs", HAS("ssl_ca_certs") "use --tls-ca" },
		{ "ssl_certfile", HAS("ssl_certfile") "use --tls-cert" },
		{ "ssl_keyfile", HAS("ssl_keyfile") "use --tls-key" },
		{ "protocol", HAS("protocol") CHOSEN },
		{ "client_name",
		    HAS("client_name") "leave it out; "
				       "-m names a run" },
		{ "timeout", HAS("timeout") LIMITED },
		{ "socket_timeout", HAS("socket_timeout") LIMITED },
		{ "socket_connect_timeout",
		    HAS("socket_connect_timeout") LIMITED },
		{ "connectTimeout", HAS("connectTimeout") LIMITED },
		{ "dial_timeout", HAS("dial_timeout") LIMITED },
		{ "read_timeout", HAS("read_timeout") LIMITED },
		{ "write_timeout", HAS("write_timeout") LIMITED },
	};
	size_t len = strcspn(query, "=&");

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].name) == len &&
		    strncmp(query, known[i].name, len) == 0)
			return known[i].refusal;
	return "has an unknown parameter behind its '?'; leave it out, "
	       "redlock-run has options instead";
}
