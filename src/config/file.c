/*
 * One rule for all files.  Who can write one of them can lead a run, with its
 * passwords, to other servers.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/die.h"
#include "base/exit.h"
#include "base/xalloc.h"
#include "config/file.h"
#include "config/quotable.h"
#include "redis/address.h"

#define PEM_SIZE (16 * 1024 * 1024) /* a bundle of all authorities, at most */
#define LINKS    40                 /* as many as the kernel follows */

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

/* Whether another user than root and ourselves is the owner. */
static bool
is_foreign(const struct stat *st)
{
	return st->st_uid != 0 && st->st_uid != geteuid();
}

/*
 * Whether we cannot change the mode.  Docker and Kubernetes mount secrets on
 * file systems that are read-only, for root as well.
 */
static bool
is_mounted_for_us(const char *path, const struct stat *st)
{
	return st->st_uid != geteuid() ||
	    (access(path, W_OK) == -1 && errno == EROFS);
}

/*
 * Returns what is wrong with the file's owner or mode, or NULL.  A device such
 * as /dev/null is trusted, since its content does not depend on its owner.
 */
static const char *
distrust(enum file_kind kind, const char *path, const struct stat *st)
{
	if (S_ISCHR(st->st_mode))
		return NULL;
	if (is_foreign(st))
		return "belongs neither to root nor to you; chown it";
	if (kind == FILE_PASSWORDS && (st->st_mode & S_IROTH) != 0 &&
	    is_mounted_for_us(path, st))
		return "is readable by others; for a secret of Kubernetes set "
		       "defaultMode 0440 and fsGroup, for others use "
		       "REDISCLI_AUTH, or a pipe to --password-file "
		       "/dev/stdin";
	if ((kind == FILE_PASSWORDS || kind == FILE_KEY) &&
	    (st->st_mode & S_IROTH) != 0)
		return "is readable by others; chmod 600 it";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "is writable by others than its owner; chmod go-w it";
	return NULL;
}

/*
 * Whether users other than the owner can replace an entry.  In a directory with
 * the sticky bit, only those of the entry and of the directory can.
 */
static bool
is_shared(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) == 0 &&
	    (st->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

/*
 * Replaces the link that is way[start..len) by its target.  Returns false if
 * that is too long or the link is gone.
 */
static bool
follow(char way[PATH_MAX], size_t start, size_t len, const char *link)
{
	char target[PATH_MAX], next[3 * PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target));

	if (n <= 0 || n == sizeof(target))
		return false;
	snprintf(next, sizeof(next), "%.*s%.*s%s",
	    target[0] == '/' ? 0 : (int)start, way, (int)n, target, way + len);
	if (strlen(next) >= PATH_MAX)
		return false;
	memcpy(way, next, strlen(next) + 1);
	return true;
}

static _Noreturn void
refuse_way(const char *name, const char *path, const char *at, bool writable)
{
	char masked[PATH_MAX];

	die_usage("%s: '%s' is reached through '%s', which users other than "
		  "root and you can change%s",
	    name, quotable(path), address_mask(masked, sizeof(masked), at),
	    writable ? "; chmod go-w it" : "");
}

/*
 * Refuses a path with a directory or a link that others can replace.  The links
 * in /proc stand for files that this process was given.
 */
static void
check_way(const char *name, const char *path)
{
	char way[PATH_MAX], at[PATH_MAX];
	size_t start = 0, len = path[0] == '/';
	struct stat st;
	int links = 0;

	snprintf(way, sizeof(way), "%s", path);
	while (strncmp(way, "/proc/", 6) != 0) {
		snprintf(at, sizeof(at), "%.*s", len > 0 ? (int)len : 1,
		    len > 0 ? way : ".");
		if (lstat(at, &st) == -1)
			refuse_unread(name, path, errno);
		if (is_foreign(&st) || is_shared(&st))
			refuse_way(name, path, at, !is_foreign(&st));
		if (S_ISLNK(st.st_mode)) {
			if (links++ == LINKS || !follow(way, start, len, at))
				refuse_unread(name, path, ELOOP);
			len = way[0] == '/';
		}
		start = len + strspn(way + len, "/");
		if (way[start] == '\0')
			return;
		len = start + strcspn(way + start, "/");
	}
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
 * Opens the file and checks its owner and mode, before a pipe is waited for.
 * Returns -1 if it is absent and may be.
 */
static int
open_file(enum file_kind kind, const char *name, const char *path,
    struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error = errno;
	const char *wrong;

	/* A dangling link is a mistake, not an absent file. */
	if (fd == -1 && error == ENOENT && name == NULL &&
	    lstat(path, st) == -1)
		return -1;
	if (fd == -1 || fstat(fd, st) == -1)
		refuse_unread(name, path, error);
	if (S_ISDIR(st->st_mode))
		refuse_unread(name, path, EISDIR);
	wrong = distrust(kind, path, st);
	if (wrong != NULL)
		refuse(name, path, wrong);
	if (kind == FILE_PASSWORDS && !S_ISCHR(st->st_mode))
		check_way(name, path);
	return fd;
}

/* Waits until somebody writes to the pipe, or has done so and closed it. */
static void
wait_for_writer(int fd)
{
	struct pollfd in = { .fd = fd, .events = POLLIN };

	while (poll(&in, 1, -1) == -1 && errno == EINTR)
		;
}

/* Reads the rest of the file and closes it. */
static char *
read_file(int fd, const char *name, const char *path, size_t most, size_t *len)
{
	char *text = xmalloc(most + 2);
	ssize_t n;

	wait_for_writer(fd);
	if (fcntl(fd, F_SETFL, 0) == -1 ||
	    (n = read_all(fd, text, most + 1)) == -1)
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

void
file_check_directory(const char *name, const char *path)
{
	struct stat st;
	const char *wrong;

	if (stat(path, &st) == -1)
		refuse_unread(name, path, errno);
	if (!S_ISDIR(st.st_mode))
		refuse_unread(name, path, ENOTDIR);
	wrong = distrust(FILE_CERTIFICATE, path, &st);
	if (wrong != NULL)
		refuse(name, path, wrong);
}
