#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sigmask.h"

#define KERNEL_BYTES (NSIG / CHAR_BIT)

sigset_t
sigmask_all(void)
{
	sigset_t set;

	memset(&set, 0xff, sizeof(set));
	return set;
}

/* The kernel's mask is an array of long, with signal 1 in bit 0. */
sigset_t
sigmask_only(int signo)
{
	const int bits = sizeof(unsigned long) * CHAR_BIT;
	unsigned long words[sizeof(sigset_t) / sizeof(unsigned long)] = { 0 };
	sigset_t set;

	words[(signo - 1) / bits] = 1UL << (signo - 1) % bits;
	memcpy(&set, words, sizeof(set));
	return set;
}

int
sigmask_set(int how, const sigset_t *set, sigset_t *old)
{
	return (int)syscall(SYS_rt_sigprocmask, how, set, old, KERNEL_BYTES);
}
