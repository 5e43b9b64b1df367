/* What is to be thought of the servers, and what to do.  Pure: no look-ups. */
#ifndef FINDINGS_H
#define FINDINGS_H

#include <stdbool.h>

#include "config/options.h"
#include "inspect/probe.h"

enum level {
	LEVEL_NOTE,   /* to be known */
	LEVEL_BAD,    /* the server is not fit */
	LEVEL_REFUSED /* because it does not let us */
};

#define FINDINGS_MAX 24

/* Of one server. */
struct findings {
	int n;
	struct finding {
		enum level level;
		char *text; /* a sentence; not fit for a terminal yet */
	} list[FINDINGS_MAX];
	enum level worst;
};

/*
 * Fills *findings, one for each of the n servers that facts are about; exits if
 * there is no memory.  findings_release() frees what is in one.
 */
void findings_judge(
    struct findings *, const struct probe *, int n, const struct options *opt);
void findings_release(struct findings *);

/* How a server keeps its data: "aof", "rdb" or "none"; NULL: not known. */
const char *findings_persistence(const struct probe *);

#endif
