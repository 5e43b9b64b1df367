/*
 * how [-p FILE] COMMAND [ARG]...: runs COMMAND and prints how it ended, in more
 * detail than a shell: "exit N", "signal N" or "signal N core" is the last line
 * of its standard output.  COMMAND's pid goes to FILE.
 */
#include <sys/wait.h>

#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	FILE *file;
	void (*inherited)(int);
	pid_t pid;
	int status;

	argv++;
	if (argc > 3 && strcmp(argv[0], "-p") == 0) {
		file = fopen(argv[1], "w");
		if (file == NULL)
			err(71, "%s", argv[1]);
		argv += 2;
	} else
		file = NULL;
	if (argv[0] == NULL)
		errx(64, "usage: how [-p FILE] COMMAND [ARG]...");
	inherited = signal(SIGCHLD, SIG_DFL);
	pid = fork();
	if (pid == -1)
		err(71, "fork");
	if (pid == 0) {
		if (file != NULL)
			fclose(file);
		signal(SIGCHLD, inherited);
		execvp(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	if (file != NULL) {
		fprintf(file, "%d\n", pid);
		fclose(file);
	}
	if (waitpid(pid, &status, 0) == -1)
		err(71, "wait");
	if (WIFSIGNALED(status))
		printf("signal %d%s\n", WTERMSIG(status),
		    WCOREDUMP(status) ? " core" : "");
	else
		printf("exit %d\n", WEXITSTATUS(status));
	return 0;
}
