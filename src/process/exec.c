#include <alloca.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/exec.h"

const char *
exec_path(void)
{
	const char *path = getenv("PATH");

	return path != NULL ? path : "/bin:/usr/bin"; /* as glibc */
}

/*
 * A file that is no program keeps its error where there is no shell.  The stack
 * has room: the kernel gives arguments a quarter of it at most.
 */
static void
exec_by_shell(char *file, char *const argv[])
{
	static char shell[] = "/bin/sh";
	size_t n = 0;
	char **by_shell;

	while (argv[n] != NULL)
		n++;
	/* A child of fork() must not call malloc(). */
	// cppcheck-suppress allocaCalled
	by_shell = alloca((n + 2) * sizeof(*by_shell));
	by_shell[0] = shell;
	by_shell[1] = file;
	memcpy(by_shell + 2, argv + 1, n * sizeof(*argv));
	execv(shell, by_shell);
	errno = ENOEXEC;
}

static void
exec_file(char *file, char *const argv[])
{
	execv(file, argv);
	if (errno == ENOEXEC)
		exec_by_shell(file, argv);
}

/* Whether another directory of the path may have the command. */
static bool
may_be_elsewhere(int error)
{
	return error == ENOENT || error == ENOTDIR || error == EACCES ||
	    error == ENAMETOOLONG || error == ESTALE || error == ENODEV ||
	    error == ETIMEDOUT;
}

/* Writes the first directory of path and the name to file. */
static void
join(char file[PATH_MAX], const char *path, size_t len, const char *name)
{
	if (snprintf(file, PATH_MAX, "%.*s%s%s", (int)len, path,
		len > 0 ? "/" : "", name) >= PATH_MAX)
		file[0] = '\0'; /* ENOENT */
}

void
exec_command(char *const argv[])
{
	const char *dir = exec_path();
	bool denied = false;
	char file[PATH_MAX];
	size_t len;

	if (argv[0][0] == '\0' || strchr(argv[0], '/') != NULL) {
		exec_file(argv[0], argv);
		return;
	}
	for (;; dir += len + 1) {
		len = strcspn(dir, ":");
		join(file, dir, len, argv[0]);
		exec_file(file, argv);
		denied = denied || errno == EACCES;
		if (!may_be_elsewhere(errno) || dir[len] == '\0')
			break;
	}
	if (denied && may_be_elsewhere(errno))
		errno = EACCES;
}
