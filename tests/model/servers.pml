/*
 * What both models share.  The servers are alike: states that differ only in
 * the order of the servers are kept as one, by sorting them after every step.
 * name[] follows them through a printed trace and is no part of a state.
 */

c_decl { static unsigned char name[3] = {0, 1, 2}; }
c_code {
	static void
	swap(int i, int j)
	{
		struct Server server = now.server[i];
		unsigned char n = name[i];

		now.server[i] = now.server[j];
		now.server[j] = server;
		name[i] = name[j];
		name[j] = n;
	}

	static void
	sort(void)
	{
		int n, i;

		for (n = 0; n < 3; n++) {
			i = n % 2;
			if (memcmp(&now.server[i], &now.server[i + 1],
			    sizeof(struct Server)) > 0)
				swap(i, i + 1);
		}
	}
}

#define NAME(i)		(i == 0 -> c_expr { name[0] } : \
			(i == 1 -> c_expr { name[1] } : c_expr { name[2] }))

#define QUORUM		2

#define EACH_CLIENT(step)	:: step(0) :: step(1)
#define EACH_SERVER(step)	:: step(0) :: step(1) :: step(2)
#define EACH_LINK(step)		:: step(0, 0) :: step(0, 1) :: step(0, 2) \
				:: step(1, 0) :: step(1, 1) :: step(1, 2)
#define EACH_REQUEST(step, what, most) \
	:: step(0, 0, what, most) :: step(0, 1, what, most) \
	:: step(0, 2, what, most) :: step(1, 0, what, most) \
	:: step(1, 1, what, most) :: step(1, 2, what, most)
