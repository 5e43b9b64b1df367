/*
 * rooted COMMAND [ARG]...: set-user-ID root, it becomes root altogether and
 * runs COMMAND, as sudo does.
 */
#include <err.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	if (argc < 2)
		errx(64, "usage: rooted COMMAND [ARG]...");
	if (setresuid(0, 0, 0) == -1)
		err(71, "setresuid");
	execvp(argv[1], argv + 1);
	err(127, "%s", argv[1]);
}
