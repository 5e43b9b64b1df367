/* Reports servers that do not hold our locks while a majority does. */
#ifndef DEGRADED_H
#define DEGRADED_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/lockset.h"
#include "protocol/quorum.h"

struct degraded {
	const char *names; /* of the locks, for messages */
	int64_t begin_ms;  /* of the first report */
	int64_t settle_ms; /* a change that is over sooner is none */
	bool begun;
	struct {
		bool down; /* as far as it was reported */
		bool loss_reported;
		bool return_reported;
		int64_t changed_ms; /* since when it is not so; 0: it is */
	} server[LOCK_SERVERS];
};

/* Nothing is reported before begin_ms.  names stays in place. */
void degraded_init(
    struct degraded *, const char *names, int64_t begin_ms, int64_t settle_ms);

/*
 * While the locks are held: reports what has changed.  Returns when it wants to
 * be called again at the latest.
 */
int64_t degraded_step(struct degraded *, struct locks *, int64_t now_ms);

#endif
