/*
 * The configuration file: settings as "name value", one a line. settings.c
 * defines the names and values.
 */
#ifndef CONFFILE_H
#define CONFFILE_H

#include <stdbool.h>
#include <stddef.h>

#define CONFFILE_LINE     4096 /* of a line */
#define CONFFILE_SETTINGS 64   /* at most */

struct conffile {
	const char *path; /* of the file, which need not exist */
	char *text; /* its bytes, cut into words; conffile_release() frees it */
	size_t len; /* of text */
	struct {
		const char *name;
		char *value; /* may be empty */
		char *where; /* "FILE:3: name", for messages */
		int line;
	} settings[CONFFILE_SETTINGS];
	int n;
	int line;    /* the last line read; after a mistake, its line */
	bool others; /* readable by others than owner and group */
};

/*
 * Cuts the len bytes of text, followed by a NUL, into the settings of *c, which
 * point into text.  Returns NULL, or what is wrong with c->line as the end of a
 * sentence ("has a control character in it").  Reads no file.
 */
const char *conffile_parse(struct conffile *c, char *text, size_t len);

/*
 * Reads c->path into *c. The file may be absent, unless the user named it, as
 * the option or variable `named`. Exits for any mistake except unknown names
 * and bad values.
 */
void conffile_load(struct conffile *c, const char *named);

/*
 * Returns the value of the first setting with that name, and its place in
 * *where; or NULL.
 */
const char *
conffile_find(const struct conffile *c, const char *name, const char **where);

/* Frees what *c points to. */
void conffile_release(struct conffile *c);

/* Whether a line's value is more than one URL, or has a comment behind it. */
bool conffile_is_several(const char *urls);

#endif
