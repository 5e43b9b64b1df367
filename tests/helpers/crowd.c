/*
 * crowd N: N processes that do nothing, and live as long as it does.  It
 * writes a line when all of them are there.
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	if (argc != 2)
		errx(64, "usage: crowd N");
	for (int i = atoi(argv[1]); i > 0; i--)
		switch (fork()) {
		case -1:
			err(71, "fork");
		case 0:
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
