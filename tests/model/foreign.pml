/*
 * Candidates that cannot read each other's values compete for three servers: two
 * programs, or two versions without a queue in common.  No ticket decides between
 * them.  Only SET NX gives a vote.  A candidate without a majority may give its
 * votes back at any moment, which stands for the random time after which the
 * program does.
 */

#ifndef CANDIDATES
#define CANDIDATES	3
#endif
#define QUORUM		2
#define NOBODY		3

#define WAITING		0
#define HOLDING		1

byte owner[3] = NOBODY;
byte phase[3];
bit down;			/* server 0 cannot be reached */
bit one_holder, kept, served;

#define HAS(c, i)	(owner[i] == c)
#define VOTES(c)	(HAS(c, 0) + HAS(c, 1) + HAS(c, 2))
#define UP(i)		(i > 0 || !down)
#define IS_FREE(i)	(UP(i) && owner[i] == NOBODY)
#define ANY_FREE	(IS_FREE(0) || IS_FREE(1) || IS_FREE(2))
#define BUSY(c, i)	(UP(i) && owner[i] != NOBODY && owner[i] != c)
#define REFUSED(c)	(BUSY(c, 0) || BUSY(c, 1) || BUSY(c, 2))
#define EACH(step)	:: step(0) :: step(1) :: step(2)
#define EACH_OF_NINE(step) \
	:: step(0, 0) :: step(0, 1) :: step(0, 2) \
	:: step(1, 0) :: step(1, 1) :: step(1, 2) \
	:: step(2, 0) :: step(2, 1) :: step(2, 2)

#ifdef NEVER_GIVE_WAY
#define GIVES_WAY(c)	false
#elif defined(HOLDER_GIVES_WAY)
#define GIVES_WAY(c)	(VOTES(c) > 0 && REFUSED(c))
#else
#define GIVES_WAY(c)	(phase[c] == WAITING && VOTES(c) > 0 && \
			VOTES(c) < QUORUM && REFUSED(c))
#endif

inline done()
{
	one_holder = (phase[0] == HOLDING) + (phase[1] == HOLDING) +
	    (phase[2] == HOLDING) <= 1;
	kept = (phase[0] != HOLDING || VOTES(0) >= QUORUM) &&
	    (phase[1] != HOLDING || VOTES(1) >= QUORUM) &&
	    (phase[2] != HOLDING || VOTES(2) >= QUORUM);
	/* Some step leads on: a free server, an end, or a way given. */
	served = ANY_FREE || phase[0] == HOLDING || phase[1] == HOLDING ||
	    phase[2] == HOLDING || GIVES_WAY(0) || GIVES_WAY(1) ||
	    GIVES_WAY(2);
	assert(one_holder);
	assert(kept);
	assert(served)
}

inline ask(c, i)
{
	d_step {
		c < CANDIDATES && phase[c] == WAITING && IS_FREE(i) ->
		printf("client %d: has server %d's vote\n", c, i);
		owner[i] = c;
		phase[c] = (VOTES(c) >= QUORUM -> HOLDING : WAITING);
		done()
	}
}

inline let_go(c)
{
	owner[0] = (HAS(c, 0) -> NOBODY : owner[0]);
	owner[1] = (HAS(c, 1) -> NOBODY : owner[1]);
	owner[2] = (HAS(c, 2) -> NOBODY : owner[2])
}

inline give_way(c)
{
	d_step {
		GIVES_WAY(c) ->
		printf("client %d: gives way\n", c);
		let_go(c);
		done()
	}
}

inline end(c)
{
	d_step {
		phase[c] == HOLDING ->
		printf("client %d: ends\n", c);
		let_go(c);
		phase[c] = WAITING;
		done()
	}
}

init {
	if
	:: down = 1
	:: skip
	fi;
	do
	EACH_OF_NINE(ask)
	EACH(give_way)
	EACH(end)
	od
}
