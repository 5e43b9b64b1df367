/* What the user wants: argv, environment, files. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "config/conffile.h"
#include "protocol/mode.h"
#include "redis/url.h"

#define OPTIONS_HINT 192

enum mode { MODE_RUN, MODE_STATUS, MODE_HISTORY, MODE_BREAK, MODE_CHECK };

struct options {
	enum mode mode;
	const char **names; /* of the locks, in bytewise order */
	int nnames;         /* 0: all there are */
	int replicas;       /* --replicas */
	enum lock_mode lock_mode;
	int capacity;              /* slots of each lock; else 1 */
	char *name;                /* all of them, for messages: "a, b" */
	char **argv;               /* as typed; NULL-terminated */
	char **command;            /* in argv */
	struct address *addresses; /* the servers, with their passwords */
	int naddresses;
	bool default_server;     /* nobody named one */
	char hint[OPTIONS_HINT]; /* then what to say behind its errors */
	struct config config;    /* the configuration file, */
	const char *config_path; /* and which one, there or not */
	const char *prefix;
	int64_t ttl_ms;
	int64_t grace_ms; /* restart grace; 0: none */
	int64_t node_timeout_ms;
	int64_t wait_ms; /* CLOCK_NEVER: for ever */
	int64_t at_least_ms;
	int64_t at_most_ms; /* 0: no limit */
	int64_t kill_after_ms;
	int conflict_status;
	bool warn_on_loss;
	bool only_command;
	bool quiet;
	bool verbose;
	bool json;
	bool watch;        /* --status: again and again */
	const char *token; /* --break: whose; NULL: not said */
	char site[17];     /* fingerprint of servers and prefix, in hex */
};

/*
 * Fills *opt from argv, the environment and files.  Command line beats
 * environment, that the configuration file.  Exits for -h, -V and any usage
 * error; nothing has been sent to anybody then.
 */
void options_parse(struct options *opt, int argc, char **argv);

/* Says what is wrong, where to read on, and exits. */
_Noreturn void usage_error(const char *, ...) PRINTF_LIKE(1, 2);

/*
 * The word as a usage error may quote it, whatever option it was meant for:
 * without what would be a secret if it were a URL.  Valid until the next call.
 */
const char *quotable(const char *word);

/* Frees what options_parse() allocated. */
void options_release(struct options *opt);

#endif
