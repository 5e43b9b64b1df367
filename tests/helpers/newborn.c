/*
 * newborn: prints after how many microseconds its parent has another child in a
 * session of its own; 1000000 if there is none in the first second.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000L + ts.tv_nsec / 1000;
}

/*
 * Whether pid may be younger than parent: the numbers start again when they
 * have run out.
 */
static int
younger(int pid, int parent)
{
	return pid > parent || pid < parent / 2;
}

/* Whether pid is a child of parent and leads a session. */
static int
is_there(int pid, int parent)
{
	char path[40], name[64];
	int ppid = 0, session = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (file == NULL)
		return 0;
	if (fscanf(file, "%*d (%63[^)]) %*c %d %*d %d", name, &ppid,
		&session) != 3)
		ppid = 0;
	fclose(file);
	return ppid == parent && session == pid;
}

int
main(void)
{
	long start = now_us(), now = start;
	int parent = getppid(), pid;
	const struct dirent *entry;
	DIR *proc;

	while (now - start < 1000000) {
		proc = opendir("/proc");
		if (proc == NULL)
			return 71;
		while ((entry = readdir(proc)) != NULL) {
			pid = atoi(entry->d_name);
			now = now_us();
			/* Looking at younger ones only is faster. */
			if (younger(pid, parent) && is_there(pid, parent)) {
				printf("%ld\n", now - start);
				return 0;
			}
		}
		closedir(proc);
		/* There may be no other processor for the parent. */
		usleep(100);
		now = now_us();
	}
	puts("1000000");
	return 0;
}
