/*
 * beat FILE: writes the time of day, in microseconds, over the contents of FILE
 * every half millisecond.  After its death FILE has the time when it was last
 * alive.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 500000 };
	struct timespec now;
	char line[32];
	int file, length;

	if (argc != 2)
		errx(64, "usage: beat FILE");
	file = open(argv[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (file == -1)
		err(71, "%s", argv[1]);
	for (;;) {
		clock_gettime(CLOCK_REALTIME, &now);
		length = snprintf(line, sizeof line, "%lld\n",
		    now.tv_sec * 1000000LL + now.tv_nsec / 1000);
		if (pwrite(file, line, (size_t)length, 0) == -1)
			err(71, "%s", argv[1]);
		nanosleep(&pause, NULL);
	}
}
