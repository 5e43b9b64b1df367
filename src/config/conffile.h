/*
 * The configuration file: settings as "name value", one a line.  Which names
 * and values there are is for settings.c.
 */
#ifndef CONFFILE_H
#define CONFFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#define CONFFILE_DEFAULT  "/etc/redlock-run.conf"
#define CONFFILE_SIZE     65536 /* bytes of a file, at most */
#define CONFFILE_LINE     4096  /* of a line */
#define CONFFILE_SETTINGS 64    /* at most */

struct conffile {
	const char *path; /* of the file, which need not exist */
	char *text;       /* its bytes, cut up; freed by conffile_release() */
	struct {
		const char *name;
		const char *value; /* may be empty */
		char *where;       /* "FILE:3: name", for messages */
		int line;
	} settings[CONFFILE_SETTINGS];
	int n;
	int line;    /* the last one read: that of a mistake */
	bool others; /* others than owner and group may read the file */
};

/*
 * Cuts the len bytes of text, of which text[len] is a NUL, into the settings
 * of *c, which point into it.  Returns NULL, or what is wrong with c->line as
 * the end of a sentence ("has a control character in it").  Reads no file.
 */
const char *conffile_parse(struct conffile *c, char *text, size_t len);

/*
 * Reads at most size - 1 bytes of the file at path, which may be a pipe, and
 * puts a NUL behind them; *st describes the file that was read.  Returns how
 * many, or -1 with errno.
 */
ssize_t
conffile_read(const char *path, char *buf, size_t size, struct stat *st);

/*
 * Why the file cannot be trusted, by the rule of ssh_config(5): somebody else
 * may have written it.  Returns NULL or the end of a sentence ("belongs to
 * neither root nor you; ...").  A device, as /dev/null, is the same for
 * everybody.
 */
const char *conffile_distrust(const struct stat *st);

/*
 * Reads c->path into *c.  Unless the user named the file, as named says, it
 * need not exist.  Exits for any mistake but those of names and values.
 */
void conffile_load(struct conffile *c, const char *named);

/*
 * Returns the value of the first setting of that name, with its place in
 * *where, or NULL.
 */
const char *
conffile_find(const struct conffile *c, const char *name, const char **where);

/* Frees what *c points to. */
void conffile_release(struct conffile *c);

#endif
