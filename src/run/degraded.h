/* Reports servers that do not hold our locks while a majority does. */
#ifndef DEGRADED_H
#define DEGRADED_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/locks.h"
#include "protocol/quorum.h"

struct degraded {
	const char *names; /* of the locks, for messages */
	int64_t begin_ms;  /* of the first report */
	int64_t settle_ms; /* changes that last less are not reported */
	bool begun;
	struct {
		bool down; /* as last reported */
		bool loss_reported;
		bool return_reported;
		int64_t changed_ms; /* when that stopped being true; 0: it is */
	} server[LOCK_SERVERS];
};

/* Prepares *d. Reports nothing before begin_ms; names stays in place. */
void degraded_init(struct degraded *, const char *names, int64_t begin_ms,
    int64_t settle_ms);

/*
 * While the locks are held: reports changes.  Returns the time of the next call
 * at the latest.
 */
int64_t degraded_step(struct degraded *, struct locks *, int64_t now_ms);

#endif
