/* What a client does, and what befalls it. */

#define AWAKE		(C.phase != IDLE && !C.asleep)
#define CONNECTED	(C.request == NONE || C.orphan)
#define ASKS		(C.phase == WAITING && AWAKE && !C.blocked && CONNECTED)
#define TRACE		(C.key > 0 || C.beat > 0 || C.request != NONE)

#define BUSY(c)		(client[c].phase != IDLE || client[c].key > 0 || \
			client[c].beat > 0 || client[c].request != NONE)

inline forget(c)
{
	delayed = (C.request == NONE -> delayed : delayed - 1);
	C.request = NONE; C.answer = NONE; C.age = 0;
	C.behind = NONE; C.orphan = 0; C.told = 0
}

/* COMMAND begins with that fence, if there is time. */
inline start(c, ticks, fence)
{
	C.phase = HOLDING;
	C.vote = ticks;
	if
	:: ticks > 0 ->
		growing = growing && fence > last;
		last = fence
	:: else
	fi
}

inline fault()
{
	idle = 0
}

/*
 * The head of the queue asks again when the lease ends, if that is earlier.
 */
inline hear(c, good, elapsed, fence)
{
	if
	:: good ->
		start(c, TTL - elapsed, fence)
	:: else ->
		C.blocked = 1;
#ifdef NO_PAUSE
		C.timer = 0 *
#else
		C.timer =
#endif
		    (!EARLIER(c) && left < REFRESH -> left : REFRESH)
	fi
}

inline begin(c)
{
	d_step {
		C.phase == IDLE && !TRACE &&
		    BUSY(0) + BUSY(1) + BUSY(2) < CLIENTS ->
		printf("client %d: begins to wait\n", NAME(c));
		C.phase = WAITING;
		done()
	}
}

inline ask(c)
{
	d_step {
		ASKS ->
		serve(c, ACQUIRE, C.attempt);
		printf("client %d: acquire: %d\n", NAME(c), yes);
		hear(c, yes, 0, counter);
		done()
	}
}

inline ask_unheard(c)
{
	d_step {
		ASKS ->
		serve(c, ACQUIRE, C.attempt);
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
		    (C.request == ACQUIRE -> 1 : 3));
		serve(c, C.request, C.sent);
		if
		:: C.behind != NONE ->
			C.request = C.behind; C.behind = NONE
		:: C.behind == NONE && C.orphan ->
			forget(c)
		:: else ->
			C.answer = (yes -> YES : NO);
			C.told = (yes -> counter : 0)
		fi;
		fault();
		done()
	}
}

inline receive(c)
{
	d_step {
		C.answer != NONE && AWAKE ->
		printf("client %d: hears of its acquire\n", NAME(c));
		yes = (C.answer == YES);
		hear(c, yes, C.age, C.told);
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
#ifndef VALUE_USED_AGAIN
		C.attempt++;
#endif
		fault();
		done()
	}
}

/* It is woken, or it is time to ask again. */
inline unblock(c)
{
	d_step {
		AWAKE && C.blocked && (C.wake || C.timer == 0) ->
		printf("client %d: ends its BLPOP, woken: %d\n", NAME(c),
		    C.wake);
		C.blocked = 0; C.timer = 0;
#ifdef COUNT_FROM_GRANT
		C.phase = (C.granted -> HOLDING : WAITING);
		C.vote = (C.granted -> GRANT : 0);
#endif
		C.wake = 0;
		done()
	}
}

inline renew(c)
{
	d_step {
		C.phase == HOLDING && AWAKE && C.vote > 0 && C.vote < TTL ->
		printf("client %d: renews\n", NAME(c));
		yes = (C.key == C.attempt + 1);
		recorded = recorded && !(yes && C.mark);
		left = (yes -> TTL : left);
		C.vote = (yes -> TTL : 0);
		done()
	}
}

inline stop(c)
{
	C.phase = IDLE; C.asleep = 0; C.blocked = 0; C.timer = 0; C.vote = 0
}

/* COMMAND is gone, or the wait is over. */
inline end(c, due)
{
	d_step {
		due && AWAKE && CONNECTED ->
		printf("client %d: releases\n", NAME(c));
		serve(c, RELEASE, 0);
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
		stop(c);
		fault();
		done()
	}
}

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
#define MAY_CRASH	(C.phase == WAITING && C.key > 0 && C.beat > 0)
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
		C.age = 0;
		C.dirty = 1;
		stop(c);
		fault();
		done()
	}
}

/* The connection is cut.  What was under way is lost or waits in the server. */
inline cut(c)
{
	d_step {
		AWAKE && !CONNECTED && C.answer == NONE ->
		printf("client %d: loses its connection\n", NAME(c));
		C.orphan = 1; C.age = 0; C.dirty = 1;
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
