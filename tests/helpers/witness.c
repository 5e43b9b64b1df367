/*
 * witness LOG [NUMBER STATUS]: records every signal that it gets.
 *
 * All signals are blocked and read one by one, so none is missed, and an
 * ignored one that was sent is recorded as well.  The first line of LOG is
 * "ready PID PGID SID", each further one "NUMBER CODE SENDER TIME", TIME in
 * microseconds of the day.  The signal NUMBER ends it with exit status STATUS.
 */
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}

int
main(int argc, char **argv)
{
	siginfo_t info;
	sigset_t all;
	int log, last = 0, number;

	if (argc != 2 && argc != 4)
		errx(64, "usage: witness LOG [NUMBER STATUS]");
	if (argc == 4)
		last = atoi(argv[2]);
	memset(&all, 0xff, sizeof(all));
	/* libc leaves out the signals that its threads use. */
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, NSIG / 8);
	log = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (log == -1)
		err(71, "%s", argv[1]);
	dprintf(log, "ready %d %d %d\n", getpid(), getpgrp(), getsid(0));
	for (;;) {
		number = sigwaitinfo(&all, &info);
		if (number == -1)
			continue;
		dprintf(log, "%d %d %d %lld\n", number, info.si_code,
		    (int)info.si_pid, now_us());
		if (number == last)
			_exit(atoi(argv[3]));
	}
}
