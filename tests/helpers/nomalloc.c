/*
 * nomalloc: a library for LD_PRELOAD.  Allocation number NOMALLOC of a process
 * called redlock-run fails, and no other.  The place of that call, "failed
 * OBJECT OFFSET", goes to the file NOMALLOC_LOG, and at the end the number of
 * allocations.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* glibc's own. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

static const char *log_file; /* NULL: not in this program */
static pid_t self;
static long fails, count;

static void
write_log(const char *text)
{
	int fd =
	    open(log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	if (fd == -1)
		abort();
	(void)!write(fd, text, strlen(text));
	close(fd);
}

__attribute__((constructor)) static void
begin(void)
{
	const char *n = getenv("NOMALLOC");

	if (n == NULL ||
	    strcmp(program_invocation_short_name, "redlock-run") != 0)
		return;
	fails = atol(n);
	self = getpid();
	log_file = getenv("NOMALLOC_LOG");
}

__attribute__((destructor)) static void
end(void)
{
	char text[32];

	if (log_file == NULL || getpid() != self)
		return;
	snprintf(text, sizeof(text), "%ld\n", count);
	write_log(text);
}

/* Whether the allocation that the caller wants is the one to fail. */
static int
is_due(const char *caller)
{
	char text[512];
	Dl_info at = { .dli_fname = "?" };

	if (log_file == NULL || ++count != fails)
		return 0;
	dladdr(caller, &at);
	snprintf(text, sizeof(text), "failed %s %#lx\n", at.dli_fname,
	    (unsigned long)(caller - (const char *)at.dli_fbase));
	write_log(text);
	errno = ENOMEM;
	return 1;
}

void *
malloc(size_t size)
{
	return is_due(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
	return is_due(__builtin_return_address(0)) ? NULL :
						     __libc_calloc(n, size);
}

void *
realloc(void *old, size_t size)
{
	return is_due(__builtin_return_address(0)) ? NULL :
						     __libc_realloc(old, size);
}
