/*
 * The queues of several servers: no hand-over; tickets settle a split vote.  The
 * keys and places of a client that has crashed end at any time, each on its own,
 * and until then the ticks are not counted.
 *
 * The tickets are given beforehand: client 0's is always the earliest.
 */

#include "waiting.pml"

#ifndef DOWN
#define DOWN		0	/* so many servers cannot be reached */
#endif
#ifndef REFRESH
#define REFRESH		2
#endif
#ifndef POLL
#define POLL		1
#endif
#ifndef BOUND
#define BOUND		(REFRESH + POLL)
#endif

#define ENDING		3
#define DEAD		4
#ifdef ONCE
#define AFTERWARDS	5
#else
#define AFTERWARDS	IDLE
#endif

/* what a client knows of a server: nothing, its vote, or whose it is */
#define OPEN		0
#define VOTE		1
#define FREE		2	/* to be had by an earlier ticket */
#define CANDIDATES	3	/* its owner is in the queue */
#define HOLDERS		4

typedef Link {			/* between a client and a server */
	bit key;		/* it has the lock there */
	bit had;		/* ... before this step */
	unsigned place : 2;	/* in the queue, 0: none */
	bit wake;		/* there is something in its wake list */
	unsigned view : 3;
	bit earlier;		/* the server named an earlier ticket */
	bit blocked;		/* in BLPOP */
	bit owes;		/* a release, which is sent once */
	unsigned timer : 2	/* ticks until it asks */
};

typedef Server {
	bit down;
	Link link[3]
};

Server server[3];
byte phase[3];
unsigned first : 2;		/* the earliest of those that wait */
unsigned idle : 4;		/* ticks for which it does while nobody holds */
bit new, yields;		/* inside a step */
bit one_holder, one_vote, in_turn, served, nothing_left;

#include "servers.pml"

#define S		server[i]
#define L		server[i].link[c]

#define NO_OF(c, i)	(server[i].link[c].view >= FREE)
#define VOTE_OF(c, i)	(server[i].link[c].view == VOTE)
#define NAMED(c, i)	(server[i].link[c].view >= VOTE && \
			server[i].link[c].earlier)
#define OPEN_TO(c, i)	(server[i].link[c].view == FREE || \
			server[i].link[c].view == CANDIDATES)
#define ANY(what, c)	(what(c, 0) || what(c, 1) || what(c, 2))
#define COUNT(what, c)	(what(c, 0) + what(c, 1) + what(c, 2))
#define CONTESTED(c)	ANY(OPEN_TO, c)

#define TAKEN(i)	(server[i].link[0].key || server[i].link[1].key || \
			server[i].link[2].key)
#define BY_CANDIDATE(j, i) (server[i].link[j].key && \
			server[i].link[j].place > 0)
#ifdef ARRIVAL_ORDER
#define BEFORE(c, j, i)	(server[i].link[j].place > 0 && \
			server[i].link[j].place < server[i].link[c].place)
#else
#define BEFORE(c, j, i)	(server[i].link[j].place > 0 && j < c)
#endif
#define EARLIER(c, i)	(BEFORE(c, 0, i) || BEFORE(c, 1, i) || BEFORE(c, 2, i))

/* ---- the servers' scripts ---- */

#define WAITS(j, i)	(server[i].link[j].place > 0 && !server[i].link[j].key)
#define AFTER(j, k, i)	(WAITS(k, i) && BEFORE(j, k, i))
#define IS_NEXT(j, i)	(WAITS(j, i) && !AFTER(j, 0, i) && !AFTER(j, 1, i) && \
			!AFTER(j, 2, i))

#define WAKES(j, i)	(IS_NEXT(j, i) && phase[j] == WAITING)

inline wake_next(i)
{
#ifndef NO_WAKE
	server[i].link[0].wake = server[i].link[0].wake || WAKES(0, i);
	server[i].link[1].wake = server[i].link[1].wake || WAKES(1, i);
	server[i].link[2].wake = server[i].link[2].wake || WAKES(2, i)
#else
	skip
#endif
}

inline join(c, i)
{
#ifdef ARRIVAL_ORDER
	L.place = (L.place > 0 -> L.place : 1 + (S.link[0].place > 0) +
	    (S.link[1].place > 0) + (S.link[2].place > 0))
#else
	L.place = 1
#endif
}

inline move_up(j, c, i)
{
	server[i].link[j].place = server[i].link[j].place -
	    (server[i].link[j].place > L.place)
}

inline leave(c, i)
{
#ifdef ARRIVAL_ORDER
	if
	:: L.place > 0 ->
		move_up(0, c, i); move_up(1, c, i); move_up(2, c, i)
	:: else
	fi;
#endif
	L.place = 0; L.wake = 0
}

/* ---- a client's steps ---- */

#define AVAILABLE	(!S.down && phase[c] == WAITING)

inline look(c, i)
{
	L.view = (!TAKEN(i) -> FREE : (BY_CANDIDATE(0, i) ||
	    BY_CANDIDATE(1, i) || BY_CANDIDATE(2, i) -> CANDIDATES : HOLDERS));
	L.earlier = EARLIER(c, i);
	L.blocked = (L.earlier || L.view == HOLDERS);
	L.timer = (L.blocked -> REFRESH : POLL)
}

/* Reports from before our last vote may be out of date. */
inline forget_earlier(c)
{
#ifndef OLD_NEWS
	server[0].link[c].earlier = 0; server[1].link[c].earlier = 0;
	server[2].link[c].earlier = 0
#else
	skip
#endif
}

inline give_back(c, i)
{
	if
	:: L.view == VOTE ->
		L.key = 0;
		wake_next(i);
		L.view = FREE; L.earlier = 0;
		L.blocked = 0; L.timer = POLL
	:: else
	fi
}

inline unlink(c, i)
{
	L.wake = 0; L.view = OPEN; L.earlier = 0; L.blocked = 0; L.timer = 0
}

inline judge(c)
{
	yields = (CONTESTED(c) &&
	    COUNT(VOTE_OF, c) + COUNT(NO_OF, c) >= QUORUM);
#ifdef NEVER_YIELD
	yields = 0;
#endif
#ifndef ALWAYS_YIELD
	yields = yields && ANY(NAMED, c);
#endif
	if
	:: COUNT(VOTE_OF, c) >= QUORUM ->
		printf("client %d: has the lock\n", c);
		phase[c] = HOLDING;
		unlink(c, 0); unlink(c, 1); unlink(c, 2)
	:: COUNT(VOTE_OF, c) < QUORUM && yields && ANY(VOTE_OF, c) ->
		printf("client %d: yields\n", c);
		give_back(c, 0); give_back(c, 1); give_back(c, 2)
	:: else
	fi
}

inline begin(c)
{
	d_step {
		c < CLIENTS && phase[c] == IDLE ->
		printf("client %d: begins to wait\n", c);
		phase[c] = WAITING;
		done()
	}
}

#ifdef NO_RESERVE
#define MUST_WAIT(c, i)	false
#else
#define MUST_WAIT(c, i)	EARLIER(c, i)
#endif
#ifdef TAKEN_UNSEEN
#define REFUSES(i)	false
#else
#define REFUSES(i)	TAKEN(i)
#endif

inline ask(c, i)
{
	d_step {
		AVAILABLE && !L.blocked && L.timer == 0 ->
		new = !L.key;
		join(c, i);
		if
		:: !new || !REFUSES(i) && !MUST_WAIT(c, i) ->
			printf("client %d: has server %d's vote\n", c, NAME(i));
			L.key = 1;
			L.timer = (CONTESTED(c) -> POLL : REFRESH);
			L.view = VOTE;
			L.earlier = EARLIER(c, i);
			if
			:: new -> forget_earlier(c)
			:: else
			fi;
#ifdef VOTE_LEAVES
			leave(c, i)
#endif
		:: else ->
			printf("client %d: server %d refuses\n", c, NAME(i));
			if
			:: !TAKEN(i) -> wake_next(i)
			:: else
			fi;
			look(c, i)
		fi;
		judge(c);
		done()
	}
}

inline unblock(c, i)
{
	d_step {
		AVAILABLE && L.blocked && (L.wake || L.timer == 0) ->
		printf("client %d: ends its BLPOP at server %d, woken: %d\n",
		    c, NAME(i), L.wake);
		L.blocked = 0; L.timer = 0; L.wake = 0;
		done()
	}
}

/* The winner leaves the queues. */
inline quit(c, i)
{
	d_step {
		!S.down && phase[c] == HOLDING && L.place > 0 ->
		printf("client %d: leaves server %d's queue\n", c, NAME(i));
		leave(c, i);
		wake_next(i);
		done()
	}
}

#define LEFT(c, i)	(server[i].link[c].key || server[i].link[c].place > 0)
#define OWES(c, i)	server[i].link[c].owes

/* COMMAND is gone, or the wait is over. */
inline end(c)
{
	d_step {
		phase[c] == WAITING || phase[c] == HOLDING ->
		printf("client %d: ends\n", c);
		server[0].link[c].owes = LEFT(c, 0);
		server[1].link[c].owes = LEFT(c, 1);
		server[2].link[c].owes = LEFT(c, 2);
		phase[c] = (ANY(OWES, c) -> ENDING : AFTERWARDS);
		unlink(c, 0); unlink(c, 1); unlink(c, 2);
		done()
	}
}

inline release(c, i)
{
	d_step {
		L.owes ->
		printf("client %d: releases server %d\n", c, NAME(i));
		L.owes = 0;
#ifndef RELEASE_LEAVES_KEY
		L.key = 0;
#endif
#ifndef RELEASE_LEAVES_PLACE
		leave(c, i);
#endif
		wake_next(i);
		phase[c] = (ANY(OWES, c) -> ENDING : AFTERWARDS);
		done()
	}
}

/* ---- faults ---- */

inline crash(c)
{
	d_step {
		phase[c] != IDLE && phase[c] < DEAD ->
		printf("client %d: crashes\n", c);
		phase[c] = (ANY(LEFT, c) -> DEAD : AFTERWARDS);
		unlink(c, 0); unlink(c, 1); unlink(c, 2);
		OWES(c, 0) = 0; OWES(c, 1) = 0; OWES(c, 2) = 0;
		idle = 0;
		done()
	}
}

inline expire_key(c, i)
{
	d_step {
		phase[c] == DEAD && L.key ->
		printf("server %d: client %d's key expires\n", NAME(i), c);
		L.key = 0;
		phase[c] = (ANY(LEFT, c) -> DEAD : AFTERWARDS);
		idle = 0;
		done()
	}
}

inline expire_place(c, i)
{
	d_step {
		phase[c] == DEAD && L.place > 0 ->
		printf("server %d: client %d's place expires\n", NAME(i), c);
		leave(c, i);
		phase[c] = (ANY(LEFT, c) -> DEAD : AFTERWARDS);
		idle = 0;
		done()
	}
}

inline lose_wake(c, i)
{
	d_step {
		L.wake ->
		printf("client %d: loses its wake at server %d\n", c, NAME(i));
		L.wake = 0;
		idle = 0;
		done()
	}
}

/* ---- time ---- */

#define WAKES_UP(c, i)	(server[i].link[c].timer == 0 || \
			server[i].link[c].blocked && server[i].link[c].wake)
#define IS_DUE(c, i)	(!server[i].down && ( \
			phase[c] == WAITING && WAKES_UP(c, i) || \
			phase[c] == HOLDING && server[i].link[c].place > 0 || \
			phase[c] == ENDING))
#define IN(what)	(phase[0] == what || phase[1] == what || \
			phase[2] == what)

inline tick_link(c, i)
{
#ifdef NO_REFRESH
	L.timer = (L.timer > 0 && !L.blocked -> L.timer - 1 : L.timer)
#else
	L.timer = (L.timer > 0 -> L.timer - 1 : 0)
#endif
}

inline tick_server(i)
{
	tick_link(0, i); tick_link(1, i); tick_link(2, i)
}

inline tick()
{
	d_step {
		!ANY(IS_DUE, 0) && !ANY(IS_DUE, 1) && !ANY(IS_DUE, 2) ->
		printf("tick\n");
		idle = (IN(WAITING) && !IN(HOLDING) && !IN(DEAD) ->
		    idle + 1 : 0);
		tick_server(0); tick_server(1); tick_server(2);
		done()
	}
}

/* ---- after every step ---- */

#define FIRST		(phase[0] == WAITING -> 0 : \
			(phase[1] == WAITING -> 1 : \
			(phase[2] == WAITING -> 2 : 3)))
#define GONE(c)		(phase[c] != AFTERWARDS || !ANY(LEFT, c))

/*
 * No server has given its vote past an earlier place.  This looks at tickets
 * and at the result of the step, not at what a script compares.
 */
#define PLACE(c, i)	(server[i].link[c].place > 0)
#define GIVEN(c, i)	(server[i].link[c].key && !server[i].link[c].had)
#define RIGHT(i)	(!(GIVEN(1, i) && PLACE(0, i)) && \
			!(GIVEN(2, i) && (PLACE(0, i) || PLACE(1, i))))
#define VOTES(i)	(server[i].link[0].key + server[i].link[1].key + \
			server[i].link[2].key)

inline remember(i)
{
	server[i].link[0].had = server[i].link[0].key;
	server[i].link[1].had = server[i].link[1].key;
	server[i].link[2].had = server[i].link[2].key
}

inline done()
{
	in_turn = RIGHT(0) && RIGHT(1) && RIGHT(2);
	remember(0); remember(1); remember(2);
	c_code { sort(); };
	idle = (first == FIRST && !IN(HOLDING) -> idle : 0);
	first = FIRST;
	one_holder = (phase[0] == HOLDING) + (phase[1] == HOLDING) +
	    (phase[2] == HOLDING) <= 1;
	one_vote = VOTES(0) <= 1 && VOTES(1) <= 1 && VOTES(2) <= 1;
	served = (idle <= BOUND);
	nothing_left = GONE(0) && GONE(1) && GONE(2);
	new = 0; yields = 0;
	assert(one_vote);
	assert(one_holder);
#ifndef LAX
	assert(in_turn);
#endif
	assert(served);
	assert(nothing_left)
	FINISHES
}

#define EACH_OF_NINE(step) \
	:: step(0, 0) :: step(0, 1) :: step(0, 2) \
	:: step(1, 0) :: step(1, 1) :: step(1, 2) \
	:: step(2, 0) :: step(2, 1) :: step(2, 2)

init {
	d_step {
		server[0].down = DOWN;
		done()
	};
	do
	EACH(begin)
	EACH_OF_NINE(ask)
	EACH_OF_NINE(unblock)
	EACH_OF_NINE(quit)
	EACH(end)
	EACH_OF_NINE(release)
#ifndef NO_FAULTS
	EACH(crash)
	EACH_OF_NINE(expire_key)
	EACH_OF_NINE(expire_place)
	EACH_OF_NINE(lose_wake)
#endif
	:: tick()
#ifdef TICKING
	:: d_step { true -> work = 1 } -> break
#endif
	od;
#ifdef TICKING
	do
	EACH_OF_NINE(ask)
	EACH_OF_NINE(unblock)
	EACH_OF_NINE(quit)
	EACH_OF_NINE(release)
	:: tick() -> break
	od
#endif
}
