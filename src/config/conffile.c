/*
 * The configuration file.  The parser is pure, so that tests and fuzzing need
 * no file.  It ignores only blank lines and comments.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/line.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "config/conffile.h"
#include "redis/url.h"

static const char blanks[] = " \t";

/* Editors do not show control characters. */
static bool
has_control(const char *s)
{
	for (; *s != '\0'; s++)
		if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f)
			return true;
	return false;
}

static const char *
parse_line(struct conffile *c, char *line)
{
	char *name = line + strspn(line, blanks), *value;

	if (*name == '\0' || *name == '#')
		return NULL;
	if (has_control(name))
		return "contains a control character";
	if (c->n == CONFFILE_SETTINGS)
		return "is one setting too many for a file";
	line_trim(name);
	value = name + strcspn(name, blanks);
	if (*value != '\0')
		*value++ = '\0';
	value += strspn(value, blanks);
	/* Other formats need the '='; here it would be part of the value. */
	if (value[0] == '=' && strchr(blanks, value[1]) != NULL)
		return "has a '=' between name and value; remove it";
	if (strcmp(value, "''") == 0 || strcmp(value, "\"\"") == 0)
		return "has quotes as its value; remove them";
	c->settings[c->n].name = name;
	c->settings[c->n].value = value;
	c->settings[c->n].line = c->line;
	c->n++;
	return NULL;
}

const char *
conffile_parse(struct conffile *c, char *text, size_t len)
{
	char *end = text + len, *line;
	const char *wrong;

	c->n = c->line = 0;
	while ((line = line_next(&text, end, &len)) != NULL) {
		c->line++;
		if (len > CONFFILE_LINE)
			return "is too long";
		if (strlen(line) < len)
			return "contains a NUL byte";
		wrong = parse_line(c, line);
		if (wrong != NULL)
			return wrong;
	}
	return NULL;
}

const char *
conffile_distrust(const struct stat *st)
{
	if (S_ISCHR(st->st_mode))
		return NULL;
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "belongs neither to root nor to you; chown it";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "is writable by others than its owner; chmod go-w it";
	return NULL;
}

ssize_t
conffile_read(const char *path, char *buf, size_t size, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n = -1;
	int saved;

	if (fd == -1)
		return -1;
	if (fstat(fd, st) == 0)
		/* A pipe may deliver the text in pieces. */
		while ((n = read(fd, buf + used, size - 1 - used)) > 0)
			used += (size_t)n;
	saved = errno;
	close(fd);
	errno = saved;
	if (n == -1)
		return -1;
	buf[used] = '\0';
	return (ssize_t)used;
}

/* Writes the place of the i-th setting, for messages. */
static char *
place(const struct conffile *c, int i)
{
	char *text;

	if (asprintf(&text, "%s:%d: %s", c->path, c->settings[i].line,
		c->settings[i].name) == -1)
		die(EXIT_OS, "%s", strerror(errno));
	return text;
}

void
conffile_load(struct conffile *c, const char *named)
{
	const char *wrong;
	struct stat st;
	ssize_t len;

	c->text = xmalloc(CONFFILE_SIZE + 2);
	len = conffile_read(c->path, c->text, CONFFILE_SIZE + 2, &st);
	if (len == -1) {
		int error = errno;

		/* A dangling link is a mistake, not an absent file. */
		if (error == ENOENT && named == NULL &&
		    lstat(c->path, &st) == -1)
			return;
		usage_error("%s%s'%s' cannot be read: %s",
		    named != NULL ? named : "", named != NULL ? ": " : "",
		    quotable(c->path), strerror(error));
	}
	c->others = (st.st_mode & S_IROTH) != 0;
	wrong = conffile_distrust(&st);
	if (wrong != NULL)
		usage_error("'%s' %s", c->path, wrong);
	if (len > CONFFILE_SIZE)
		usage_error(
		    "'%s' is larger than %d KB", c->path, CONFFILE_SIZE / 1024);
	wrong = conffile_parse(c, c->text, (size_t)len);
	if (wrong != NULL)
		usage_error("%s:%d: the line %s", c->path, c->line, wrong);
	for (int i = 0; i < c->n; i++)
		c->settings[i].where = place(c, i);
}

const char *
conffile_find(const struct conffile *c, const char *name, const char **where)
{
	for (int i = 0; i < c->n; i++)
		if (strcmp(c->settings[i].name, name) == 0) {
			*where = c->settings[i].where;
			return c->settings[i].value;
		}
	return NULL;
}

void
conffile_release(struct conffile *c)
{
	for (int i = 0; i < c->n; i++)
		free(c->settings[i].where);
	free(c->text);
	c->text = NULL;
	c->n = 0;
}
