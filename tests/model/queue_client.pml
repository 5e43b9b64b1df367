/* What a client does, and what befalls it. */

#define AWAKE		(C.phase != IDLE && !C.asleep)
#define CONNECTED	(C.request == NONE || C.orphan)
#define ASKS		(C.phase == WAITING && AWAKE && !C.blocked && \
			!C.popped && CONNECTED && !QUITS(c))
#define CONFIRMS	(C.phase == HOLDING && AWAKE && C.vote > 0 && \
			C.unconfirmed && CONNECTED)
#define PRINTED(r)	(r == ACQUIRE -> 1 : (r == RENEW -> 2 : 3))
#define TRACE		(C.key > 0 || C.beat > 0 || C.request != NONE)

#define BUSY(c)		(client[c].phase != IDLE || client[c].key > 0 || \
			client[c].beat > 0 || client[c].request != NONE)

#ifdef CONFIRM_ACQUIRES
#define CONFIRM		ACQUIRE
#else
#define CONFIRM		RENEW
#endif

/* The request under way will have no reply. */
inline spend(c)
{
	C.nonce = (C.nonce == SENT -> SPENT : C.nonce);
	C.with = (C.with == SENT -> SPENT : C.with)
}

inline forget(c)
{
	delayed = (C.request == NONE -> delayed : delayed - 1);
	C.request = NONE; C.answer = NONE; C.age = 0;
	C.behind = NONE; C.orphan = 0; C.told = 0; C.ran = 0;
	spend(c)
}

/* COMMAND begins with that fence, if there is time. */
inline start(c, ticks, its_fence)
{
	rare = rare && !TOO_SOON(c);
	C.phase = HOLDING;
	C.vote = ticks;
#ifdef TWICE
	C.begun = 0; C.robbed = 0;
#endif
	if
	:: ticks > 0 ->
		growing = growing && its_fence > last;
		last = its_fence
	:: else
	fi
}

inline fault()
{
	idle = 0
}

inline stop(c)
{
	C.phase = IDLE; C.asleep = 0; C.blocked = 0; C.timer = 0; C.vote = 0;
	C.popped = 0; C.unconfirmed = 0; C.credit = 0
#ifdef LATEST
	; C.quits = 0
#endif
}

/*
 * When the lease ends, the head of the queue asks again, and so does the next one
 * after a hand-over, or after a turn.
 */
#define QUEUED		(TAKES_TURN(0) || TAKES_TURN(1) || TAKES_TURN(2))
#define ENDS		(TAKEN -> left : TURN)
#define SOON(c)		((!EARLIER(c) || QUEUED || !TAKEN) && ENDS < REFRESH)

inline hear(c, good, no_more, elapsed, its_fence)
{
	if
	:: no_more ->
#ifdef LATEST
		C.quits = 1	/* and has a place until its release */
#else
		stop(c)
#endif
	:: good && TRUSTED(c) ->
		start(c, TTL - elapsed, its_fence)
	:: good && !TRUSTED(c) ->
		C.blocked = 1;
		C.timer = 1;
		C.credit = 0
	:: !good && !no_more ->
		/* This acquire is the last one answered now. */
		C.nonce = (C.nonce == SENT -> ANSWERED :
		    (C.nonce == ANSWERED -> SPENT : C.nonce));
		C.with = (C.with == SENT -> ANSWERED :
		    (C.with == ANSWERED -> SPENT : C.with));
#ifdef FROM_BLPOP
		C.credit = LEASE;
#else
		C.credit = (LEASE > elapsed -> LEASE - elapsed : 0);
#endif
		C.blocked = 1;
#ifdef NO_PAUSE
		C.timer = 0 *
#else
		C.timer =
#endif
		    (SOON(c) -> ENDS : REFRESH)
	fi
}

inline begin(c, seldom, other)
{
	d_step {
		C.phase == IDLE && !TRACE &&
		    BUSY(0) + BUSY(1) + BUSY(2) < CLIENTS ->
		printf("client %d: begins to wait, once-per: %d, other: %d\n",
		    NAME(c), seldom, other);
		C.phase = WAITING;
#ifdef ONCE_PER
		C.once = seldom;
#endif
#ifdef MODES
		C.mode = other;
#endif
#ifdef STRANGER
		C.stranger = other;
#endif
#ifdef LATEST
		C.latest = other;
#endif
		done()
	}
}

inline ask(c)
{
	d_step {
		ASKS ->
		serve(c, ACQUIRE, C.attempt, SENT, false);
		printf("client %d: acquire: %d\n", NAME(c), yes);
		hear(c, yes, barred, 0, counter);
		done()
	}
}

inline ask_unheard(c)
{
	d_step {
		ASKS ->
		serve(c, ACQUIRE, C.attempt, SPENT, false);
		printf("client %d: acquire: %d, but it never learns that\n",
		    NAME(c), yes);
		fault();
		done()
	}
}

inline send(c)
{
	d_step {
		ASKS && C.request == NONE && delayed < DELAYED ->
		printf("client %d: sends acquire\n", NAME(c));
		delayed++;
		C.request = ACQUIRE;
		C.sent = C.attempt;
		fault();
		done()
	}
}

inline execute(c)
{
	d_step {
		C.request != NONE && C.answer == NONE ->
		printf("server 0: executes client %d's request %d\n", NAME(c),
		    PRINTED(C.request));
		serve(c, C.request, C.sent, (C.orphan -> SPENT : SENT),
		    C.request == RELEASE && C.ran);
		if
		:: C.behind != NONE ->
			C.request = C.behind; C.behind = NONE
		:: C.behind == NONE && C.orphan ->
			forget(c)
		:: else ->
			C.answer = (yes -> YES : (barred -> BARRED : NO));
			C.told = (yes && C.request == ACQUIRE -> counter : 0)
		fi;
		fault();
		done()
	}
}

inline receive(c)
{
	d_step {
		C.answer != NONE && AWAKE && !C.orphan ->
		printf("client %d: hears of its request %d\n", NAME(c),
		    PRINTED(C.request));
		yes = (C.answer == YES);
		if
		:: C.phase == WAITING ->
			hear(c, yes, (C.answer == BARRED), C.age, C.told)
		:: C.phase == HOLDING && C.vote > 0 ->
			C.vote = (yes -> TTL - C.age : 0);
			C.unconfirmed = C.unconfirmed && !yes
		:: else
		fi;
		forget(c);
		fault();
		done()
	}
}

/* Not answered in time: the attempt is given back, behind it. */
inline reconnect(c)
{
	d_step {
		C.phase == WAITING && AWAKE && !CONNECTED ->
		printf("client %d: reconnects\n", NAME(c));
		if
		:: C.answer == NONE -> C.behind = GIVE_BACK
		:: else -> C.request = GIVE_BACK; C.answer = NONE
		fi;
		C.orphan = 1; C.age = 0; C.told = 0; C.dirty = 1;
		spend(c);
#ifndef VALUE_USED_AGAIN
		C.attempt++;
#endif
		fault();
		done()
	}
}

/* The confirmation is not answered in time: again, on another connection. */
inline reconnect_holder(c, due)
{
	d_step {
		due && C.phase == HOLDING && AWAKE && !CONNECTED ->
		printf("client %d: reconnects\n", NAME(c));
		if
		:: C.answer == NONE -> C.orphan = 1; C.age = 0
		:: else -> forget(c)
		fi;
		fault();
		done()
	}
}

/* A grant counts if it came after the last acquire that was answered. */
#if defined(NO_NONCE)
#define TAKES		(C.with != NONE && C.credit > 0)
#elif defined(FROM_POP)
#define TAKES		(C.with == ANSWERED)
#else
#define TAKES		(C.with == ANSWERED && C.credit > 0 && TRUSTED_GRANT(c))
#endif

/* It is woken, or handed the lock, or it is time to ask again. */
inline unblock(c)
{
	d_step {
		AWAKE && C.blocked && (C.wake || C.timer == 0) ->
		takes = C.wake && TAKES;
		printf("client %d: ends its BLPOP, woken: %d, granted: %d\n",
		    NAME(c), C.wake, takes);
		C.blocked = 0; C.timer = 0;
		C.popped = takes;
#ifdef FROM_POP
		C.vote = (takes -> LEASE : 0);
#else
		C.vote = (takes -> C.credit : 0);
#endif
		C.wake = 0;
		done()
	}
}

/* COMMAND begins unless D has passed by then; if it has, the client asks. */
inline exec(c)
{
	d_step {
		C.popped && AWAKE ->
		printf("client %d: has ticks left to begin: %d\n", NAME(c),
		    C.vote);
		C.popped = 0;
		if
		:: C.vote > 0 ->
			C.unconfirmed = 1;
			start(c, C.vote, C.fence)
		:: else
		fi;
		done()
	}
}

inline renew(c)
{
	d_step {
		C.phase == HOLDING && AWAKE && CONNECTED && C.vote > 0 &&
		    (C.vote < TTL || C.unconfirmed) ->
		printf("client %d: renews\n", NAME(c));
		serve(c, CONFIRM, C.attempt, SPENT, false);
		C.vote = (yes -> TTL : 0);
		C.unconfirmed = C.unconfirmed && !yes;
		done()
	}
}

inline renew_unheard(c)
{
	d_step {
		CONFIRMS ->
		serve(c, CONFIRM, C.attempt, SPENT, false);
		printf("client %d: renews: %d, but it never learns that\n",
		    NAME(c), yes);
		fault();
		done()
	}
}

inline send_renew(c)
{
	d_step {
		CONFIRMS && C.request == NONE && delayed < DELAYED ->
		printf("client %d: sends its renewal\n", NAME(c));
		delayed++;
		C.request = CONFIRM;
		C.sent = C.attempt;
		fault();
		done()
	}
}

/* COMMAND is gone, or the wait is over. */
inline end(c, due, good)
{
	d_step {
		due && AWAKE && CONNECTED &&
		    (!good || C.phase == HOLDING && C.vote > 0) ->
		printf("client %d: releases, successful: %d\n", NAME(c), good);
#ifdef ONCE_PER
		success = (good && C.key > 0 -> PERIOD : success);
#endif
		serve(c, RELEASE, C.attempt, NONE, C.unconfirmed);
		stop(c);
		done()
	}
}

inline end_late(c)
{
	d_step {
		AWAKE && (!CONNECTED ||
		    delayed < DELAYED && C.request == NONE) ->
		printf("client %d: sends release\n", NAME(c));
		delayed = (CONNECTED -> delayed + 1 : delayed);
		if
		:: C.request == NONE || C.answer != NONE ->
			C.request = RELEASE; C.sent = C.attempt; C.answer = NONE
		:: else ->
			C.behind = RELEASE
		fi;
		C.orphan = 1; C.age = 0; C.told = 0;
		C.ran = C.unconfirmed;
		spend(c);
		stop(c);
		fault();
		done()
	}
}

/*
 * Its release has no answer, so it goes out on a second connection too, where it
 * may overtake a renewal.  One of the two is executed now, the other one at any
 * time.
 */
#ifdef TWICE
inline end_twice(c)
{
	d_step {
		C.phase == HOLDING && AWAKE && (CONNECTED ->
		    C.request == NONE && delayed < DELAYED :
		    C.request == RENEW && C.answer == NONE) ->
		printf("client %d: sends release twice\n", NAME(c));
		serve(c, RELEASE, C.attempt, NONE, C.unconfirmed);
		if
		:: C.request == NONE ->
			delayed++;
			C.request = RELEASE; C.sent = C.attempt
		:: else ->
			C.behind = RELEASE
		fi;
		C.orphan = 1; C.age = 0; C.twice = 1;
		C.ran = C.unconfirmed;
		stop(c);
		fault();
		done()
	}
}
#endif

/* ---- faults ---- */

inline doze(c)
{
	d_step {
		C.phase == WAITING && !C.asleep && CONNECTED ->
		printf("client %d: falls asleep\n", NAME(c));
		C.asleep = 1; C.timer = 0;
		fault();
		done()
	}
}

inline awaken(c)
{
	d_step {
		C.asleep ->
		printf("client %d: wakes up\n", NAME(c));
		C.asleep = 0;
		fault();
		done()
	}
}

#ifdef GRANTEES_CRASH
#define MAY_CRASH	(C.phase == WAITING && C.reached)
#else
#define MAY_CRASH	(C.phase != IDLE)
#endif

inline crash(c)
{
	d_step {
		MAY_CRASH ->
		printf("client %d: crashes\n", NAME(c));
		if
		:: C.answer != NONE -> forget(c)
		:: else
		fi;
		C.orphan = (C.request != NONE);
		spend(c);
		C.age = 0;
		C.dirty = 1;
#ifdef TWICE
		C.begun = 0;
#endif
		stop(c);
		fault();
		done()
	}
}

/* The connection is cut; the request under way is lost or waits in the server. */
inline cut(c)
{
	d_step {
		AWAKE && !CONNECTED && C.answer == NONE ->
		printf("client %d: loses its connection\n", NAME(c));
		C.orphan = 1; C.age = 0; C.dirty = 1;
		spend(c);
		fault();
		done()
	}
}

inline lose(c)
{
	d_step {
		C.request != NONE ->
		printf("client %d: loses what was under way\n", NAME(c));
		C.dirty = 1;
#ifdef TWICE
		C.begun = C.begun && C.phase != IDLE;
#endif
		forget(c);
		fault();
		done()
	}
}

/* An older connection, of which the server thinks that it waits, gets it. */
inline lose_wake(c)
{
	d_step {
		C.wake ->
		printf("client %d: loses its wake\n", NAME(c));
		C.wake = 0;
		fault();
		done()
	}
}

/* Whom the server had answered hears of it all the same. */
inline restart_client(c)
{
	C.key = 0; C.beat = 0; C.owed = 0; C.dirty = 1;
	if
	:: C.blocked && C.wake ->
		C.before = 1
	:: else ->
		C.blocked = 0; C.timer = 0; C.wake = 0
	fi;
	if
	:: C.request != NONE && C.answer == NONE -> forget(c)
	:: C.request != NONE && C.answer != NONE -> C.before = 1
	:: else
	fi
}

#ifdef RESTARTS
inline restart()
{
	d_step {
		restarts > 0 ->
		printf("server 0: restarts empty\n");
		restarts--;
		young = GRACE;
		left = 0;
		restart_client(0); restart_client(1); restart_client(2);
		fault();
		done()
	}
}
#endif
