/* Members that have the same name in every document. */
#include <stddef.h>
#include <string.h>

#include "inspect/members.h"

const char *
members_server_state(enum reply_kind failure)
{
	switch (failure) {
	case REPLY_OK:
		return "ok";
	case REPLY_ERROR:
		return "error";
	case REPLY_DENIED:
		return "refused";
	case REPLY_LOST:
		break;
	}
	return "unreachable";
}

void
members_begin(struct json *j)
{
	json_object(j, NULL);
	json_number(j, "format", 1, 0);
}

void
members_servers(struct json *j, const struct query *q)
{
	json_array(j, "servers");
	for (const struct query_server *s = q->servers; s < q->end; s++) {
		bool ok = s->failure == REPLY_OK;

		json_object(j, NULL);
		json_string(j, "server", s->conn.address.text);
		json_string(j, "state", members_server_state(s->failure));
		json_string(j, "error", ok ? NULL : s->why);
		json_end(j);
	}
	json_end(j);
}

/* Returns NULL for a field that cannot be read. */
static const char *
known(const char *field)
{
	return field == NULL || strcmp(field, "?") == 0 ? NULL : field;
}

void
members_owner(struct json *j, const struct owner *o)
{
	json_string(j, "host", known(o == NULL ? NULL : o->host));
	json_number(j, "pid", o == NULL ? 0 : o->pid, 1);
	json_string(j, "user", known(o == NULL ? NULL : o->user));
	json_string(j, "command", known(o == NULL ? NULL : o->command));
	json_string(j, "version",
	    o == NULL || o->version[0] == '\0' ? NULL : o->version);
	json_string(j, "message",
	    o == NULL || o->message[0] == '\0' ? NULL : o->message);
}
