/*
 * Draws conclusions from the probes and tells the user what to do.  Pure: no
 * I/O.
 */
#ifndef FINDINGS_H
#define FINDINGS_H

#include "config/options.h"
#include "inspect/probe.h"

enum level {
	LEVEL_NOTE,   /* useful to know */
	LEVEL_BAD,    /* the server is not fit */
	LEVEL_REFUSED /* unfit, because it denies us access */
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
 * Fills an array of findings from an array of probes, both for n servers.
 * Exits with EXIT_OS if memory is short. findings_release() frees one.
 */
void findings_judge(struct findings *, const struct probe *, int n,
    const struct options *opt);
void findings_release(struct findings *);

/* Returns how a server persists data: "aof", "rdb", "none"; NULL: unknown. */
const char *findings_persistence(const struct probe *);

#endif
