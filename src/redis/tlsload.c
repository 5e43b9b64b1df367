/*
 * Finds and loads the TLS module, unless it is linked in, as in the static file.
 * Like libssl, it stays loaded for the life of the process.
 *
 * The module runs with our rights, so no other user may be able to replace it:
 * a copy of the program may lie in a directory that others can write to.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prefix.h"
#include "redis/tls.h"

#define MODULE "redlock-run-tls.so"

/* At NULL, unless it is linked in. */
#pragma weak redlock_tls
extern const struct tls_module redlock_tls;

static const struct tls_module *module;
static struct tls *shared;

/*
 * Whether only root and owner can change the file or directory at path.  In a
 * directory with the sticky bit, such as /tmp, others cannot replace an entry.
 */
static bool
guarded(const char *path, uid_t owner)
{
	struct stat st;

	if (lstat(path, &st) == -1 || (st.st_uid != 0 && st.st_uid != owner))
		return false;
	return (st.st_mode & (S_IWGRP | S_IWOTH)) == 0 ||
	    (S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX) != 0);
}

/*
 * Copies the module's real path to real.  Returns 1 if only root or the owner
 * of the program can change it or a directory above it, 0 if others can, or -1
 * if it does not exist.
 */
static int
find_guarded(const char *path, uid_t owner, char real[PATH_MAX])
{
	char above[PATH_MAX], *slash;

	if (realpath(path, real) == NULL)
		return -1;
	memcpy(above, real, strlen(real) + 1);
	while (guarded(above, owner)) {
		if (strcmp(above, "/") == 0)
			return 1;
		slash = strrchr(above, '/');
		slash[slash == above] = '\0';
	}
	return 0;
}

/*
 * Finds the module of this program: in ../lib/redlock-run, beside the program,
 * or where `make install` puts it, if only users who can change the program can
 * write there.  Returns false with why.
 */
static bool
find_module(const char *program, uid_t owner, char real[PATH_MAX],
    char why[TLS_WHY])
{
	static const char *const places[] = { "/../lib/redlock-run/", "/",
		TLS_DIR };
	const char *slash = strrchr(program, '/');
	char path[PATH_MAX + 64];

	snprintf(why, TLS_WHY,
	    "rediss:// needs " MODULE ", which is missing from this "
	    "installation; to build it, install OpenSSL's headers (Debian: "
	    "libssl-dev)");
	for (size_t i = slash == NULL ? 2 : 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%.*s%s" MODULE,
		    i < 2 ? (int)(slash - program) : 0, program, places[i]);
		switch (find_guarded(path, owner, real)) {
		case 1:
			return true;
		case 0:
			snprintf(why, TLS_WHY,
			    "TLS cannot be used: '%.100s', or a directory "
			    "above it, is writable by users other than "
			    "root and the owner of the program",
			    path);
		}
	}
	return false;
}

/* Finds the module of the running program. */
static bool
find_own_module(char real[PATH_MAX], char why[TLS_WHY])
{
	char program[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	struct stat st = { .st_uid = 0 };

	program[len > 0 ? len : 0] = '\0';
	(void)stat("/proc/self/exe", &st);
	return find_module(program, st.st_uid, real, why);
}

/* Returns the module, or NULL with why. */
static const struct tls_module *
load(char why[TLS_WHY])
{
	char real[PATH_MAX];
	const struct tls_module *loaded = NULL;
	void *handle;

	if (&redlock_tls != NULL)
		return &redlock_tls;
	if (!find_own_module(real, why))
		return NULL;
	if ((handle = dlopen(real, RTLD_NOW | RTLD_LOCAL)) != NULL)
		loaded = dlsym(handle, "redlock_tls");
	if (loaded == NULL)
		snprintf(why, TLS_WHY, "TLS cannot be used: %s", dlerror());
	return loaded;
}

const char *
tls_version(char why[TLS_WHY])
{
	const struct tls_module *m = load(why);

	return m == NULL ? NULL : m->version();
}

int
tls_load(const struct tls_files *files, char why[TLS_WHY])
{
	if ((module = load(why)) == NULL)
		return -1;
	shared = module->open(files, why);
	return shared == NULL ? -1 : 0;
}

const struct tls_module *
tls_module(void)
{
	return module;
}

struct ssl_st *
tls_start(const char *host, char why[TLS_WHY])
{
	return module->start(shared, host, why);
}
