/*
 * A waiter with --once-per and a run without it, on three servers.  Each server
 * goes down and comes back at any time.  It keeps its keys unless they expire,
 * and forgets a success at any time.  The waiter has the earliest ticket.
 *
 * The clock ticks only when all due work is done: the waiter has asked every
 * server that it has to ask, with or without a reply, and the other run has all
 * votes that it can get.
 */

#include "waiting.pml"

#ifndef BOUND
#define BOUND		1
#endif

#define WAITER		0
#define OTHER		1
#define ENDING		3	/* its keys and places are not gone yet */

/* what the waiter got from a server: nothing yet, a vote, or why it has none */
#define PENDING		0
#define VOTE		1
#define BUSY		2
#define RAN		3
#define UNUSABLE	4

typedef Server {
	bit up;
	bit ran;		/* it has a success that counts */
	unsigned key : 2;	/* the run that has the lock there, plus 1 */
	bit place;		/* of the waiter in its queue */
	unsigned view : 3;
	bit due			/* the waiter asks before the next tick */
};

Server server[3];
byte phase[2];
bit good[2];			/* its COMMAND has succeeded */
bit no_quorum;			/* the waiter has too few servers to win ... */
bit asks_ran;			/* ... and one of them names a success */
bit changed, asks;		/* inside a step */
unsigned known : 4;		/* ticks for which a majority could tell it */
unsigned idle : 4;		/* ticks for which the other run waits */
bit one_holder, rare, ended, served;

#include "servers.pml"

#define S		server[i]
#define COUNT(what)	(what(0) + what(1) + what(2))
#define UP(i)		server[i].up
#define HAS(c, i)	(server[i].key == c + 1)
#define OF_WAITER(i)	HAS(WAITER, i)
#define OF_OTHER(i)	HAS(OTHER, i)
#define KNOWS(i)	server[i].ran
#define TELLS(i)	(server[i].up && server[i].ran)
#define VOTES(i)	(server[i].view == VOTE)
#define NAMES(i)	(server[i].view == RAN)
#define OUT(i)		(server[i].view == UNUSABLE)
#define ANSWERED(i)	(VOTES(i) || server[i].view == BUSY || NAMES(i))

/* ---- the waiter ---- */

#ifdef RAN_UNSEEN
#define TOO_SOON(i)	false
#else
#define TOO_SOON(i)	server[i].ran
#endif

inline acquire(i)
{
	if
	:: OF_WAITER(i) ->
		S.view = VOTE
	:: !OF_WAITER(i) && TOO_SOON(i) ->
		S.view = RAN; S.place = 0
	:: else ->
		S.view = (S.key == 0 -> VOTE : BUSY);
		S.key = (S.key == 0 -> WAITER + 1 : S.key);
		S.place = 1
	fi
}

#ifdef ANSWER_VOTES
#define NO_SUCCESS(i)	VOTE
#else
#define NO_SUCCESS(i)	server[i].view
#endif

/* A request that only reads. */
inline ask_ran(i)
{
	if
	:: asks_ran ->
		printf("client 0: asks server %d for a success: %d\n",
		    NAME(i), S.ran);
#ifdef NO_PAUSE
		S.due = 1;
#endif
		S.view = (S.ran -> RAN : NO_SUCCESS(i))
	:: else
	fi
}

#ifdef PLACE_STAYS
#define MAY_HAVE_OURS(i) OF_WAITER(i)
#else
#define MAY_HAVE_OURS(i) (OF_WAITER(i) || server[i].place)
#endif

#ifdef ASKED_LATER
#define AT_ONCE		false
#else
#define AT_ONCE		true
#endif

inline leave(i)
{
	S.key = (OF_WAITER(i) -> 0 : S.key);
	S.place = 0;
#ifndef VOTE_STAYS
	S.view = BUSY;
#endif
	S.due = AT_ONCE && asks_ran
}

#ifdef NEVER_ASKED
#define NAMED		false
#else
#define NAMED		(COUNT(NAMES) > 0)
#endif
#ifdef BY_UNUSABLE
#define NO_QUORUM	(COUNT(OUT) >= QUORUM)
#else
#define NO_QUORUM	(COUNT(OUT) + COUNT(NAMES) >= QUORUM)
#endif

inline hasten(i)
{
	S.due = S.due || AT_ONCE && asks && !asks_ran ||
	    changed && ANSWERED(i) || no_quorum && VOTES(i)
}

inline reset(i)
{
	S.view = PENDING; S.due = 0
}

inline forget_replies()
{
	no_quorum = 0; asks_ran = 0;
	reset(0); reset(1); reset(2)
}

inline stop(c)
{
	phase[c] = ENDING;
	if
	:: c == WAITER ->
		forget_replies()
	:: else
	fi
}

inline judge()
{
	if
	:: COUNT(VOTES) >= QUORUM ->
		printf("client 0: has the lock\n");
		phase[WAITER] = HOLDING;
		rare = COUNT(KNOWS) < QUORUM;
		forget_replies()
	:: COUNT(NAMES) >= QUORUM ->
		printf("client 0: is told that a run has succeeded\n");
		good[WAITER] = 0;
		stop(WAITER)
	:: else ->
		changed = no_quorum != NO_QUORUM;
		no_quorum = NO_QUORUM;
		asks = no_quorum && NAMED;
		hasten(0); hasten(1); hasten(2);
		asks_ran = asks
	fi
}

#define ASKS(i)		(phase[WAITER] == WAITING && server[i].due)

inline ask(i)
{
	d_step {
		ASKS(i) && S.up ->
		S.due = 0;
		if
		:: !no_quorum || !ANSWERED(i) || NAMES(i) ->
			acquire(i);
			printf("client 0: acquire at server %d: %d\n", NAME(i),
			    S.view)
		:: no_quorum && ANSWERED(i) && !NAMES(i) && MAY_HAVE_OURS(i) ->
			printf("client 0: leaves server %d\n", NAME(i));
			leave(i)
		:: else ->
			ask_ran(i)
		fi;
		judge();
		done()
	}
}

inline miss(i)
{
	d_step {
		ASKS(i) && !S.up ->
		printf("client 0: cannot reach server %d\n", NAME(i));
		S.due = 0;
		S.view = UNUSABLE;
		judge();
		done()
	}
}

/* ---- the other run ---- */

#define GETS(i)		(phase[OTHER] == WAITING && server[i].up && \
			server[i].key == 0 && !server[i].place)
#define YIELDS(i)	(phase[OTHER] == WAITING && server[i].up && \
			OF_OTHER(i) && server[i].place)

inline get(i)
{
	d_step {
		GETS(i) ->
		printf("client 1: has server %d's vote\n", NAME(i));
		S.key = OTHER + 1;
		phase[OTHER] = (COUNT(OF_OTHER) >= QUORUM -> HOLDING : WAITING);
		done()
	}
}

/* The vote is split, and the waiter is the earlier one. */
inline yield(i)
{
	d_step {
		YIELDS(i) ->
		printf("client 1: yields server %d\n", NAME(i));
		S.key = 0;
		S.due = phase[WAITER] == WAITING;
		done()
	}
}

/* ---- both ---- */

inline begin(c)
{
	d_step {
		phase[c] == IDLE ->
		printf("client %d: begins\n", c);
		phase[c] = WAITING;
		if
		:: c == WAITER ->
			server[0].due = 1; server[1].due = 1; server[2].due = 1;
			idle = 0
		:: else
		fi;
		done()
	}
}

inline end(c, successful)
{
	d_step {
		phase[c] == HOLDING || phase[c] == WAITING && !successful ->
		printf("client %d: ends, successful: %d\n", c, successful);
		good[c] = successful;
		stop(c);
		done()
	}
}

#define LEFT(c, i)	(HAS(c, i) || c == WAITER && server[i].place)
#define OWES(c, i)	(phase[c] == ENDING && LEFT(c, i))

inline release(c, i)
{
	d_step {
		OWES(c, i) && S.up ->
		printf("client %d: releases server %d\n", c, NAME(i));
		S.ran = S.ran || HAS(c, i) && good[c];
		S.due = S.due || S.place && phase[WAITER] == WAITING;
		S.key = (HAS(c, i) -> 0 : S.key);
		S.place = S.place && c != WAITER;
		done()
	}
}

/* ---- faults ---- */

inline turn(i)
{
	d_step {
		S.up = !S.up;
		printf("server %d: is up: %d\n", NAME(i), S.up);
		known = 0; idle = 0;
		done()
	}
}

/* A vote that counts has not expired. */
#define COUNTS(c)	(phase[c] == HOLDING || phase[c] == WAITING)
inline expire(i)
{
	d_step {
		!S.up && (S.place || S.key > 0) &&
		    !(phase[WAITER] == HOLDING && OF_WAITER(i)) &&
		    !(COUNTS(OTHER) && OF_OTHER(i)) && !VOTES(i) ->
		printf("server %d: what it had has expired\n", NAME(i));
		S.key = 0; S.place = 0;
		done()
	}
}

inline forget(i)
{
	d_step {
		S.ran ->
		printf("server %d: forgets the success\n", NAME(i));
		S.ran = 0;
		idle = 0;
		done()
	}
}

/* ---- time ---- */

#define DUE(i)		(ASKS(i) || GETS(i) || YIELDS(i) || server[i].up && \
			(OWES(WAITER, i) || OWES(OTHER, i)))

#define TOLD		(phase[WAITER] == WAITING && COUNT(TELLS) >= QUORUM)
#define SHUT_OUT	(phase[OTHER] == WAITING && COUNT(UP) >= QUORUM && \
			(phase[WAITER] == IDLE || phase[WAITER] == WAITING))

inline tick()
{
	d_step {
		!DUE(0) && !DUE(1) && !DUE(2) ->
		printf("tick\n");
		known++; idle++;
		server[0].due = phase[WAITER] == WAITING;
		server[1].due = phase[WAITER] == WAITING;
		server[2].due = phase[WAITER] == WAITING;
		done()
	}
}

/* ---- after every step ---- */

#define ANY_LEFT(c)	(LEFT(c, 0) || LEFT(c, 1) || LEFT(c, 2))

inline tidy(c)
{
	phase[c] = (phase[c] == ENDING && !ANY_LEFT(c) -> IDLE : phase[c]);
	good[c] = good[c] && phase[c] == ENDING
}

inline done()
{
	tidy(WAITER); tidy(OTHER);
	changed = 0; asks = 0;
	c_code { sort(); };
	known = (TOLD -> known : 0);
	idle = (SHUT_OUT -> idle : 0);
	one_holder = phase[WAITER] != HOLDING || phase[OTHER] != HOLDING;
	ended = known <= BOUND;
	served = idle <= BOUND;
	assert(one_holder);
	assert(rare);
	assert(ended);
	assert(served)
	FINISHES
}

#define DUE_WORK \
	EACH_SERVER(ask) \
	EACH_SERVER(miss) \
	EACH_SERVER(get) \
	EACH_SERVER(yield) \
	EACH_LINK(release)

init {
	d_step {
		server[0].up = 1; server[1].up = 1; server[2].up = 1;
		rare = 1;
		done()
	};
	do
	DUE_WORK
	EACH_CLIENT(begin)
	:: end(0, false) :: end(0, true) :: end(1, false) :: end(1, true)
	EACH_SERVER(turn)
	EACH_SERVER(expire)
	EACH_SERVER(forget)
	:: tick()
#ifdef TICKING
	:: d_step { true -> work = 1 } -> break
#endif
	od;
#ifdef TICKING
	do
	DUE_WORK
	:: tick() -> break
	od
#endif
}
