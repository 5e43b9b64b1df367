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
