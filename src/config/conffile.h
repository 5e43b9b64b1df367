/*
 * The configuration file: settings as "name value", one a line.  What they
 * are called, and what they may be, is site.c's.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#define CONFIG_DEFAULT  "/etc/redlock-run.conf"
#define CONFIG_SIZE     65536 /* bytes of a file, at most */
#define CONFIG_LINE     4096  /* of a line */
#define CONFIG_SETTINGS 64    /* at most */

struct config {
	char *text; /* the file, cut up; freed by config_release() */
	struct {
		const char *name;
		const char *value; /* may be empty */
		char *where;       /* "FILE:3: name", for messages */
		int line;
	} settings[CONFIG_SETTINGS];
	int n;
	int line;    /* what was read last: of a mistake, if there is one */
	bool others; /* others than owner and group may read the file */
};

/*
 * Cuts the len bytes of text, of which text[len] is a NUL, into the settings
 * of *c, which point into it.  Returns NULL, or what is wrong with c->line as
 * the end of a sentence ("has a control character in it").  Knows no file.
 */
const char *config_parse(struct config *c, char *text, size_t len);

/*
 * Reads at most size - 1 bytes of the file at path, which may be a pipe, and
 * puts a NUL behind them; *st is that of the file that was read.  Returns how
 * many, or -1 with errno.
 */
ssize_t config_read(const char *path, char *buf, size_t size, struct stat *st);

/*
 * Why we must not follow what the file says, as ssh_config(5) has it: somebody
 * else may have written it.  Returns NULL or the end of a sentence ("belongs to
 * user 7, ...").  A device, as /dev/null, says the same to everybody.
 */
const char *config_distrust(const struct stat *st);

/* Frees what *c points to. */
void config_release(struct config *c);

#endif
