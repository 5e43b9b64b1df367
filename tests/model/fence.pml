/*
 * The fence, with three servers and two clients and without any clock: a key
 * may expire at any moment, also under its holder, so that both may run.
 *
 * A counter may rise at any moment by any amount.  That stands for the
 * proposals P, whatever the clients' clocks show, for counters that drifted
 * apart, and for requests of older attempts that are executed late.
 */

#ifndef LARGEST
#define LARGEST		4	/* the bound: no counter goes beyond it */
#endif

#define IDLE		0
#define TRYING		1
#define RUNNING		2

#define NOBODY		2

typedef Server {
	byte fence;
	byte key;		/* the client that holds it, or NOBODY */
	byte heard[2]		/* the fence that a client knows of, 0: no vote */
};

typedef Client {
	byte phase;
	byte fence;		/* COMMAND's */
	byte before		/* the largest one that had finished when we began */
};

Server server[3];
Client client[2];
byte finished;			/* the largest fence of a COMMAND that has ended */
byte given;			/* the set of all fences ever given */
bit distinct, growing;

#include "servers.pml"

#define S		server[i]
#define C		client[c]

#define MAX(a, b)	((a) > (b) -> (a) : (b))
#define HEARD(c, i)	server[i].heard[c]
#define LARGEST_HEARD(c) MAX(HEARD(c, 0), MAX(HEARD(c, 1), HEARD(c, 2)))
#ifdef NO_WRITE_BACK
#define HOLDS(c, i)	(HEARD(c, i) > 0)
#else
#define HOLDS(c, i)	(HEARD(c, i) > 0 && HEARD(c, i) == LARGEST_HEARD(c))
#endif

#ifdef WRITE_BACK_UNCONDITIONAL
#define MAY_WRITE	true
#else
#define MAY_WRITE	(S.key == c)
#endif

inline begin(c)
{
	d_step {
		C.phase == IDLE ->
		printf("client %d: begins an attempt\n", c);
		C.phase = TRYING;
		C.before = finished
	}
}

inline acquire(c, i)
{
	d_step {
		C.phase == TRYING &&
		    (S.key == c || S.key == NOBODY && S.fence < LARGEST) ->
		printf("client %d: acquires server %d\n", c, NAME(i));
		S.fence = (S.key == c -> S.fence : S.fence + 1);
		S.key = c;
		S.heard[c] = S.fence;
		c_code { sort(); }
	}
}

/* A repeated request, a heal: the client does not learn the answer. */
inline acquire_unheard(c, i)
{
	d_step {
		C.phase != IDLE && S.key == NOBODY && S.fence < LARGEST ->
		printf("client %d: acquires server %d, unheard\n", c, NAME(i));
		S.fence++;
		S.key = c;
		c_code { sort(); }
	}
}

inline write_back(c, i)
{
	d_step {
		C.phase == TRYING && S.heard[c] > 0 && !HOLDS(c, i) ->
		printf("client %d: writes back to server %d\n", c, NAME(i));
		if
		:: MAY_WRITE ->
			S.fence = MAX(S.fence, LARGEST_HEARD(c));
#ifdef WRITE_BACK_BLIND
			S.heard[c] = LARGEST_HEARD(c)
#else
			S.heard[c] = S.fence
#endif
		:: else ->
			S.heard[c] = 0
		fi;
		c_code { sort(); }
	}
}

inline start(c)
{
	d_step {
		C.phase == TRYING &&
		    HOLDS(c, 0) + HOLDS(c, 1) + HOLDS(c, 2) >= QUORUM ->
		C.phase = RUNNING;
		C.fence = LARGEST_HEARD(c);
		printf("client %d: starts COMMAND with fence %d\n", c, C.fence);
		distinct = !(given & (1 << C.fence));
		growing = C.fence > C.before;
		assert(growing);
#ifndef GROWING_ONLY
		assert(distinct);
#endif
		given = given | (1 << C.fence)
	}
}

inline leave(c, i)
{
	S.heard[c] = 0;
	S.key = (S.key == c -> NOBODY : S.key)
}

inline end(c)
{
	d_step {
		C.phase != IDLE ->
		printf("client %d: releases\n", c);
		finished = MAX(finished, C.fence);
		C.phase = IDLE; C.fence = 0; C.before = 0;
		leave(c, 0); leave(c, 1); leave(c, 2);
		c_code { sort(); }
	}
}

inline expire(i)
{
	d_step {
		S.key != NOBODY ->
		printf("server %d: the key expires\n", NAME(i));
		S.key = NOBODY;
		c_code { sort(); }
	}
}

inline rise(i)
{
	d_step {
		S.fence < LARGEST ->
		printf("server %d: the counter rises\n", NAME(i));
		S.fence++;
		c_code { sort(); }
	}
}

init {
	d_step {
		server[0].key = NOBODY; server[1].key = NOBODY;
		server[2].key = NOBODY
	};
	do
	EACH_CLIENT(begin)
	EACH_LINK(acquire)
	EACH_LINK(acquire_unheard)
	EACH_LINK(write_back)
	EACH_CLIENT(start)
	EACH_CLIENT(end)
	EACH_SERVER(expire)
	EACH_SERVER(rise)
	od
}
