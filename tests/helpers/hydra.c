/*
 * hydra [MILLISECONDS]: a process that leaves a child behind and dies, again
 * and again, so that a walk over the processes misses the living one.  It
 * ignores SIGTERM.  With MILLISECONDS each lives that long, in a process group
 * of its own.  It gives up after a minute.
 */
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	const time_t end = time(NULL) + 60;
	struct timespec life = { 0 };

	if (argc > 1)
		life.tv_nsec = atol(argv[1]) * 1000000;
	signal(SIGTERM, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	while (time(NULL) < end) {
		switch (fork()) {
		case -1:
			return 71;
		case 0:
			if (argc > 1) {
				setpgid(0, 0);
				nanosleep(&life, NULL);
			}
			continue;
		default:
			_exit(0);
		}
	}
	return 1;
}
