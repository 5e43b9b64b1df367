/*
 * "term FILE": a COMMAND that writes into FILE when SIGTERM came, in us of
 * CLOCK_MONOTONIC, and ends.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	struct timespec t;
	sigset_t term;
	int got, fd;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	if (argc != 2 ||
	    (fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666)) == -1)
		return 1;
	sigwait(&term, &got);
	clock_gettime(CLOCK_MONOTONIC, &t);
	return dprintf(fd, "%lld\n", t.tv_sec * 1000000LL + t.tv_nsec / 1000) <
	    0;
}
