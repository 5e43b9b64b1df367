/*
 * The configuration file.  Parsing is pure, so that it can be tested and
 * fuzzed on its own; nothing of a file is silently ignored but blank lines
 * and comments.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/conffile.h"

static const char blanks[] = " \t";

/* Control characters would not be seen in an editor. */
static bool
has_control(const char *s)
{
	for (; *s != '\0'; s++)
		if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f)
			return true;
	return false;
}

/* Cuts trailing blanks off. */
static void
trim(char *s)
{
	size_t len = strlen(s);

	while (len > 0 && strchr(blanks, s[len - 1]) != NULL)
		len--;
	s[len] = '\0';
}

static const char *
parse_line(struct config *c, char *line)
{
	char *name = line + strspn(line, blanks), *value;

	if (*name == '\0' || *name == '#')
		return NULL;
	if (has_control(name))
		return "has a control character in it";
	if (c->n == CONFIG_SETTINGS)
		return "is one setting too many";
	trim(name);
	value = name + strcspn(name, blanks);
	if (*value != '\0')
		*value++ = '\0';
	value += strspn(value, blanks);
	/* What other files want, and what would be taken for a value here. */
	if (value[0] == '=' && strchr(blanks, value[1]) != NULL)
		return "has a '=' between name and value; leave it out";
	if (strcmp(value, "''") == 0 || strcmp(value, "\"\"") == 0)
		return "has quotes as its value; leave them out";
	c->settings[c->n].name = name;
	c->settings[c->n].value = value;
	c->settings[c->n].line = c->line;
	c->n++;
	return NULL;
}

const char *
config_parse(struct config *c, char *text, size_t len)
{
	char *end = text + len, *line, *next;
	const char *wrong;
	size_t line_len;

	c->n = c->line = 0;
	for (line = text; line < end; line = next) {
		c->line++;
		next = memchr(line, '\n', (size_t)(end - line));
		next = next == NULL ? end : next + 1;
		line_len = (size_t)(next - line);
		if (line[line_len - 1] == '\n')
			line[--line_len] = '\0';
		if (line_len > 0 && line[line_len - 1] == '\r')
			line[--line_len] = '\0';
		if (line_len > CONFIG_LINE)
			return "is too long";
		if (strlen(line) < line_len)
			return "has a NUL in it";
		wrong = parse_line(c, line);
		if (wrong != NULL)
			return wrong;
	}
	return NULL;
}

const char *
config_distrust(const struct stat *st)
{
	if (S_ISCHR(st->st_mode))
		return NULL;
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "belongs neither to root nor to you; chown it";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "can be written by others than its owner; chmod go-w it";
	return NULL;
}

ssize_t
config_read(const char *path, char *buf, size_t size, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n = -1;
	int saved;

	if (fd == -1)
		return -1;
	if (fstat(fd, st) == 0)
		/* A pipe may bring it in pieces. */
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

void
config_release(struct config *c)
{
	for (int i = 0; i < c->n; i++)
		free(c->settings[i].where);
	free(c->text);
	c->text = NULL;
	c->n = 0;
}
