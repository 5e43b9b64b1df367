/*
 * rooted COMMAND [ARG]...: installed set-user-ID root, runs COMMAND as root in
 * all respects, like sudo.
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
