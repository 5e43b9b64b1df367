/* What the server does: the scripts. */

#define TAKEN		(client[0].key + client[1].key + client[2].key > 0)
#define BEFORE(c, j)	(j < c && client[j].beat > 0)
#define EARLIER(c)	(BEFORE(c, 0) || BEFORE(c, 1))

/* Neither a grant nor the time to ask is longer than the waiter's lease. */
#ifdef WHOLE_TURN
#define TURN		GRANT
#else
#define TURN		MOST
#endif
#ifdef WHOLE_GRANT
#define GRANTED		GRANT
#else
#define GRANTED		MOST
#endif

/* An element that is in the list already stays there alone. */
inline push(j, its_nonce, its_fence)
{
#ifdef NO_WAKE
	skip
#else
	if
#ifdef STRANGER_UNWOKEN
	:: UNKNOWN(j)
	:: !UNKNOWN(j) && !client[j].wake ->
#elif defined(ELEMENT_REPLACED)
	:: true ->
#else
	:: !client[j].wake ->
#endif
		client[j].wake = 1;
		client[j].with = its_nonce;
		client[j].fence = its_fence
	:: else
	fi
#endif
}

/* A waiter whose turn has come asks within the time of a grant, or is dead. */
inline hurry(j)
{
	client[j].beat = (client[j].beat < TURN -> client[j].beat : TURN);
	client[j].reached = 1
}

inline call(j)
{
	hurry(j);
	push(j, NONE, 0)
}

/* An earlier client's give-back keeps the lock, or should. */
#define OWED(c)		(c > 0 && client[0].owed > 0 || \
			c > 1 && client[1].owed > 0)

/*
 * Another one has had the lock of this holder.  An acquire that was cut off has the
 * same value as its repetition, so a late one of those is not told apart.
 */
#ifdef TWICE
inline rob(j, c, try)
{
	client[j].robbed = client[j].phase == HOLDING && (j != c ||
	    client[j].robbed && try != client[j].attempt)
}
#endif

inline take(c, try, ticks)
{
	in_turn = in_turn && !EARLIER(c) && !OWED(c);
	newest = newest && !SUPERSEDED(c);
#ifdef TWICE
	rob(0, c, try); rob(1, c, try); rob(2, c, try);
#endif
	C.key = try + 1;
	C.mark = 0; C.logged = 0;
	left = ticks
}

/*
 * A grant.  The order counts: the value with its mark, the place, the fence,
 * and last the element, which proves that all of it is there.
 */
inline grant(j)
{
	take(j, client[j].next, GRANTED);
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
	client[j].beat = (client[j].beat < GRANT -> client[j].beat : GRANT);
#else
	client[j].beat = GRANTED;
#endif
	client[j].reached = 1;
#if defined(RAISED_AT_CONFIRMATION)
	skip
#elif defined(MIXED)
	counter = counter + !old
#else
	counter++
#endif
}

/*
 * A --once-per waiter has to ask whether it still may run, an unknown one because
 * its value is not known, and a superseded one to be refused.
 */
#ifdef ONCE_GRANTED
#define BY_ASKING(j)	UNKNOWN(j)
#elif defined(SUPERSEDED_GRANTED)
#define BY_ASKING(j)	(ONCE(j) || UNKNOWN(j))
#else
#define BY_ASKING(j)	(ONCE(j) || UNKNOWN(j) || SUPERSEDED(j))
#endif

/* A grant, or word that j is next. */
inline tell(j, hand_over)
{
	if
	:: hand_over && !TAKEN && BY_ASKING(j) ->
		call(j)
	:: hand_over && !TAKEN && !BY_ASKING(j) ->
#ifdef PUSHED_FIRST
		if
		:: fails -> counter++
		:: else -> grant(j)
		fi;
#else
		grant(j);
#endif
#ifdef MIXED
		push(j, (old -> NONE : client[j].nonce), counter)
#else
		push(j, client[j].nonce, counter)
#endif
	:: else ->
#ifdef NEXT_CUT
		client[j].beat = (client[j].beat < GRANT ->
		    client[j].beat : GRANT);
#endif
		push(j, NONE, 0)
	fi
}

/* The first that does not have it already. */
#define WAITS(j)	(client[j].beat > 0 && client[j].key == 0)
#define TAKES_TURN(j)	(client[j].beat > 0 && client[j].key > 0)

/* Where the lease is short the next one asks in time, if the first one is dead. */
inline pass_on(hand_over)
{
	first = (WAITS(0) -> 0 : (WAITS(1) -> 1 : 2));
#ifndef SECOND_UNWOKEN
	second = (WAITS(1) && first < 1 -> 1 : 2);
	if
	:: MOST < GRANT && hand_over && !TAKEN && WAITS(second) &&
	    second > first -> push(second, NONE, 0)
	:: else
	fi;
#endif
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
	client[c].beat = 0; client[c].wake = 0
}

/* Those before c that it supersedes ask, and are refused. */
#ifdef LATEST
inline wake_earlier(c, j)
{
	if
	:: j < c && C.beat == 0 && C.latest && WAITS(j) && client[j].latest ->
		push(j, NONE, 0)
	:: else
	fi
}
#endif

inline join(c, try, its_nonce)
{
#if defined(LATEST) && !defined(SUPERSEDED_UNWOKEN)
	wake_earlier(c, 0); wake_earlier(c, 1);
#endif
#ifdef SET_BACK
	C.fresh = back && !C.ticket;
#endif
	C.ticket = 1;
	C.beat = BEAT;
	C.reached = 0;
	C.next = try;
	C.nonce = its_nonce
}

#ifdef NO_RESERVE
#define MUST_WAIT(c)	false
#elif defined(STRANGER_PASSED)
#define IN_WAY(c, j)	(BEFORE(c, j) && !UNKNOWN(j))
#define MUST_WAIT(c)	(IN_WAY(c, 0) || IN_WAY(c, 1))
#else
#define MUST_WAIT(c)	EARLIER(c)
#endif

/* Ours, or one that we may take, or a place in the queue. */
inline answer_acquire(c, try, its_nonce)
{
	/* Whether this request confirms a grant. */
	handed = ours && C.mark;
	if
	:: C.ticket && !ours && !over -> join(c, try, its_nonce)
	:: else
	fi;
#if defined(LATEST) && !defined(SUPERSEDED_TAKES)
	barred = !ours && !over && SUPERSEDED(c);
	C.owed = (barred -> 0 : C.owed);
#endif
	yes = (ours || !barred && !MUST_WAIT(c) && !TAKEN);
	if
	:: ours ->
		left = TTL
	:: yes && !ours ->
		take(c, try, TTL)
	:: !yes && !TAKEN && BEFORE(c, 0) ->
		call(0)
	:: !yes && !TAKEN && !BEFORE(c, 0) && BEFORE(c, 1) ->
		call(1)
	:: barred && !TAKEN && !EARLIER(c) ->
#ifdef SUPERSEDED_STAYS
		C.reached = 1
#else
		hurry(c)
#endif
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
#ifdef TWICE
		C.begun = C.begun || C.phase == WAITING;
#endif
		recorded = recorded && C.logged;
		C.mark = 0; C.owed = 0;
		leave(c);
		pass_on(true)
	:: !yes && !C.ticket && !over ->
		join(c, try, its_nonce)
	:: else
	fi
}

/* The client leaves the queue; the others may have waited for it. */
inline refuse_for_good(c, try, its_nonce)
{
#ifdef REFUSED_STAYS
	join(c, try, its_nonce)
#else
	C.owed = 0;
	if
	:: C.beat > 0 || !TAKEN ->
		leave(c);
#ifndef REFUSED_WAKES_NOBODY
		pass_on(true)
#endif
	:: else
	fi
#endif
}

inline serve_acquire(c, try, its_nonce)
{
	/* An attempt replaces what an older one left, and yields to a newer. */
#ifdef OLDER_REPLACES
	over = 0;
#else
	over = (C.key > try + 1);
#endif
	ours = (C.key == try + 1);
	C.key = (ours || over -> C.key : 0);
#ifdef MODES_IGNORED
	barred = !ours && !over && TOO_SOON(c);
#else
	barred = !ours && !over && (MISMATCH(c) || TOO_SOON(c));
#endif
	if
	:: barred -> refuse_for_good(c, try, its_nonce)
	:: else -> answer_acquire(c, try, its_nonce)
	fi
}

/*
 * A release that does not find the key of the attempt that was held looks for the end
 * in the history.
 */
#ifdef END_UNSEEN
#define KNOWN_END(c)	false
#else
#define KNOWN_END(c)	C.closed
#endif
#define ENDED(c, what)	(what == RELEASE && (C.phase == HOLDING || C.twice))
#ifdef ANY_ATTEMPT_ENDS
#define HELD_KEY(c, try) ours
#else
#define HELD_KEY(c, try) (C.key == try + 1)
#endif

/*
 * A give-back of one attempt keeps the lock for its client for the time of a
 * grant: the client asks again at once, with a new attempt.
 */
inline serve_release(c, what, try, starts)
{
#ifdef NO_PASS_ON
	ours = (C.key > 0 && C.phase == HOLDING);
#else
	ours = (C.key > 0 && (what == RELEASE || C.key == try + 1));
#endif
	yes = (ours || what == RELEASE && C.beat > 0);
#ifndef START_LOST
	C.logged = C.logged || ours && starts && C.mark;
#endif
	recorded = recorded && !(ours && starts && !C.logged);
#ifdef TWICE
	held = HELD_KEY(c, try);
	recorded = recorded && !(ENDED(c, what) &&
	    (held -> C.closed || C.robbed : C.closed && !KNOWN_END(c)));
	C.closed = C.closed || ENDED(c, what);
#ifdef START_STAYS
	C.begun = C.begun && !(what == RELEASE && ours);
#else
	C.begun = C.begun && what != RELEASE;
#endif
#endif
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

/* A renewal confirms a grant and leaves the queue.  It never creates the key. */
inline serve_renew(c, try)
{
	yes = (C.key == try + 1);
#ifdef RENEW_CREATES
	yes = yes || !TAKEN;
	C.key = (yes -> try + 1 : C.key);
#endif
	if
	:: yes ->
		left = TTL;
		recorded = recorded && !(C.mark && C.logged);
		C.logged = C.logged || C.mark;
		recorded = recorded && C.logged;
		C.mark = 0;
		if
		:: C.beat > 0 ->
			leave(c);
			pass_on(false)
		:: else
		fi
	:: else
	fi
}

#ifdef STRANGER_REMOVED
inline remove_stranger(j)
{
	if
	:: UNKNOWN(j) -> leave(j)
	:: else
	fi
}
#endif

inline serve(c, what, try, its_nonce, starts)
{
#ifdef STRANGER_REMOVED
	if
	:: !UNKNOWN(c) ->
		remove_stranger(0); remove_stranger(1); remove_stranger(2)
	:: else
	fi;
#endif
	if
	:: what == ACQUIRE -> serve_acquire(c, try, its_nonce)
	:: what == RENEW -> serve_renew(c, try)
	:: else -> serve_release(c, what, try, starts)
	fi
}
