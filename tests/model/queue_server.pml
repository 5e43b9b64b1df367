/* What the server does: the scripts. */

#define TAKEN		(client[0].key + client[1].key + client[2].key > 0)
#define BEFORE(c, j)	(j < c && client[j].beat > 0)
#define EARLIER(c)	(BEFORE(c, 0) || BEFORE(c, 1))

inline push(j)
{
#ifdef NO_WAKE
	skip
#else
	client[j].wake = 1
#endif
}

/* A waiter whose turn has come asks within the time of a grant, or is dead. */
inline call(j)
{
	client[j].beat = (client[j].beat < GRANT -> client[j].beat : GRANT);
	client[j].reached = 1;
	push(j)
}

/* An earlier client's give-back keeps the lock, or should. */
#define OWED(c)		(c > 0 && client[0].owed > 0 || \
			c > 1 && client[1].owed > 0)

inline take(c, with, ticks)
{
	in_turn = in_turn && !EARLIER(c) && !OWED(c);
	C.key = with + 1;
	C.mark = 0; C.logged = 0;
	left = ticks
}

/* A grant, or word that j is next. */
inline tell(j, hand_over)
{
	if
	:: hand_over && !TAKEN ->
		take(j, client[j].next, GRANT);
#if defined(NO_MARK)
		client[j].mark = 0;
#elif defined(MIXED)
		client[j].mark = !old;
#else
		client[j].mark = 1;
#endif
#if defined(WOKEN_STAY)
		skip;
#elif defined(BEAT_SHORTENED)
		client[j].beat = (client[j].beat < GRANT ->
		    client[j].beat : GRANT);
#else
		client[j].beat = GRANT;
#endif
		client[j].reached = 1;
#ifdef COUNT_FROM_GRANT
		client[j].granted = 1;
#endif
		push(j)
	:: else ->
#ifdef NEXT_CUT
		client[j].beat = (client[j].beat < GRANT ->
		    client[j].beat : GRANT);
#endif
		push(j)
	fi
}

/* The first that does not have it already. */
#define WAITS(j)	(client[j].beat > 0 && client[j].key == 0)

inline pass_on(hand_over)
{
	if
#ifdef LAST_COMES_FIRST
	:: WAITS(2) -> tell(2, hand_over)
	:: WAITS(1) && !WAITS(2) -> tell(1, hand_over)
	:: WAITS(0) && !WAITS(1) && !WAITS(2) -> tell(0, hand_over)
#else
	:: WAITS(0) -> tell(0, hand_over)
	:: WAITS(1) && !WAITS(0) -> tell(1, hand_over)
	:: WAITS(2) && !WAITS(0) && !WAITS(1) -> tell(2, hand_over)
#endif
	:: else
	fi
}

inline leave(c)
{
	C.beat = 0; C.wake = 0
}

inline join(c, with)
{
#ifdef SET_BACK
	C.fresh = back && !C.ticket;
#endif
	C.ticket = 1;
	C.beat = BEAT;
	C.reached = 0;
	C.next = with
}

#ifdef NO_RESERVE
#define MUST_WAIT(c)	false
#else
#define MUST_WAIT(c)	EARLIER(c)
#endif

inline serve_acquire(c, with)
{
	/* An attempt replaces what an older one left, and yields to a newer. */
#ifdef OLDER_REPLACES
	over = 0;
#else
	over = (C.key > with + 1);
#endif
	ours = (C.key == with + 1);
	C.key = (ours || over -> C.key : 0);
	/* Whether this request confirms a grant. */
#ifdef PLACE_DECIDES
	handed = ours && C.beat > 0;
#else
	handed = ours && C.mark;
#endif
	if
	:: C.ticket && !ours && !over -> join(c, with)
	:: else
	fi;
	yes = (ours || !MUST_WAIT(c) && !TAKEN);
	if
	:: ours ->
		left = TTL
	:: yes && !ours ->
		take(c, with, TTL)
	:: !yes && !TAKEN && BEFORE(c, 0) ->
		call(0)
	:: !yes && !TAKEN && !BEFORE(c, 0) && BEFORE(c, 1) ->
		call(1)
	:: else
	fi;
	if
	:: yes ->
#ifdef RAISED_FOR_GRANTS
		counter = counter + (!ours || handed);
#else
		counter++;
#endif
		recorded = recorded && !((!ours || handed) && C.logged);
		C.logged = C.logged || !ours || handed;
		recorded = recorded && C.logged;
		C.mark = 0; C.owed = 0;
		leave(c);
		pass_on(true)
	:: !yes && !C.ticket && !over ->
		join(c, with)
	:: else
	fi
}

/*
 * A give-back of one attempt keeps the lock for its client for the time of a
 * grant: the client asks again at once, with a new attempt.
 */
inline serve_release(c, what, with)
{
#ifdef NO_PASS_ON
	ours = (C.key > 0 && C.phase == HOLDING);
#else
	ours = (C.key > 0 && (what == RELEASE || C.key == with + 1));
#endif
	yes = (ours || what == RELEASE && C.beat > 0);
	C.owed = (ours && what == GIVE_BACK && C.ticket && C.phase == WAITING ->
	    (left < GRANT -> left : GRANT) : 0);
#ifndef GIVEN_AWAY
	keeps = ours && what == GIVE_BACK;
	left = (keeps && left > GRANT -> GRANT : left);
#endif
#ifndef RELEASE_LEAVES_KEY
	C.key = (ours && !keeps -> 0 : C.key);
	left = (ours && !keeps -> 0 : left);
#endif
#ifndef RELEASE_LEAVES_PLACE
	if
	:: what == RELEASE -> leave(c)
	:: else
	fi;
#endif
	if
	:: yes -> pass_on(ours)
	:: else
	fi
}

inline serve(c, what, with)
{
	if
	:: what == ACQUIRE -> serve_acquire(c, with)
	:: else -> serve_release(c, what, with)
	fi
}
