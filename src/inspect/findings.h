/* What the probes mean, and what the user can do about it.  Pure: no I/O. */
#ifndef FINDINGS_H
#define FINDINGS_H

#include <stdbool.h>

#include "config/options.h"
#include "inspect/probe.h"

enum level {
	LEVEL_NOTE,   /* good to know */
	LEVEL_BAD,    /* the server is not fit */
	LEVEL_REFUSED /* not fit, because it denies us access */
};

#define FINDINGS_MAX 24

/* The findings about one server. */
struct findings {
	int n;
	struct finding {
		enum level level;
		char *text; /* a sentence, not yet escaped */
	} list[FINDINGS_MAX];
	enum level worst;
};

/*
 * Fills an array of findings from an array of probes, both of n servers; exits
 * with EXIT_OS if there is no memory.  findings_release() frees one.
 */
void findings_judge(
    struct findings *, const struct probe *, int n, const struct options *opt);
void findings_release(struct findings *);

/* Returns how a server persists data: "aof", "rdb", "none"; NULL: unknown. */
const char *findings_persistence(const struct probe *);

#endif
