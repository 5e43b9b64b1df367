/*
 * --latest on three servers: of two newcomers the earlier one gives up.
 *
 * A newcomer gets a ticket from each server, of which the clocks differ, and then
 * chooses one, which it presents to all of them.  Another run holds the servers at
 * first, and each of them releases at any moment.  A request is executed and
 * answered in one step, at any moment at which the answer would be another than
 * before; so a state in which no step is possible is one that nobody leaves.
 */

#ifndef DOWN
#define DOWN		0	/* so many servers cannot be reached */
#endif
#define QUORUM		2
#define MINORITY	1
#define CLOCKS		2	/* what the clocks of the servers may show */

#define WAITING		0
#define HOLDING		1
#define LEAVING		2	/* it has given up */
#define DEAD		3

/* what a client knows of a server */
#define NOTHING		0
#define VOTE		1
#define BUSY		2
#define SUPERSEDED	3

typedef Link {			/* between a client and a server */
	bit key;		/* it has the lock there */
	unsigned place : 3;	/* its ticket in the queue, 0: none */
	bit chosen;		/* which it has chosen */
	unsigned view : 2;
	unsigned ticket : 3	/* in the last refusal */
};

typedef Server {
	bit down;
	bit held;		/* by a run that none of this concerns */
	Link link[2]
};

Server server[3];
unsigned phase0 : 2, phase1 : 2;
unsigned ticket0 : 3, ticket1 : 3; /* that it has chosen, 0: none */
bit one_holder, one_left, newest, served;

#define PHASE(c)	(c == 0 -> phase0 : phase1)
#define TICKET(c)	(c == 0 -> ticket0 : ticket1)
#define S		server[i]
#define L		server[i].link[c]
#define MINE(c, i)	server[i].link[c].place
#define OTHERS(c, i)	server[i].link[1 - c].place

/* ---- the servers' script ---- */

#define IS_FREE(i)	(!server[i].held && !server[i].link[0].key && \
			!server[i].link[1].key)

/* The order of tickets, and of tokens where those are the same. */
#define AFTER(a, b, c)	(a > b || a == b && c == 0)

/* The ticket that c has after this request; a provisional one is the last. */
#define GIVEN(c, i, t)	(TICKET(c) > 0 -> TICKET(c) : \
			(MINE(c, i) > 0 -> MINE(c, i) : \
			(t > OTHERS(c, i) -> t : OTHERS(c, i) + 1)))
#define MARK(c)		(TICKET(c) > 0)

#ifdef PROVISIONAL_COUNT
#define COUNTS(mark)	true
#else
#define COUNTS(mark)	mark
#endif
#ifdef OTHERS_CHOSEN_ONLY
#define OURS_COUNTS(c)	true
#else
#define OURS_COUNTS(c)	COUNTS(MARK(c))
#endif
#define IS_LATER(c, i, t) (OURS_COUNTS(c) && OTHERS(c, i) > 0 && \
			COUNTS(server[i].link[1 - c].chosen) && \
			AFTER(OTHERS(c, i), GIVEN(c, i, t), c))
#define IS_FIRST(c, i, t) (OTHERS(c, i) == 0 || \
			AFTER(OTHERS(c, i), GIVEN(c, i, t), c))

#define ANSWER(c, i, t)	(server[i].link[c].key -> VOTE : (IS_LATER(c, i, t) -> SUPERSEDED : \
			(IS_FREE(i) && IS_FIRST(c, i, t) -> VOTE : BUSY)))

/* ---- a client's steps ---- */

#define IS(c, i, v)	(server[i].link[c].view == v)
#define COUNT(c, v)	(IS(c, 0, v) + IS(c, 1, v) + IS(c, 2, v))
#define REFUSALS(c)	(COUNT(c, BUSY) + COUNT(c, SUPERSEDED))
#define MAX(a, b)	(a > b -> a : b)
#define NAMED(c, i)	(server[i].link[c].view >= BUSY -> \
			server[i].link[c].ticket : 0)

#ifdef BY_MAJORITY
#define MISSING		0
#else
#define MISSING		DOWN
#endif
#define GIVES_UP(c)	(COUNT(c, SUPERSEDED) > 0 && \
			COUNT(c, SUPERSEDED) + MISSING > MINORITY)

#define SET(what, c, x)	what##0 = (c == 0 -> x : what##0); \
			what##1 = (c == 1 -> x : what##1)

/* Its answers add up to the lock, to the end of its wait, or to a ticket. */
inline judge(c)
{
	if
	:: COUNT(c, VOTE) >= QUORUM ->
		printf("client %d: has the lock\n", c);
		SET(phase, c, HOLDING)
	:: COUNT(c, VOTE) < QUORUM && GIVES_UP(c) ->
		printf("client %d: gives up\n", c);
		newest = newest && TICKET(1 - c) > 0 && TICKET(c) > 0 &&
		    AFTER(TICKET(1 - c), TICKET(c), c);
		SET(phase, c, LEAVING)
	:: COUNT(c, VOTE) < QUORUM && !GIVES_UP(c) && TICKET(c) == 0 &&
	    REFUSALS(c) > 0 && REFUSALS(c) + COUNT(c, VOTE) >= QUORUM ->
		SET(ticket, c,
		    MAX(NAMED(c, 0), MAX(NAMED(c, 1), NAMED(c, 2))));
		printf("client %d: chooses %d\n", c, TICKET(c))
	:: else
	fi
}

#define NEWS(c, i, t)	(!server[i].down && PHASE(c) == WAITING && ( \
			!IS(c, i, ANSWER(c, i, t)) || \
			MINE(c, i) != GIVEN(c, i, t) || \
			server[i].link[c].chosen != MARK(c)))

inline ask(c, i, t)
{
	d_step {
		NEWS(c, i, t) ->
		L.view = ANSWER(c, i, t);
		L.place = GIVEN(c, i, t);
		L.chosen = MARK(c);
		L.key = (L.view == VOTE);
		L.ticket = (L.view >= BUSY -> L.place : 0);
		printf("client %d: server %d has it at %d, answers %d\n", c, i,
		    L.place, L.view);
		judge(c);
		done()
	}
}

/* It gives its votes back to an earlier ticket. */
#define NAMES_EARLIER(c, i) (server[i].link[c].view >= BUSY && \
			server[i].link[1 - c].place > 0 && \
			AFTER(server[i].link[c].place, \
			    server[i].link[1 - c].place, 1 - c))
#define HAS_VOTE(c)	(COUNT(c, VOTE) > 0)
#define YIELDS(c)	(PHASE(c) == WAITING && HAS_VOTE(c) && ( \
			NAMES_EARLIER(c, 0) || NAMES_EARLIER(c, 1) || \
			NAMES_EARLIER(c, 2)))

inline give_back(c, i)
{
	L.key = 0;
	L.view = (L.view == VOTE -> BUSY : L.view);
	L.ticket = (L.view == BUSY -> L.place : L.ticket)
}

inline yield(c)
{
	d_step {
		YIELDS(c) ->
		printf("client %d: gives its votes back\n", c);
		give_back(c, 0); give_back(c, 1); give_back(c, 2);
		done()
	}
}

/* Its release, or the end of what a dead client has. */
#define LEFT(c, i)	((PHASE(c) == LEAVING || PHASE(c) == DEAD) && \
			(server[i].link[c].key || server[i].link[c].place > 0))

inline leave(c, i)
{
	d_step {
		LEFT(c, i) ->
		printf("client %d: has nothing on server %d\n", c, i);
		L.key = 0; L.place = 0; L.chosen = 0; L.view = NOTHING;
		L.ticket = 0;
		done()
	}
}

inline crash(c)
{
	d_step {
		PHASE(c) == WAITING && PHASE(1 - c) != DEAD ->
		printf("client %d: crashes\n", c);
		SET(phase, c, DEAD);
		done()
	}
}

inline release(i)
{
	d_step {
		S.held ->
		printf("server %d: is released\n", i);
		S.held = 0;
		done()
	}
}

/* ---- after every step ---- */

#define ANY(what, c)	(what(c, 0) || what(c, 1) || what(c, 2))
#define MOVES(c, i)	(NEWS(c, i, 1) || LEFT(c, i))
#define CAN(c)		(ANY(MOVES, c) || YIELDS(c))
#define HOLDS		(phase0 == HOLDING || phase1 == HOLDING)
#define WAITS		(phase0 == WAITING || phase1 == WAITING)

inline done()
{
	one_holder = !(phase0 == HOLDING && phase1 == HOLDING);
	one_left = !(phase0 == LEAVING && phase1 == LEAVING);
	served = (HOLDS || !WAITS || CAN(0) || CAN(1) || server[0].held ||
	    server[1].held || server[2].held);
	assert(one_holder);
	assert(one_left);
#ifndef LAX
	assert(newest);
#endif
	assert(served)
}

#define EACH_LINK(step)	:: step(0, 0) :: step(0, 1) :: step(0, 2) \
			:: step(1, 0) :: step(1, 1) :: step(1, 2)
#define ASKS(c, i)	ask(c, i, 1) :: ask(c, i, CLOCKS)

init {
	d_step {
		newest = 1;
		server[0].held = 1; server[1].held = 1; server[2].held = 1;
		server[0].down = DOWN;
		server[0].held = !DOWN;
		done()
	};
	do
	EACH_LINK(ASKS)
	EACH_LINK(leave)
	:: yield(0) :: yield(1)
	:: release(0) :: release(1) :: release(2)
	:: crash(0) :: crash(1)
	:: HOLDS || !WAITS -> break
	od
}
