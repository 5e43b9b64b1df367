/*
 * errno alone misleads: ENOENT is also the error of a script whose interpreter is
 * missing, and EACCES that of a directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exit.h"
#include "base/log.h"
#include "process/exec.h"
#include "run/exec_error.h"

#define INTERPRETER 256 /* BINPRM_BUF_SIZE of the kernel */
#define REASON      (PATH_MAX + 64)

/* Finds the file that exec_command() tried first.  Returns false if there is none. */
static bool
find_file(const char *command, char file[PATH_MAX])
{
	const char *dir = exec_path();
	size_t len;

	if (strchr(command, '/') != NULL) {
		snprintf(file, PATH_MAX, "%s", command);
		return access(file, F_OK) == 0;
	}
	for (;; dir += len + 1) {
		len = strcspn(dir, ":");
		snprintf(file, PATH_MAX, "%.*s%s%s", (int)len, dir,
		    len > 0 ? "/" : "", command);
		if (command[0] != '\0' && access(file, F_OK) == 0)
			return true;
		if (dir[len] == '\0')
			return false;
	}
}

/* Reads the interpreter of a script; "" if the file is none. */
static char *
read_interpreter(const char *file, char text[INTERPRETER])
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd == -1 ? -1 : read(fd, text, INTERPRETER - 1);
	size_t skip;

	if (fd != -1)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	if (strncmp(text, "#!", 2) != 0) {
		text[0] = '\0';
		return text;
	}
	skip = 2 + strspn(text + 2, " \t");
	memmove(text, text + skip, strlen(text + skip) + 1);
	text[strcspn(text, " \t\n")] = '\0';
	return text;
}

/* Writes the reason why the command cannot be executed. */
static void
explain(const char *command, int error, char reason[REASON])
{
	char file[PATH_MAX], interpreter[INTERPRETER];
	bool found = find_file(command, file);
	struct stat st;

	if (found && stat(file, &st) == 0 && S_ISDIR(st.st_mode))
		snprintf(reason, REASON, "%s", strerror(EISDIR));
	else if (found && error == ENOENT &&
	    read_interpreter(file, interpreter)[0] != '\0')
		snprintf(reason, REASON,
		    "its interpreter '%s' does not exist%s", interpreter,
		    strchr(interpreter, '\r') == NULL ?
			"" :
			"; the file's lines end in CR LF, as on Windows");
	else if (!found && error == ENOENT && strchr(command, '/') == NULL)
		snprintf(reason, REASON, "not found in PATH=%s", exec_path());
	else
		snprintf(reason, REASON, "%s", strerror(error));
}

int
exec_report(const struct options *opt, int error)
{
	const char *command = opt->command[0];
	bool found = error != ENOENT;
	bool line = !found && strpbrk(command, " \t\n") != NULL;
	char reason[REASON];

	explain(command, error, reason);
	warn("%s: '%s' was not run: %s%s", opt->names.joined, command, reason,
	    line ? "; use sh -c for a command line in one word" : "");
	return found ? EXIT_CANNOT_EXEC : EXIT_NOT_FOUND;
}
