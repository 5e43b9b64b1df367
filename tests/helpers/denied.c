/*
 * denied CALL COMMAND...: runs COMMAND under a seccomp filter that refuses that
 * system call.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned int number;
} calls[] = {
	{ "clone", SYS_clone },
	{ "connect", SYS_connect },
	{ "pipe2", SYS_pipe2 },
#ifdef SYS_poll
	{ "poll", SYS_poll },
#else
	{ "poll", SYS_ppoll },
#endif
	{ "prctl", SYS_prctl },
	{ "socket", SYS_socket },
	{ "timerfd_create", SYS_timerfd_create },
};

static int
refuse(unsigned int number)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { .len = 4, .filter = rules };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int
main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(calls) / sizeof(calls[0]);
	     i++)
		if (strcmp(calls[i].name, argv[1]) == 0) {
			if (refuse(calls[i].number) == 0)
				execvp(argv[2], argv + 2);
			perror(argv[2]);
			return 99;
		}
	fprintf(stderr, "denied: unknown call or no command\n");
	return 64;
}
