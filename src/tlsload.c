/*
 * Finds the TLS module and keeps it: one a process, as libssl is.  What it
 * needs of hiredis comes with it.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tls.h"

#define MODULE "redlock-run-tls.so"

static const struct tls_module *module;
static struct tls *shared;

/* The module beside the program, or where `make install` puts it. */
static void *
load(const char *program, char why[TLS_WHY])
{
	static const char *const places[] = { "/../lib/redlock-run/", "/" };
	const char *slash = strrchr(program, '/');
	char path[PATH_MAX + 64];
	void *handle = NULL;

	for (size_t i = 0; i < 2 && handle == NULL && slash != NULL; i++) {
		snprintf(path, sizeof(path), "%.*s%s" MODULE,
		    (int)(slash - program), program, places[i]);
		if (access(path, F_OK) == 0)
			handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	if (handle == NULL && access(path, F_OK) == 0)
		snprintf(why, TLS_WHY, "TLS cannot be used: %s", dlerror());
	else if (handle == NULL)
		snprintf(why, TLS_WHY,
		    "rediss:// needs TLS, which this redlock-run was built or "
		    "copied without (" MODULE "): to build it takes hiredis "
		    "1.0 or later with its SSL library (Debian 13: "
		    "libhiredis-dev and libssl-dev)");
	return handle;
}

int
tls_load(const struct tls_files *files, char why[TLS_WHY])
{
	char program[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	void *handle;

	program[len > 0 ? len : 0] = '\0';
	if ((handle = load(program, why)) == NULL)
		return -1;
	module = dlsym(handle, "redlock_tls");
	if (module == NULL) {
		snprintf(why, TLS_WHY, "TLS cannot be used: %s", dlerror());
		return -1;
	}
	shared = module->open(files, why);
	return shared == NULL ? -1 : 0;
}

const struct tls_module *
tls_module(void)
{
	return module;
}

struct ssl_st *
tls_start(struct redisContext *c, const char *host, char why[TLS_WHY])
{
	return module->start(shared, c, host, why);
}
