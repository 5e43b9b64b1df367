#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/child.h"
#include "protocol/key.h"
#include "run/environment.h"

#define COMMAND_PID "REDLOCK_COMMAND_PID="

/* Part of the environment: COMMAND's pid is known only once COMMAND exists. */
static char command_pid[sizeof(COMMAND_PID) + CHILD_PID_TEXT] = COMMAND_PID;

char *
environment_command_pid(void)
{
	return command_pid + strlen(COMMAND_PID);
}

struct variable {
	const char *name;
	const char *value; /* NULL: unset */
};

#define VARIABLES 6

/* Whether an entry of the environment is one of those that we set. */
static bool
is_ours(const char *entry, const struct variable vars[VARIABLES])
{
	for (int i = 0; i < VARIABLES; i++) {
		size_t len = strlen(vars[i].name);

		if (strncmp(entry, vars[i].name, len) == 0 && entry[len] == '=')
			return true;
	}
	return strncmp(entry, COMMAND_PID, sizeof(COMMAND_PID) - 1) == 0;
}

/*
 * Replaces our environment by one store, since a lookup may be reading it in
 * another thread.
 */
static int
set_all(const struct variable vars[VARIABLES])
{
	char **env, **old;
	size_t n = 0;

	for (old = environ; old != NULL && *old != NULL; old++)
		n++;
	env = calloc(n + VARIABLES + 2, sizeof(*env));
	if (env == NULL)
		return -1;
	n = 0;
	for (old = environ; old != NULL && *old != NULL; old++)
		if (!is_ours(*old, vars))
			env[n++] = *old;
	for (int i = 0; i < VARIABLES; i++)
		if (vars[i].value != NULL &&
		    asprintf(&env[n++], "%s=%s", vars[i].name, vars[i].value) ==
			-1) {
			free(env);
			return -1;
		}
	env[n] = command_pid;
	environ = env;
	return 0;
}

int
environment_export(const struct locks *locks, const struct owner *owner,
    const char *site, bool numbered)
{
	char fences[LOCKS_MAX * 24], names[LOCKS_MAX * (LOCK_NAME + 1)];
	char slots[LOCKS_MAX * 4], pid[16];
	const struct variable vars[VARIABLES] = {
		{ "REDLOCK_KEY", names },
		{ "REDLOCK_TOKEN", owner->token },
		{ "REDLOCK_FENCE", fences },
		{ "REDLOCK_SLOT", numbered ? slots : NULL },
		{ "REDLOCK_PID", pid },
		{ "REDLOCK_SITE", site },
	};
	size_t nlen = 0, flen = 0, slen = 0;

	for (int i = 0; i < locks_count(locks); i++) {
		const struct lock *l = locks_at(locks, i);

		nlen += (size_t)snprintf(names + nlen, sizeof(names) - nlen,
		    "%s%s", i > 0 ? "\n" : "", lock_name(l));
		flen += (size_t)snprintf(fences + flen, sizeof(fences) - flen,
		    "%s%" PRId64, i > 0 ? " " : "", lock_fence(l));
		slen += (size_t)snprintf(slots + slen, sizeof(slots) - slen,
		    "%s%d", i > 0 ? " " : "", lock_slot(l));
	}
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	return set_all(vars);
}
