/* Text that grows in memory: nothing of it is lost unnoticed. */
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static bool memory_is_short;

static void *
scarce(void *old, size_t size)
{
	return memory_is_short ? NULL : realloc(old, size);
}

#define realloc scarce
#include "../../src/base/text.c"
#undef realloc
#include "tap.h"

static void
whole(void)
{
	struct text t;

	text_begin(&t);
	for (int i = 0; i < 20000; i++)
		fprintf(t.out, "%06d\n", i);
	text_end(&t);
	SAME_INT(t.len, 140000);
	SAME_INT(strlen(t.bytes), 140000);
	for (int i = 0; i < 20000; i++)
		if (atoi(t.bytes + 7 * i) != i)
			tap_fail("line %d is lost", i);
	free(t.bytes);
}

static void
empty(void)
{
	struct text t;

	text_begin(&t);
	SAME_TEXT(text_end(&t), "");
	SAME_INT(t.len, 0);
	free(t.bytes);
}

static void
nul(void)
{
	struct text t;

	text_begin(&t);
	fwrite("a\0b", 1, 3, t.out);
	text_end(&t);
	SAME_INT(t.len, 3);
	CHECK(memcmp(t.bytes, "a\0b", 4) == 0);
	free(t.bytes);
}

/* A part that is lost in the middle counts, whatever fits behind it. */
static void
lost(void)
{
	struct text t;
	int status = 0;
	pid_t pid = fork();

	if (pid == -1)
		abort();
	if (pid == 0) {
		close(STDERR_FILENO);
		text_begin(&t);
		fputs("first", t.out);
		fflush(t.out);
		memory_is_short = true;
		fputs(" and a part that is lost", t.out);
		fflush(t.out);
		memory_is_short = false;
		fputs("c", t.out);
		text_end(&t);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_OS);
}

static const struct tap_test tests[] = {
	{ "a text of any length is whole", whole },
	{ "a text in which nothing was written is empty", empty },
	{ "a text keeps a NUL", nul },
	{ "a text for which memory is too short ends the program", lost },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
