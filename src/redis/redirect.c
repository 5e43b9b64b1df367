/* Limits the redirections of a request, so that a loop of them ends. */
#include "redis/redirect.h"
#include "redis/topology.h"

#define REDIRECTS 8 /* that a request may follow */

void
redirect_to(struct redirect *r, const struct endpoint *to)
{
	r->to = *to;
	r->due = true;
}

bool
redirect_take(struct redirect *r, struct pending_request *request,
    const char *error, const char *host)
{
	if (request->bytes == NULL || request->redirects == REDIRECTS ||
	    topology_moved(error, host, &r->to, &request->asking) == -1)
		return false;
	request->redirects++;
	pending_add(&r->moved, *request);
	request->bytes = NULL;
	r->due = true;
	return true;
}

void
redirect_resend(struct redirect *r, struct link *l)
{
	const char *const asking[] = { "ASKING" };
	struct pending_request request;

	while (!pending_empty(&r->moved)) {
		request = pending_take(&r->moved);
		if (request.asking)
			link_send(l, REDIRECT_ASKING, 1, asking, false);
		if (link_resend(l, &request) == -1) {
			pending_add(&r->moved, request);
			link_abort(l, REPLY_LOST,
			    "the request could not be sent "
			    "again");
			return;
		}
	}
}
