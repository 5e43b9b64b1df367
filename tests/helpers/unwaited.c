/*
 * unwaited.so, for LD_PRELOAD: the first UNWAITED calls of waitid(2) fail with
 * EIO.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

int
waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	static int failures;
	int (*real)(idtype_t, id_t, siginfo_t *, int);
	const char *times = getenv("UNWAITED");

	if (times != NULL && failures < atoi(times)) {
		failures++;
		errno = EIO;
		return -1;
	}
	real = (int (*)(idtype_t, id_t, siginfo_t *, int))dlsym(RTLD_NEXT,
	    "waitid");
	return real(type, id, info, options);
}
