/* The guard process itself: its state and its main function. */
#ifndef WATCHDOG_H
#define WATCHDOG_H

#include <stddef.h>
#include <stdint.h>

#include "process/tree.h"

#define GUARD_QUIT ((int64_t)-1) /* the deadline that ends the guard */

struct watchdog {
	const struct tree *tree;
	unsigned long long start; /* of COMMAND, since its pid may be reused */
	int pipe_fd;
	int timer_fd;
	int64_t kill_ms;     /* as last received */
	int64_t snapshot_ms; /* when to take the next snapshot */
	int64_t pause_ms;    /* until the one after that */
	uint64_t sum;        /* the checksum of the last one */
};

/*
 * Becomes the guard; title is argv's memory, for its name in ps(1).  Returns
 * only if it cannot do its work.
 */
void watchdog_main(struct watchdog *, char *title, size_t title_len);

#endif
