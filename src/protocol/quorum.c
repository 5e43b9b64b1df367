/*
 * The arithmetic of quorum and lease, after S. Sanfilippo, "Distributed locks
 * with Redis" (Redlock).
 */
#include "protocol/quorum.h"

int
quorum_of(int servers)
{
	return servers / 2 + 1;
}

int64_t
quorum_largest(const int64_t valid_ms[], int n, int q)
{
	int64_t deadline = 0;

	for (int i = 0; i < n; i++) {
		int as_late = 0;

		for (int j = 0; j < n; j++)
			if (valid_ms[j] >= valid_ms[i])
				as_late++;
		if (as_late >= q && valid_ms[i] > deadline)
			deadline = valid_ms[i];
	}
	return deadline;
}

int64_t
lease_valid_ms(int64_t ttl_ms)
{
	return ttl_ms - (ttl_ms / 100 + 2);
}
