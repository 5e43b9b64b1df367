/*
 * syscall(2) is no library function that anybody replaces.  The times have the
 * form of the kernel's first calls, or of the later ones where a processor has
 * no others.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/kernel.h"

#if defined(SYS_clock_gettime) && defined(__x86_64__)
typedef int64_t kernel_long; /* of x32, too */
#elif defined(SYS_clock_gettime)
typedef long kernel_long;
#else
typedef int64_t kernel_long;
#define SYS_clock_gettime   SYS_clock_gettime64
#define SYS_timerfd_settime SYS_timerfd_settime64
#define SYS_clock_nanosleep SYS_clock_nanosleep_time64
#endif

struct kernel_time {
	kernel_long seconds;
	kernel_long nanoseconds;
};

static struct kernel_time
kernel_time(const struct timespec *ts)
{
	const int64_t most = sizeof(kernel_long) == 8 ? INT64_MAX : INT32_MAX;
	int64_t seconds = ts->tv_sec;

	return (struct kernel_time){
		.seconds = (kernel_long)(seconds < most ? seconds : most),
		.nanoseconds = ts->tv_nsec,
	};
}

int
kernel_clock_gettime(clockid_t id, struct timespec *ts)
{
	struct kernel_time now;

	if (syscall(SYS_clock_gettime, id, &now) == -1)
		return -1;
	ts->tv_sec = (time_t)now.seconds;
	ts->tv_nsec = (long)now.nanoseconds;
	return 0;
}

int
kernel_timerfd_settime(int fd, int flags, const struct itimerspec *its)
{
	const struct kernel_time times[2] = { kernel_time(&its->it_interval),
		kernel_time(&its->it_value) };

	return (int)syscall(SYS_timerfd_settime, fd, flags, times, NULL);
}

void
kernel_pause_ms(int ms)
{
	const struct kernel_time pause = { .nanoseconds =
					       (kernel_long)ms * 1000000 };

	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
}

unsigned int
kernel_links(const char *path)
{
#ifdef SYS_statx
	/* struct statx, which not every libc declares */
	union {
		struct {
			uint32_t mask, block_bytes;
			uint64_t attributes;
			uint32_t links;
		} begin;
		char all[256];
	} file;
	const unsigned int links = 4; /* STATX_NLINK */

	if (syscall(SYS_statx, AT_FDCWD, path, 0, links, &file) == 0 &&
	    (file.begin.mask & links))
		return file.begin.links;
#else
	(void)path;
#endif
	return 0;
}
