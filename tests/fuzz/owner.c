/*
 * Any value is either foreign, or the owner that was read from it can be written
 * and read again without a difference.
 */
#include <stdlib.h>

#include "../../src/base/escape.c"
#include "../../src/protocol/owner.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char value[2048], id[OWNER_ID], details[OWNER_DETAILS], who[OWNER_WHO];
	struct owner o, again;
	int len, result = owner_parse(&o, (const char *)data, size);

	owner_who(who, &o, (const char *)data, size);
	if (result == -1)
		return 0;
	/* A token is a UUID, so the id does not encode it. */
	memset(o.token, 'x', sizeof(o.token) - 1);
	len = snprintf(value, sizeof(value), "%s%ssince=%lld %s",
	    o.in_cooldown ? "cooldown " : "", owner_id(&o, 1, id),
	    (long long)o.since_ms, owner_details(&o, details));
	if (owner_parse(&again, value, (size_t)len) == -1)
		abort();
	if (strcmp(o.host, again.host) != 0 ||
	    strcmp(o.user, again.user) != 0 ||
	    strcmp(o.command, again.command) != 0 || o.pid != again.pid ||
	    o.since_ms != again.since_ms || o.in_cooldown != again.in_cooldown)
		abort();
	return 0;
}
