#include <stdio.h>
#include <string.h>

#include "redis/conn_why.h"
#include "redis/error.h"

char *
conn_why_failed(const struct conn *c, const char *why, char buf[CONN_WHY])
{
	const char *who = c->handshake.at_sentinel ? "Sentinel" :
	    c->address.kind == ADDRESS_SENTINEL    ? "master" :
						     "node";
	const char *withheld = handshake_why_withheld(&c->handshake);
	const char *host = c->at.host;
	char full[CONN_WHY];
	bool plain = c->address.kind == ADDRESS_SERVER;
	bool v6 = strchr(host, ':') != NULL;
	size_t len;

	if (error_requires_password(why) && withheld != NULL) {
		snprintf(full, sizeof(full),
		    "the server requires a password, but %s", withheld);
		why = full;
	} else if (error_lacks_eval(why)) {
		snprintf(full, sizeof(full),
		    "this server does not run scripts (EVAL is renamed or "
		    "disabled%s)",
		    plain ? "; for a Sentinel use "
			    "redis+sentinel://host:port/master" :
			    "");
		why = full;
	}
	if (error_forgot_script(why))
		why = "the server forgets scripts";
	buf[0] = '\0';
	if (!plain) {
		if (c->at.port != 0)
			snprintf(buf, CONN_WHY, "%s %s%.100s%s:%d: ", who,
			    v6 ? "[" : "", host, v6 ? "]" : "", c->at.port);
		len = strlen(buf);
		if (strncmp(why, buf, len) == 0)
			len = 0;
		error_copy(buf + len, CONN_WHY - len, why);
	} else if (strncmp(why, "MOVED ", 6) == 0)
		snprintf(buf, CONN_WHY,
		    "%.150s (use a redis+cluster:// URL for a cluster)", why);
	else
		error_copy(buf, CONN_WHY, why);
	return buf;
}

char *
conn_why_silent(const struct conn *c, const char *within, const char *hint,
    char buf[CONN_WHY])
{
	bool others =
	    topology_awaited(&c->topology) != NULL || link_tls_awaited(c->link);
	const char *what = others || c->good ?
	    "no answer" :
	    !link_reached(c->link) ?
	    "no connection" :
	    c->state == CONN_HANDSHAKE ?
	    "connected, but no reply to the handshake" :
	    "connected, but no reply";

	snprintf(buf, CONN_WHY, "%s within %.32s%s", what, within,
	    others ? "" : hint);
	return buf;
}
