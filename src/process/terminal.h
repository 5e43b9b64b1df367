/* The terminal that COMMAND uses. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <termios.h>

struct terminal {
	bool ours; /* our standard input and output, and we in its foreground */
	struct termios modes; /* if so */
};

/* Call before COMMAND starts: records the terminal's modes if it is ours. */
void terminal_record(struct terminal *);

/*
 * Call when COMMAND's processes were killed: gives a terminal that was ours its
 * modes back, and our process group its foreground, unless another group that
 * lives has the foreground.  SIGTTOU must be blocked or ignored.
 */
void terminal_restore(const struct terminal *);

#endif
