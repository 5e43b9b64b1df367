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

int
environment_export(
    const struct locks *locks, const struct owner *owner, const char *site)
{
	char fences[LOCKS_MAX * 24], names[LOCKS_MAX * (LOCK_NAME + 1)];
	char pid[16];
	const struct {
		const char *name;
		const char *value;
	} vars[] = {
		{ "REDLOCK_KEY", names },
		{ "REDLOCK_TOKEN", owner->token },
		{ "REDLOCK_FENCE", fences },
		{ "REDLOCK_PID", pid },
		{ "REDLOCK_SITE", site },
	};
	size_t nlen = 0, flen = 0;

	for (int i = 0; i < locks_count(locks); i++) {
		const struct lock *l = locks_at(locks, i);

		nlen += (size_t)snprintf(names + nlen, sizeof(names) - nlen,
		    "%s%s", i > 0 ? "\n" : "", lock_name(l));
		flen += (size_t)snprintf(fences + flen, sizeof(fences) - flen,
		    "%s%" PRId64, i > 0 ? " " : "", lock_fence(l));
	}
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	for (size_t i = 0; i < sizeof(vars) / sizeof(vars[0]); i++)
		if (unsetenv(vars[i].name) == -1 ||
		    setenv(vars[i].name, vars[i].value, 1) == -1)
			return -1;
	if (unsetenv("REDLOCK_COMMAND_PID") == -1 || putenv(command_pid) != 0)
		return -1;
	return 0;
}
