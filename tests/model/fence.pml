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

/*
 * With -DLOSS=n servers lose all their data, n times in all, and their clocks
 * may be behind afterwards.  The clients' clocks are right.  Data is lost only
 * when proposals have outgrown all fences given so far: a restart takes longer
 * than that.  The unit: two fences are a day, in which a minute is nothing.
 */
#ifdef LOSS
#define DAY		2
#ifndef BEHIND
#define BEHIND		DAY	/* a clock is, at most */
#endif
#define NOW		(2 * today - 1)
#define TIME		(NOW - (S.behind -> BEHIND : 0))
#ifdef OLD_PROPOSAL		/* of when the client began to wait */
#define P(c)		client[c].proposal
#else
#define P(c)		NOW
#endif
#ifdef EMPTY_CAPPED
#define CAP		TIME
#else
#define CAP		(S.fence == 0 -> TIME + DAY : TIME)
#endif
#define NEXT(c)		MAX(S.fence + 1, MIN(P(c), CAP))
#else
#define NEXT(c)		(S.fence + 1)
#endif

#define IDLE		0
#define TRYING		1
#define RUNNING		2

#define NOBODY		2

typedef Server {
	byte fence;
	byte key;		/* the client that holds it, or NOBODY */
#ifdef LOSS
	bit behind;		/* its clock is */
#endif
	byte heard[2]		/* the fence that a client knows of, 0: no vote */
};

typedef Client {
	byte phase;
	byte fence;		/* COMMAND's */
#ifdef OLD_PROPOSAL
	byte proposal;
#endif
	byte before		/* the largest one that had finished when we began */
};

Server server[3];
Client client[2];
byte finished;			/* the largest fence of a COMMAND that has ended */
byte given;			/* the set of all fences ever given */
#ifdef LOSS
unsigned today : 2;
unsigned losses : 2;
#endif
bit distinct, growing;

#include "servers.pml"

#define S		server[i]
#define C		client[c]

#define MAX(a, b)	((a) > (b) -> (a) : (b))
#define MIN(a, b)	((a) < (b) -> (a) : (b))
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
#ifdef OLD_PROPOSAL
		C.proposal = NOW;
#endif
		C.before = finished
	}
}

inline acquire(c, i)
{
	d_step {
		C.phase == TRYING &&
		    (S.key == c || S.key == NOBODY && NEXT(c) <= LARGEST) ->
		printf("client %d: acquires server %d\n", c, NAME(i));
		S.fence = (S.key == c -> S.fence : NEXT(c));
		S.key = c;
		S.heard[c] = S.fence;
		c_code { sort(); }
	}
}

/* A repeated request, a heal: the client does not learn the answer. */
inline acquire_unheard(c, i)
{
	d_step {
		C.phase != IDLE && S.key == NOBODY && NEXT(c) <= LARGEST ->
		printf("client %d: acquires server %d, unheard\n", c, NAME(i));
		S.fence = NEXT(c);
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

#ifdef LOSS
inline lose(i, clock)
{
	d_step {
		losses < LOSS && given < 1 << NOW && LARGEST_HEARD(0) < NOW &&
		    LARGEST_HEARD(1) < NOW ->
		printf("server %d: loses its data, clock behind: %d\n", NAME(i),
		    clock);
		losses++;
		S.fence = 0;
		S.key = NOBODY;
		S.behind = clock;
		c_code { sort(); }
	}
}

inline set_clock(i)
{
	d_step {
		S.behind ->
		printf("server %d: sets its clock right\n", NAME(i));
		S.behind = 0;
		c_code { sort(); }
	}
}
#endif

init {
	d_step {
		server[0].key = NOBODY; server[1].key = NOBODY;
		server[2].key = NOBODY;
#ifdef LOSS
		today = 1
#endif
	};
	do
	EACH_CLIENT(begin)
	EACH_LINK(acquire)
	EACH_LINK(acquire_unheard)
	EACH_LINK(write_back)
	EACH_CLIENT(start)
	EACH_CLIENT(end)
	EACH_SERVER(expire)
#ifdef LOSS
	:: lose(0, 0) :: lose(1, 0) :: lose(2, 0)
	:: lose(0, 1) :: lose(1, 1) :: lose(2, 1)
	EACH_SERVER(set_clock)
	:: d_step { today < 2 -> today++; printf("tick\n") }
#else
	EACH_SERVER(rise)
#endif
	od
}
