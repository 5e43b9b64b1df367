/*
 * Placeholder; to be written.
 */
#include "watch.h"

int
watch_run(const struct options *opt)
{
	(void)opt;
	return 0;
}
