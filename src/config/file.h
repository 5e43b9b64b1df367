/*
 * Files that decide to which servers a run goes, and with which secrets.
 */
#ifndef FILE_H
#define FILE_H

#include <stddef.h>
#include <sys/stat.h>

#define FILE_SIZE (64 * 1024) /* bytes of a file with settings, at most */

enum file_kind {
	FILE_SETTINGS,
	FILE_PASSWORDS,
	FILE_KEY,        /* in PEM format */
	FILE_CERTIFICATE /* the same, and no secret: ours, or authorities */
};

/*
 * Reads the file at path, which may be a pipe, and adds a NUL.  Exits with a
 * usage error, which begins with name unless that is NULL, if the file cannot
 * be read, if it is too large, if another user than root and ourselves can have
 * written it (the rule of ssh_config(5)), or if others can read its secret; one
 * with passwords also if they can have put it, or a link, in its place.
 * Such a secret in the settings is the caller's to judge, by *st.  Returns the
 * text, which the caller frees with file_free(), and its length; NULL if the
 * file is absent and name is NULL.
 */
char *file_read(enum file_kind, const char *name, const char *path, size_t *len,
    struct stat *st);

/* Overwrites the text and frees it. */
void file_free(char *text, size_t len);

/*
 * Checks a file in PEM format in the same way, for a library that reads it by
 * itself.  Of a pipe only the owner and the mode are checked.
 */
void file_check(enum file_kind, const char *name, const char *path);

/* Checks the owner and the mode of a directory with authorities. */
void file_check_directory(const char *name, const char *path);

#endif
