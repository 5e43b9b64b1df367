/*
 * Placeholder; to be written.
 */
#include "break.h"

int
break_run(const struct options *opt)
{
	(void)opt;
	return 0;
}
