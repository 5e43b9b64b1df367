/*
 * Placeholder; to be written.
 */
#include "history.h"

int
history_run(const struct options *opt)
{
	(void)opt;
	return 0;
}
