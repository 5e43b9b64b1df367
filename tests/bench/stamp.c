/*
 * "stamp COMMAND..." notes the time and becomes COMMAND; "stamp" as the COMMAND
 * of that writes into the file $STAMPS how long ago that was, in us.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	const char *began = getenv("STAMP"), *file = getenv("STAMPS");
	struct timespec t;
	long long now;
	char text[24];

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = t.tv_sec * 1000000LL + t.tv_nsec / 1000;
	if (argc == 1 && began != NULL && file != NULL)
		return dprintf(open(file, O_WRONLY | O_CREAT | O_TRUNC, 0666),
			   "%lld\n", now - atoll(began)) < 0;
	snprintf(text, sizeof(text), "%lld", now);
	setenv("STAMP", text, 1);
	execv(argv[1], argv + 1);
	return 127;
}
