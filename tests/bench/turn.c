/*
 * turn FILE [GO]: a COMMAND that writes into FILE when it began and when it
 * ends, in us: some milliseconds later, or once there is a file GO.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static long long
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

int
main(int argc, char **argv)
{
	long long began = now_us();
	char text[64];
	int fd, n;

	if (argc < 2)
		return 64;
	fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0666);
	if (argc > 2) {
		dprintf(fd, "0 0\n");
		while (access(argv[2], F_OK) == -1)
			usleep(5000);
	} else
		usleep(10000);
	n = snprintf(text, sizeof(text), "%lld ", began);
	n += snprintf(text + n, sizeof(text) - (size_t)n, "%lld\n", now_us());
	return write(fd, text, (size_t)n) != n;
}
