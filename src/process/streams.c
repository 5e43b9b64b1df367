#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/die.h"
#include "base/exit.h"
#include "process/streams.h"

void
streams_fill(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) == -1 &&
		    open("/dev/null", O_RDWR | O_CLOEXEC) == -1)
			die(EXIT_OS, "/dev/null: %s", strerror(errno));
}

void
streams_drop(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd == -1) {
		streams_close();
		return;
	}
	dup3(fd, STDIN_FILENO, O_CLOEXEC);
	dup3(fd, STDOUT_FILENO, O_CLOEXEC);
	close(fd);
}

void
streams_close(void)
{
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
}
