/*
 * The configuration file.  The parser is pure, so that tests and fuzzing need
 * no file.  It ignores only blank lines and comments.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/die.h"
#include "base/exit.h"
#include "base/line.h"
#include "config/conffile.h"
#include "config/file.h"

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
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		c->line = 1;
		return "begins with a byte order mark; save the file as UTF-8 "
		       "without one (BOM)";
	}
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

	c->text = file_read(FILE_SETTINGS, named, c->path, &c->len, &st);
	if (c->text == NULL)
		return;
	c->others = (st.st_mode & S_IROTH) != 0;
	wrong = conffile_parse(c, c->text, c->len);
	if (wrong != NULL)
		die_usage("%s:%d: the line %s", c->path, c->line, wrong);
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
	if (c->text != NULL)
		file_free(c->text, c->len);
	c->text = NULL;
	c->n = 0;
}

bool
conffile_is_several(const char *urls)
{
	const char *first = strstr(urls, "://");

	return strpbrk(urls, " \t") != NULL ||
	    (first != NULL && strstr(first + 1, "://") != NULL);
}
