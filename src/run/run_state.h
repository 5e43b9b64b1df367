/* The state of one run of the program. */
#ifndef RUN_STATE_H
#define RUN_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "config/options.h"
#include "lock/locks.h"
#include "process/child.h"
#include "process/guard.h"
#include "process/signals.h"
#include "process/terminal.h"
#include "protocol/owner.h"
#include "run/degraded.h"
#include "run/waiting.h"

/* A guard that dies is replaced by another. */
struct guard_starts {
	int64_t next_ms;  /* when to start the next guard */
	int64_t pause_ms; /* from that start to the next one */
	bool reported;    /* a failed start was reported */
};

struct run {
	const struct options *opt;
	struct loop loop;
	struct resolver resolver;
	struct signals signals;
	struct loop_watch signal_watch;
	struct locks locks;
	bool answered[LOCK_SERVERS]; /* see struct lock_config */
	struct owner owner;
	struct waiting waiting;
	struct child child;
	struct terminal terminal;
	struct guard guard;
	struct guard_starts starts;
	struct degraded degraded;
	int cancelled;        /* the signal that cancelled the start, or 0 */
	int64_t waited_ms;    /* how long that took, if it was announced */
	int64_t asked_ms;     /* when the first lock was requested */
	int64_t acquired_ms;  /* when all locks were held */
	int64_t voted_ms;     /* when the votes that count were requested */
	int64_t deadline_ms;  /* the last D that was in the future */
	bool streams_dropped; /* only COMMAND has its standard streams now */
	int64_t turn_ms;      /* when this turn of the loop began */
	int64_t paused_ms; /* for how long we did not run since D last moved */
	int64_t outage_ms; /* when renewals began to fail; 0: they succeed */
	bool outage_reported;
	bool exit_reported;      /* COMMAND's end was reported */
	bool survivors_reported; /* its surviving processes were reported */
	bool lost;
	bool timed_out; /* --max-run has passed */
	bool resumed;   /* the SIGCONT that continued us is still pending */
};

#endif
