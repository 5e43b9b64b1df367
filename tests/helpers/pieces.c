/*
 * For LD_PRELOAD: recv() takes one byte, send() seven at most, and every third
 * call fails with EAGAIN or EINTR.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

static bool
interrupted(void)
{
	static unsigned int calls;

	errno = ++calls % 2 ? EAGAIN : EINTR;
	return calls % 3 == 0;
}

ssize_t
send(int fd, const void *bytes, size_t len, int flags)
{
	ssize_t (*real)(int, const void *, size_t, int) =
	    dlsym(RTLD_NEXT, "send");

	return interrupted() ? -1 : real(fd, bytes, len > 7 ? 7 : len, flags);
}

ssize_t
recv(int fd, void *buf, size_t len, int flags)
{
	ssize_t (*real)(int, void *, size_t, int) = dlsym(RTLD_NEXT, "recv");

	return interrupted() ? -1 : real(fd, buf, len > 1 ? 1 : len, flags);
}

/* The function that a fortified program calls. */
ssize_t
__recv_chk(int fd, void *buf, size_t len, size_t size, int flags)
{
	(void)size;
	return recv(fd, buf, len, flags);
}
