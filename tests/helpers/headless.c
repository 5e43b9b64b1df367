/*
 * headless: a process whose first thread has ended, so that it looks like a
 * zombie.  The other thread writes its pid and runs until it has read a line
 * from descriptor 8.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *
rest(void *arg)
{
	char c;

	dprintf(STDOUT_FILENO, "%d\n", getpid());
	while (read(8, &c, 1) == 1 && c != '\n')
		continue;
	return arg;
}

int
main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, rest, NULL) != 0)
		return 71;
	pthread_exit(NULL);
}
