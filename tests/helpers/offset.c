/*
 * For LD_PRELOAD: the wall clock is off by the number of milliseconds that the
 * file named by CLOCK_OFFSET begins with; a write to that file sets the clock.
 * The file has 20 bytes, and is never made shorter.
 */
#include <sys/mman.h>
#include <sys/time.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const volatile char *offset;

/* Reads twice, since it may be written meanwhile. */
static long long
offset_ms(void)
{
	char once[21] = "", again[21] = "";
	int fd;

	if (offset == NULL) {
		fd = open(getenv("CLOCK_OFFSET"), O_RDONLY | O_CLOEXEC);
		offset = mmap(NULL, 20, PROT_READ, MAP_SHARED, fd, 0);
		close(fd);
	}
	do {
		memcpy(once, (const char *)offset, 20);
		memcpy(again, (const char *)offset, 20);
	} while (memcmp(once, again, 20) != 0);
	return atoll(once);
}

static long long
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000LL + ts.tv_nsec / 1000 + offset_ms() * 1000;
}

int
gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	const long long us = now_us();

	(void)zone;
	tv->tv_sec = us / 1000000;
	tv->tv_usec = us % 1000000;
	return 0;
}

time_t
time(time_t *t)
{
	const time_t now = now_us() / 1000000;

	if (t != NULL)
		*t = now;
	return now;
}
