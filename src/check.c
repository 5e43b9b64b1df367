/*
 * Placeholder; to be written.
 */
#include "check.h"

int
check_run(const struct options *opt)
{
	(void)opt;
	return 0;
}
