/*
 * The lease: acquire, renew, heal, release and the restart grace, with three
 * servers, two clients and a discrete clock.
 *
 * Most requests are sent, executed and answered in one step.  Up to DELAYED at
 * a time take as long as they like, there and back, while the clock, the
 * servers and both clients go on.  A client may stand still between any two
 * steps for any time, and may give up at any time.
 *
 * With LONGEST above TTL, renewals ask for either length, in any order.
 *
 * A time is kept as the ticks that are left of it, so the clock has no end.  A
 * client uses two values in turn, each only when no trace is left of its last
 * use: that is as good as new ones, and the number of attempts has no limit.
 */

#ifndef TTL
#define TTL		2
#endif
#ifndef LONGEST
#define LONGEST		TTL	/* the longest lease that a renewal asks for */
#endif
#ifndef GRACE
#define GRACE		LONGEST
#endif
#ifndef DELAYED
#define DELAYED		1
#endif
#ifndef RESTARTS
#define RESTARTS	0
#endif
#define ANY_NUMBER	99
#define OLD		(GRACE > LONGEST -> GRACE : LONGEST)
#ifndef SET_FORWARD
#define SET_FORWARD	0	/* so many clocks of servers are */
#endif
#define FAR		7	/* an expiry that a clock set back has put off */

/* what a client is doing */
#define IDLE		0
#define TRYING		1
#define HOLDING		2	/* now < D */
#define LAPSED		3	/* D has passed, the client may not know it yet */

/* requests and answers; the numbers are what a printed trace shows */
#define NONE		0
#define ACQUIRE		1
#define RENEW		2
#define RELEASE		3
#define YES		1
#define NO		2

#define COOLDOWN		5	/* the owner of a lock in its cooldown */

typedef Link {			/* between a client and a server */
	unsigned vote : 2;	/* v: ticks until it ends, 0: none */
	unsigned unripe : 2;	/* ticks until it counts */
	unsigned request : 2;	/* a delayed request */
	unsigned answer : 2;	/* and its answer, on the way back */
	unsigned age : 2;	/* ticks since it was sent */
	unsigned grace : 2;	/* ticks until the vote in the answer counts */
	bit value;		/* what it was sent with */
	bit grown;		/* a renewal that asks for LONGEST */
	bit release;		/* a release is queued behind it */
	bit orphan		/* on a connection that its client has closed */
};

typedef Server {
	unsigned key : 3;	/* OWNER, 0: free */
#ifdef SET_BACK
	unsigned left : 3;	/* ticks until it expires, or FAR */
#else
	unsigned left : 2;	/* ticks until it expires */
#endif
	unsigned up : 2;	/* ticks since the start, at most OLD */
	Link link[2]
};

typedef Client {
	unsigned phase : 2;
	bit value;		/* of this attempt */
#ifdef MIN_HOLD
	unsigned least : 2;	/* ticks until the lock may be free */
#endif
	bit gap			/* the other one got the lock since we did */
};

Server server[3];
Client client[2];
byte delayed, restarts, forward;
bit yes;			/* what serve() answers */
bit one_holder, no_gap, votes_backed, nothing_left;
#ifdef SET_BACK
bit bounded;
#endif
#ifdef MIN_HOLD
unsigned cooldown : 2;		/* ticks of the cooldown that is promised */
unsigned kept : 2;		/* servers that keep it, inside a step */
bit cooldown_kept;
#endif

#include "servers.pml"

#define S		server[i]
#define L		server[i].link[c]
#define C		client[c]

#define OWNER(c, value)	(1 + 2 * c + value)
#define TRACE(c, i, v)	(server[i].key == OWNER(c, v) || \
			server[i].link[c].request != NONE && \
			server[i].link[c].value == v)
#define USED(c, v)	(TRACE(c, 0, v) || TRACE(c, 1, v) || TRACE(c, 2, v))

#define COUNTS(c, i)	(server[i].link[c].vote > 0 && \
			server[i].link[c].unripe == 0)
#define ENOUGH(c)	(COUNTS(c, 0) + COUNTS(c, 1) + COUNTS(c, 2) >= QUORUM)

#define VALID(c, i)	(COUNTS(c, i) -> server[i].link[c].vote : 0)
#define MAX(a, b)	(a > b -> a : b)
#define MIN(a, b)	(a < b -> a : b)
#define D_OF(a, b, c)	MAX(MIN(a, b), MIN(MAX(a, b), c))
#define D(c)		D_OF(VALID(c, 0), VALID(c, 1), VALID(c, 2))

/* An acquire sent while the lock is held heals, or fetches a late vote. */
#define MAY(what)	(what == ACQUIRE && C.phase == TRYING || \
			what == ACQUIRE && C.phase == HOLDING && L.vote == 0 || \
			what == RENEW && C.phase >= HOLDING)
#define GROWS(what)	(LONGEST > TTL && what == RENEW)
#define FOR(most)	(most -> LONGEST : TTL)
#ifdef LENGTH_OF_NEXT
#define ASKED(most)	LONGEST	/* which the next request would ask for */
#else
#define ASKED(most)	FOR(most)
#endif
#define CONNECTED	(L.request == NONE || L.orphan)
#define UNRIPE		(S.up < GRACE -> GRACE - S.up : 0)

inline forget(c, i)
{
	delayed = (L.request == NONE -> delayed : delayed - 1);
	L.request = NONE; L.answer = NONE; L.age = 0; L.grace = 0;
	L.value = 0; L.grown = 0; L.release = 0; L.orphan = 0
}

/*
 * A refused acquire cuts an expiry that the key's own length cannot explain to
 * that length.  After that no key lasts longer.
 */
#if defined(MIN_HOLD) && !defined(CUT_BY_TTL)
#define LENGTH		(S.key == COOLDOWN -> MIN_HOLD : LONGEST)
#else
#define LENGTH		LONGEST
#endif

/* A request for our own key never shortens it. */
#ifdef LATE_SHORTENS
#define LASTING(ms)	(ms)
#else
#define LASTING(ms)	MAX(ms, MIN(S.left, LONGEST))
#endif

inline refuse(i)
{
#ifdef SET_BACK
#if defined(CUT_SHORT)
	S.left = (S.left == FAR -> LENGTH - 1 : S.left);
#elif !defined(NEVER_CUT)
	S.left = (S.left == FAR -> LENGTH : S.left);
#endif
	bounded = bounded && S.left != FAR
#else
	skip
#endif
}

/* ---- the server's scripts, and what a client makes of an answer ---- */

inline serve(c, i, what, with, ms)
{
	yes = (S.key == OWNER(c, with) || S.key == 0 && what == ACQUIRE);
#ifdef RENEW_CREATES
	yes = (yes || S.key == 0 && what == RENEW);
#endif
#ifdef RELEASE_UNCHECKED
	yes = (yes || what == RELEASE);
#endif
	if
	:: yes ->
		S.key = (what == RELEASE -> 0 : OWNER(c, with));
		S.left = (what == RELEASE -> 0 : LASTING(ms))
	:: !yes && what == ACQUIRE -> refuse(i)
	:: else
	fi
}

inline hear(c, i, good, ms, elapsed, ripens)
{
	if
	:: !(good) ->
		L.vote = 0; L.unripe = 0
	:: good && (C.phase == TRYING || C.phase == HOLDING) ->
#ifdef LEASE_FROM_ANSWER
		L.vote = (ms);
#else
		L.vote = ((ms) > elapsed -> (ms) - elapsed : 0);
#endif
		L.unripe = (L.vote > 0 -> ripens : 0);
#ifdef HEAL_COUNTS_AT_ONCE
		L.unripe = (C.phase == HOLDING -> 0 : L.unripe);
#endif
	:: else
	fi
}

/* ---- a client's steps ---- */

inline begin(c)
{
	d_step {
		C.phase == IDLE && !(USED(c, 0) && USED(c, 1)) ->
		printf("client %d: begins an attempt\n", c);
		C.phase = TRYING;
#ifndef VALUE_USED_AGAIN
		C.value = (USED(c, 0) -> 1 : 0);
#endif
		done()
	}
}

inline ask(c, i, what, most)
{
	d_step {
		CONNECTED && MAY(what) && (!most || GROWS(what)) ->
		printf("client %d: request %d of length %d at server %d\n", c,
		    what, FOR(most), NAME(i));
		serve(c, i, what, C.value, FOR(most));
		hear(c, i, yes, FOR(most), 0, UNRIPE);
		done()
	}
}

inline ask_unheard(c, i, what, most)
{
	d_step {
		CONNECTED && MAY(what) && (!most || GROWS(what)) ->
		printf("client %d: request %d of length %d at server %d, never learns the answer\n",
		    c, what, FOR(most), NAME(i));
		serve(c, i, what, C.value, FOR(most));
		done()
	}
}

inline send(c, i, what, most)
{
	d_step {
		L.request == NONE && delayed < DELAYED && MAY(what) &&
		    (!most || GROWS(what)) ->
		printf("client %d: sends request %d of length %d to server %d\n",
		    c, what, FOR(most), NAME(i));
		delayed++;
		L.request = what;
		L.value = C.value;
		L.grown = most;
		done()
	}
}

inline execute(c, i)
{
	d_step {
		L.request != NONE && L.answer == NONE ->
		printf("server %d: executes client %d's request %d\n", NAME(i), c,
		    L.request);
		serve(c, i, L.request, L.value, FOR(L.grown));
		if
		:: L.release ->
			L.request = RELEASE; L.release = 0; L.grown = 0
		:: !L.release && (L.request == RELEASE || L.orphan) ->
			forget(c, i)
		:: else ->
			L.answer = (yes -> YES : NO);
			L.grace = (yes -> UNRIPE : 0)
		fi;
		done()
	}
}

inline receive(c, i)
{
	d_step {
		L.answer != NONE ->
		printf("client %d: hears from server %d\n", c, NAME(i));
		hear(c, i, L.answer == YES, ASKED(L.grown), L.age, L.grace);
		forget(c, i);
		done()
	}
}

inline start(c)
{
	d_step {
		C.phase == TRYING && ENOUGH(c) ->
		printf("client %d: starts COMMAND\n", c);
		C.phase = HOLDING;
#ifdef MIN_HOLD
#ifdef HOLD_FROM_START
		C.least = MIN_HOLD;
#else
		C.least = (MIN_HOLD + D(c) > TTL -> MIN_HOLD + D(c) - TTL : 0);
#endif
#endif
		client[1 - c].gap = (client[1 - c].phase >= HOLDING);
		done()
	}
}

/* A renewal is late: it is left to itself, and the next one can be sent. */
inline reconnect(c, i)
{
	d_step {
		L.request == RENEW && !L.release && !L.orphan ->
		printf("client %d: reconnects to server %d\n", c, NAME(i));
		if
		:: L.answer == NONE -> L.orphan = 1; L.age = 0
		:: else -> forget(c, i)
		fi;
		done()
	}
}

inline give_back(c, i)
{
	L.vote = 0; L.unripe = 0; L.age = 0;
	if
	:: L.answer != NONE -> forget(c, i)
	:: else
	fi;
	if
	:: CONNECTED ->
		serve(c, i, RELEASE, C.value, 0)
	:: !CONNECTED && L.request != RELEASE ->
#ifdef RELEASE_OVERTAKES
		L.orphan = 1;
		serve(c, i, RELEASE, C.value, 0)
#else
		L.release = 1
#endif
	:: else
	fi
}

/* The attempt is given up, or COMMAND is gone. */
inline end(c)
{
	d_step {
		C.phase != IDLE ->
		printf("client %d: releases\n", c);
		give_back(c, 0); give_back(c, 1); give_back(c, 2);
		C.phase = IDLE; C.value = 0; C.gap = 0;
#ifdef MIN_HOLD
		C.least = 0;
#endif
		done()
	}
}

#ifdef MIN_HOLD
inline keep_cooldown(c, i)
{
	if
	:: S.key == OWNER(c, C.value) ->
		S.key = COOLDOWN; S.left = C.least; kept++
	:: else
	fi;
	L.vote = 0; L.unripe = 0
}

/* COMMAND is gone, and a quorum of servers promises to keep the lock taken. */
inline end_with_rest(c)
{
	d_step {
		C.phase == HOLDING && ENOUGH(c) && C.least > 0 ->
		printf("client %d: releases, for a cooldown of %d\n", c,
		    C.least);
		keep_cooldown(c, 0); keep_cooldown(c, 1); keep_cooldown(c, 2);
		cooldown = (kept >= QUORUM -> C.least : 0);
		kept = 0;
		C.phase = IDLE; C.value = 0; C.gap = 0; C.least = 0;
		done()
	}
}
#endif

/* ---- faults ---- */

inline drop(c, i)
{
	if
	:: L.answer == NONE -> forget(c, i)
	:: else
	fi
}

inline restart(i)
{
	d_step {
		restarts < RESTARTS ->
		printf("server %d: restarts empty\n", NAME(i));
		restarts = (RESTARTS == ANY_NUMBER -> 0 : restarts + 1);
		S.key = 0; S.left = 0; S.up = 0;
		drop(0, i); drop(1, i);
		done()
	}
}

/*
 * A clock is set forward by more than TTL and grace: the leases on the server
 * end, and it looks old, however young it is.
 */
#ifdef RESTARTED_ONLY
#define MAY_BE_SET(i)	(server[i].up < GRACE)
#else
#define MAY_BE_SET(i)	true
#endif

inline set_forward(i)
{
	d_step {
		forward < SET_FORWARD && MAY_BE_SET(i) ->
		printf("server %d: sets its clock forward\n", NAME(i));
		forward++;
		S.key = 0; S.left = 0; S.up = OLD;
		done()
	}
}

#ifdef SET_BACK
inline set_back(i)
{
	d_step {
		S.key != 0 && S.left != FAR ->
		printf("server %d: sets its clock back\n", NAME(i));
		S.left = FAR;
		done()
	}
}
#endif

/* A connection is cut, and the request under way is lost ... */
inline lose(c, i)
{
	d_step {
		L.request != NONE ->
		printf("client %d: loses request and connection to server %d\n",
		    c, NAME(i));
		forget(c, i);
		done()
	}
}

/* ... or still waits in the server. */
inline cut(c, i)
{
	d_step {
		L.request != NONE && L.answer == NONE && !L.orphan ->
		printf("client %d: loses connection to server %d\n", c, NAME(i));
		L.orphan = 1; L.age = 0;
		done()
	}
}

inline die(c, i)
{
	L.vote = 0; L.unripe = 0; L.age = 0;
	if
	:: L.answer != NONE -> forget(c, i)
	:: else -> L.orphan = (L.request != NONE)
	fi
}

inline crash(c)
{
	d_step {
		C.phase != IDLE ->
		printf("client %d: crashes with its COMMAND\n", c);
		die(c, 0); die(c, 1); die(c, 2);
		C.phase = IDLE; C.value = 0; C.gap = 0;
		done()
	}
}

/* ---- time ---- */

#define DOWN(x)		x = (x > 0 -> x - 1 : 0)
#define WAITED_FOR	(L.request != NONE && L.request != RELEASE && \
			!L.release && !L.orphan)

inline tick_link(c, i)
{
	DOWN(L.vote); DOWN(L.unripe); DOWN(L.grace);
	L.unripe = (L.vote > 0 -> L.unripe : 0);
	L.age = (WAITED_FOR && L.age < LONGEST -> L.age + 1 : L.age)
}

inline tick_server(i)
{
#ifdef SET_BACK
	S.left = (S.left == FAR || S.left == 0 -> S.left : S.left - 1);
#else
	DOWN(S.left);
#endif
	S.key = (S.left > 0 -> S.key : 0);
	S.up = (S.up < OLD -> S.up + 1 : OLD);
	tick_link(0, i); tick_link(1, i)
}

inline tick()
{
	d_step {
		true ->
		printf("tick\n");
		tick_server(0); tick_server(1); tick_server(2);
#ifdef MIN_HOLD
		DOWN(cooldown); DOWN(client[0].least); DOWN(client[1].least);
#endif
		done()
	}
}

/* ---- after every step ---- */

/* Once D has passed, nothing that is heard or ripens later brings it back. */
#ifdef LAPSE_NOT_FINAL
#define LAPSE(c)	skip
#else
#define LAPSE(c)	client[c].phase = (client[c].phase == HOLDING && \
			!ENOUGH(c) -> LAPSED : client[c].phase)
#endif

#define HELD(c)		(client[c].phase == HOLDING && ENOUGH(c))

/* The key outlives the vote, unless the server has restarted since. */
#define BACKED(c, i)	(client[c].phase == IDLE || \
			server[i].link[c].vote == 0 || \
			server[i].link[c].vote + server[i].up <= LONGEST || \
			server[i].key == OWNER(c, client[c].value) && \
			server[i].left >= server[i].link[c].vote)

/* Nothing is left when all is released and nothing is under way. */
#define CLEAN(c, i)	(client[c].phase != IDLE || \
			server[i].link[c].request != NONE || \
			server[i].key != OWNER(c, 0) && \
			server[i].key != OWNER(c, 1))

inline done()
{
	LAPSE(0); LAPSE(1);
	yes = 0;
	c_code { sort(); };

	one_holder = !(HELD(0) && HELD(1));
	no_gap = !(HELD(0) && client[0].gap || HELD(1) && client[1].gap);
	votes_backed = BACKED(0, 0) && BACKED(0, 1) && BACKED(0, 2) &&
	    BACKED(1, 0) && BACKED(1, 1) && BACKED(1, 2);
	assert(one_holder);
#ifdef SET_BACK
	assert(bounded);
#endif
#ifdef MIN_HOLD
	cooldown_kept = (cooldown == 0 || !HELD(0) && !HELD(1));
	assert(cooldown_kept);
#endif
#ifndef ONE_HOLDER_ONLY
	assert(no_gap);
	assert(votes_backed);
#ifndef LOSS
	nothing_left = CLEAN(0, 0) && CLEAN(0, 1) && CLEAN(0, 2) &&
	    CLEAN(1, 0) && CLEAN(1, 1) && CLEAN(1, 2);
	assert(nothing_left)
#endif
#endif
}

init {
	d_step {
		server[0].up = OLD; server[1].up = OLD; server[2].up = OLD;
#ifdef SET_BACK
		bounded = 1
#endif
	};
	do
	EACH_CLIENT(begin)
	EACH_REQUEST(ask, ACQUIRE, 0)
	EACH_REQUEST(ask, RENEW, 0)
	EACH_REQUEST(ask, RENEW, 1)
	EACH_REQUEST(ask_unheard, ACQUIRE, 0)
	EACH_REQUEST(ask_unheard, RENEW, 0)
	EACH_REQUEST(ask_unheard, RENEW, 1)
	EACH_REQUEST(send, ACQUIRE, 0)
	EACH_REQUEST(send, RENEW, 0)
	EACH_REQUEST(send, RENEW, 1)
	EACH_LINK(execute)
	EACH_LINK(receive)
	EACH_CLIENT(start)
	EACH_LINK(reconnect)
	EACH_CLIENT(end)
#ifdef MIN_HOLD
	EACH_CLIENT(end_with_rest)
#endif
	EACH_SERVER(restart)
	EACH_SERVER(set_forward)
#ifdef SET_BACK
	EACH_SERVER(set_back)
#endif
#ifdef LOSS
	EACH_LINK(lose)
	EACH_LINK(cut)
	EACH_CLIENT(crash)
#endif
	:: tick()
	od
}
