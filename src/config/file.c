/*
 * One rule for all files.  Who can write one of them can lead a run, with its
 * passwords, to other servers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/die.h"
#include "base/exit.h"
#include "base/xalloc.h"
#include "config/file.h"
#include "config/quotable.h"

#define PEM_SIZE (16 * 1024 * 1024) /* a bundle of all authorities, at most */

/* A lack of descriptors or memory is no mistake of the user. */
static _Noreturn void
refuse_unread(const char *name, const char *path, int error)
{
	bool ours = error == EMFILE || error == ENFILE || error == ENOMEM;

	die(ours ? EXIT_OS : EXIT_USAGE, "%s%s'%s' cannot be read: %s",
	    name != NULL ? name : "", name != NULL ? ": " : "", quotable(path),
	    strerror(error));
}

static _Noreturn void
refuse(const char *name, const char *path, const char *wrong)
{
	die_usage("%s%s'%s' %s", name != NULL ? name : "",
	    name != NULL ? ": " : "", quotable(path), wrong);
}

/*
 * Returns what is wrong with the file's owner or mode, or NULL.  A device such
 * as /dev/null is trusted, since its content does not depend on its owner.
 */
static const char *
distrust(enum file_kind kind, const struct stat *st)
{
	if (S_ISCHR(st->st_mode))
		return NULL;
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "belongs neither to root nor to you; chown it";
	if ((kind == FILE_PASSWORDS || kind == FILE_KEY) &&
	    (st->st_mode & S_IROTH) != 0)
		return "is readable by others; chmod 600 it";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "is writable by others than its owner; chmod go-w it";
	return NULL;
}

/*
 * Reads up to size bytes, which a pipe may deliver in pieces.  Returns their
 * number, or -1 with errno.
 */
static ssize_t
read_all(int fd, char *text, size_t size)
{
	size_t used = 0;
	ssize_t n;

	while ((n = read(fd, text + used, size - used)) > 0)
		used += (size_t)n;
	return n == -1 ? -1 : (ssize_t)used;
}

/*
 * Opens the file and checks its owner and mode.  Returns -1 if it is absent and
 * may be.
 */
static int
open_file(enum file_kind kind, const char *name, const char *path,
    struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error = errno;
	const char *wrong;

	/* A dangling link is a mistake, not an absent file. */
	if (fd == -1 && error == ENOENT && name == NULL &&
	    lstat(path, st) == -1)
		return -1;
	if (fd == -1 || fstat(fd, st) == -1)
		refuse_unread(name, path, error);
	if (S_ISDIR(st->st_mode))
		refuse_unread(name, path, EISDIR);
	wrong = distrust(kind, st);
	if (wrong != NULL)
		refuse(name, path, wrong);
	return fd;
}

/* Reads the rest of the file and closes it. */
static char *
read_file(int fd, const char *name, const char *path, size_t most, size_t *len)
{
	char *text = xmalloc(most + 2);
	ssize_t n = read_all(fd, text, most + 1);

	if (n == -1)
		refuse_unread(name, path, errno);
	close(fd);
	if ((size_t)n > most) {
		file_free(text, (size_t)n); /* it may have a password */
		die_usage("%s%s'%s' is larger than %zu KB",
		    name != NULL ? name : "", name != NULL ? ": " : "",
		    quotable(path), most / 1024);
	}
	text[n] = '\0';
	*len = (size_t)n;
	return text;
}

char *
file_read(enum file_kind kind, const char *name, const char *path, size_t *len,
    struct stat *st)
{
	int fd = open_file(kind, name, path, st);

	return fd == -1 ? NULL : read_file(fd, name, path, FILE_SIZE, len);
}

void
file_free(char *text, size_t len)
{
	explicit_bzero(text, len);
	free(text);
}

void
file_check(enum file_kind kind, const char *name, const char *path)
{
	struct stat st;
	int fd = open_file(kind, name, path, &st);
	char *text;
	size_t len;

	if (!S_ISREG(st.st_mode)) {
		close(fd);
		return;
	}
	text = read_file(fd, name, path,
	    st.st_size < PEM_SIZE ? (size_t)st.st_size : PEM_SIZE, &len);
	if (memchr(text, '\0', len) != NULL)
		refuse(name, path, "contains a NUL byte; use PEM format");
	file_free(text, len);
}
