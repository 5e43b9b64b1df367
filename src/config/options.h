/* Everything the user chose; cmdline_parse() fills it in. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/moment.h"
#include "config/names.h"
#include "config/servers.h"
#include "config/settings.h"
#include "protocol/mode.h"

enum mode {
	MODE_RUN,
	MODE_STATUS,
	MODE_HISTORY,
	MODE_BREAK,
	MODE_CHECK,
	MODE_METRICS,
	MODE_SHOW_CONFIG
};

struct options {
	enum mode mode;
	char **argv;    /* as typed, NULL-terminated */
	char **command; /* in argv */
	struct names names;
	struct servers servers;
	struct settings settings;
	char site[SERVERS_SITE]; /* fingerprint of servers and prefix */
	enum lock_mode lock_mode;
	int capacity;  /* slots of each lock; 1 in other modes */
	bool numbered; /* --slots was given: COMMAND gets its slot's number */
	bool latest;   /* a later run with this ends our wait */
	int replicas;
	int64_t wait_ms; /* CLOCK_NEVER: no limit */
	int64_t min_hold_ms;
	int64_t once_per_ms; /* 0: always */
	int64_t max_run_ms;  /* CLOCK_NEVER: no limit */
	int conflict_status;
	bool warn_on_loss;
	bool only_command;
	bool quiet;
	bool verbose;
	bool json;
	bool watch;          /* --status: redraw it every second */
	const char *token;   /* --break: the run's token; NULL: not given */
	int rows;            /* --history: the number of runs, at most */
	struct moment since; /* only runs that began then or later */
	struct moment until; /* only runs that began then or earlier */
	bool failed;         /* only failed runs */
	bool all;            /* skipped runs as well */
	int64_t max_age_ms;  /* check the last success; 0: no check */
	const char *max_age; /* the same as typed */
	const char *message; /* -m: shown with this run; NULL: none */
};

/* Sets the defaults of everything but settings. */
void options_init(struct options *);

/* Frees what cmdline_parse() allocated. */
void options_release(struct options *);

#endif
