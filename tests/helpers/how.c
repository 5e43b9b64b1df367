/*
 * how [-t] [-p FILE] COMMAND [ARG]...: runs COMMAND and prints how it ended, in
 * more detail than a shell: "exit N", "signal N" or "signal N core" is the last
 * line of its standard output.  COMMAND's pid goes to FILE.
 *
 * With -t, COMMAND runs at a terminal of its own, in the foreground, but leads
 * neither its group nor its session, as under a shell.  The terminal is there
 * until somebody ends how; what COMMAND writes to it is discarded.
 */
#include <sys/wait.h>

#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *file, *result;

/* Returns in a new process, the leader of a session at a new terminal. */
static void
open_terminal(void)
{
	char discarded[4096], *name;
	int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), fd;
	pid_t pid;

	if (terminal == -1 || grantpt(terminal) == -1 ||
	    unlockpt(terminal) == -1)
		err(71, "terminal");
	pid = fork();
	if (pid == -1)
		err(71, "fork");
	if (pid != 0)
		for (;;)
			if (read(terminal, discarded, sizeof(discarded)) <= 0)
				pause();
	name = ptsname(terminal);
	close(terminal);
	setsid();
	fd = open(name, O_RDWR);
	if (fd == -1)
		err(71, "%s", name);
	for (int i = 0; i <= 2; i++)
		dup2(fd, i);
	close(fd);
}

static pid_t
start(char **argv)
{
	void (*inherited)(int) = signal(SIGCHLD, SIG_DFL);
	pid_t pid = fork();

	if (pid == -1)
		err(71, "fork");
	if (pid == 0) {
		signal(SIGCHLD, inherited);
		execvp(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	return pid;
}

int
main(int argc, char **argv)
{
	bool terminal = false;
	int option, status;
	pid_t pid;

	while ((option = getopt(argc, argv, "+tp:")) != -1) {
		if (option == 't')
			terminal = true;
		else if (option != 'p')
			return 64;
		else if ((file = fopen(optarg, "we")) == NULL)
			err(71, "%s", optarg);
	}
	if (argv[optind] == NULL)
		errx(64, "usage: how [-t] [-p FILE] COMMAND [ARG]...");
	result = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "w");
	if (terminal)
		open_terminal();
	pid = start(argv + optind);
	if (file != NULL) {
		fprintf(file, "%d\n", pid);
		fclose(file);
	}
	if (waitpid(pid, &status, 0) == -1)
		err(71, "wait");
	if (WIFSIGNALED(status))
		fprintf(result, "signal %d%s\n", WTERMSIG(status),
		    WCOREDUMP(status) ? " core" : "");
	else
		fprintf(result, "exit %d\n", WEXITSTATUS(status));
	fclose(result);
	if (terminal)
		pause();
	return 0;
}
