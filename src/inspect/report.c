/* Messages about servers that have failed. */
#include "base/log.h"
#include "config/advice.h"
#include "inspect/probe.h"
#include "inspect/report.h"
#include "protocol/acl.h"
#include "redis/error.h"

void
report_server(struct query_server *s, bool asks)
{
	struct query *q = s->query;
	char why[QUERY_WHY], rule[ACL_TEXT], password[ADVICE_PASSWORD];

	if (s->failure == REPLY_OK)
		return;
	warn("%s%s", query_server_why(s, why),
	    advice_password(password, q->opt->settings.file.path, s->why));
	if (error_denies(s->why))
		warn("%s: allow it with: ACL SETUSER %s %s",
		    s->conn.address.text, address_user(&s->conn.address),
		    asks ? probe_missing(q, (int)(s - q->servers),
			       acl_asking(RIGHTS_ALL), rule) :
			   acl_text(rule, q->opt->settings.prefix));
}

int
report_servers(struct query *q, bool asks, int *failures)
{
	for (struct query_server *s = q->servers; s < q->end; s++)
		report_server(s, asks);
	*failures = q->nservers - query_working(q);
	return query_status(q);
}
