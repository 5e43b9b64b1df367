/* For LD_PRELOAD: the STOP_AT-th poll() stops the process first. */
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

static void
count(void)
{
	static int turn;
	const char *at = getenv("STOP_AT");

	if (at != NULL && ++turn == atoi(at))
		raise(SIGSTOP);
}

int
poll(struct pollfd *fds, nfds_t n, int timeout)
{
	int (*real)(struct pollfd *, nfds_t, int) = dlsym(RTLD_NEXT, "poll");

	count();
	return real(fds, n, timeout);
}

/* The functions that a fortified program calls. */
int
__poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size)
{
	(void)size;
	return poll(fds, n, timeout);
}
