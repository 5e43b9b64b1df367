/*
 * The queue: who waits, in which order, who is woken and who gets the lock.
 * One server hands it over; several (-DSEVERAL) are a model of its own, below.
 *
 * Both have a discrete clock, which ticks only when all that is due has been
 * done.  The lock may be nobody's for BOUND ticks while somebody waits; what
 * goes wrong meanwhile starts the count again.  As the order is kept, and those
 * who are before a waiter are only so many, that means that nobody waits for
 * ever.
 *
 * -DLAX leaves out the invariants of order and history.  It shows that another
 * one breaks as well, where those would break first.
 */

#ifndef CLIENTS
#define CLIENTS		3	/* at most */
#endif
#define IDLE		0
#define WAITING		1
#define HOLDING		2
#define EACH(step)	:: step(0) :: step(1) :: step(2)

/*
 * -DTICKING=n proves that the clock never stops.  From any state the model may
 * turn to due work alone: some step is possible until the clock ticks (else pan
 * reports an invalid end state), and there are less than n of them.
 */
#ifdef TICKING
byte work;
bit ticking;
#define FINISHES	; work = (work > 0 -> work + 1 : 0); \
			ticking = (work <= TICKING); assert(ticking)
#else
#define FINISHES
#endif

#ifndef SEVERAL
/*
 * One server: tickets, wake lists and the hand-over.
 *
 * A client that is awake does what is due before the clock ticks; one that is
 * asleep does nothing for any time.  Requests are sent, executed and answered
 * in one step, but for DELAYED at a time, which take as long as they like,
 * there and back.
 *
 * A time is kept as the ticks that are left of it.  The clients are alike, and
 * are kept in the order of their tickets: a ticket is a place in client[].  Of
 * the attempts only the order is kept.  So the number of waits and of attempts
 * has no limit.
 */

#ifndef TTL
#define TTL		2
#endif
#ifndef GRANT
#define GRANT		1
#endif
#ifndef BEAT
#define BEAT		3	/* a place in the queue lasts that long ... */
#endif
#ifndef REFRESH
#define REFRESH		1	/* ... and is refreshed that often */
#endif
#ifndef DELAYED
#define DELAYED		1
#endif
#ifndef BOUND			/* how long nobody may have it */
#define BOUND		(BEAT + REFRESH - 1)
#endif

/* requests and answers */
#define NONE		0
#define ACQUIRE		1
#define GIVE_BACK	2	/* release of one attempt; the place is kept */
#define RELEASE		3	/* of all there is, and out of the queue */
#define YES		1
#define NO		2

typedef Client {
	unsigned phase : 2;
	bit ticket;		/* has one */
	bit asleep;
	bit blocked;		/* in BLPOP */
	bit dirty;		/* died, or left a request behind */
#ifdef COUNT_FROM_GRANT
	bit granted;		/* the element in its wake list is a grant */
#endif
	unsigned timer : 2;	/* blocked: ticks until it asks by itself */
	unsigned vote : 2;	/* ticks until D */
	unsigned attempt : 3;
	/* on the server */
	unsigned key : 3;	/* the attempt that has the lock, plus 1 */
	unsigned beat : 3;	/* ticks for which it stays in the queue */
	unsigned next : 3;	/* the attempt that the lock is handed to */
	bit mark;		/* its value: granted, not yet confirmed */
	bit logged;		/* the history has the start of this value */
	bit wake;		/* there is something in its wake list */
	bit reached;		/* its turn has come since it last asked */
	unsigned owed : 2;	/* ticks for which its give-back keeps the lock */
#ifdef SET_BACK
	bit fresh;		/* draws its ticket from a clock set back */
#endif
	/* under way */
	unsigned request : 2;
	unsigned sent : 3;	/* with this attempt */
	unsigned answer : 2;
	unsigned told : 3;	/* the fence in it */
	unsigned age : 2;	/* ticks since it was sent */
	unsigned behind : 2;	/* a release is queued behind it */
	bit orphan		/* on a connection that its client has closed */
};

Client client[3];
unsigned left : 2;		/* ticks until the lock expires */
unsigned idle : 4;		/* ticks of waiting while nobody holds */
byte delayed;
byte counter, last;		/* the fence; the last one that COMMAND got */
#ifdef SET_BACK
bit back;			/* the server's clock is behind all tickets */
#endif
#ifdef MIXED
bit old;			/* hand-overs are those of an older version */
#endif
bit yes, ours, over, handed, keeps; /* inside a step */
bit one_holder, in_turn, served, nothing_left, growing, recorded, kept;

#define C		client[c]

/*
 * After every step the clients are put in order, those without a ticket last,
 * and the attempts of which there is a trace are numbered anew.  name[] follows
 * the clients through a printed trace and is no part of a state.
 */
c_decl { static unsigned char name[3] = {0, 1, 2}; }
c_code {
	static int
	before(const struct Client *a, const struct Client *b)
	{
		if (a->ticket || b->ticket)
			return a->ticket && !b->ticket;
		return memcmp(a, b, sizeof(*a)) > 0;
	}

	static void
	number(struct Client *c)
	{
		int used[8] = {0}, to[8], n = 0, i;

		used[c->attempt] = 1;
		used[c->key > 0 ? c->key - 1 : c->attempt] = 1;
		used[c->beat > 0 ? c->next : c->attempt] = 1;
		used[c->request > 0 ? c->sent : c->attempt] = 1;
		for (i = 0; i < 8; i++) {
			to[i] = n;
			n += used[i];
		}
		c->attempt = to[c->attempt];
		c->key = c->key > 0 ? to[c->key - 1] + 1 : 0;
		c->next = c->beat > 0 ? to[c->next] : 0;
		c->sent = c->request > 0 ? to[c->sent] : 0;
	}

	/* Only the order of the fences is kept. */
	static void
	rank(void)
	{
		int used[16] = {0}, to[16], n = 1, i;

		used[now.counter] = used[now.last] = 1;
		for (i = 0; i < 3; i++)
			used[now.client[i].told] = 1;
		to[0] = 0;
		for (i = 1; i < 16; i++) {
			to[i] = n;
			n += used[i];
		}
		now.counter = to[now.counter];
		now.last = to[now.last];
		for (i = 0; i < 3; i++)
			now.client[i].told = to[now.client[i].told];
	}

	static void
	swap(int i, int j)
	{
		struct Client c = now.client[i];
		unsigned char m = name[i];

		now.client[i] = now.client[j];
		name[i] = name[j];
		now.client[j] = c;
		name[j] = m;
	}

#ifdef SET_BACK
	/*
	 * The clock gives a newcomer the smallest ticket of all.  The script
	 * makes it larger than those in the queue.
	 */
	static void
	place(int i)
	{
		int to = 0, n;

		now.client[i].fresh = 0;
#ifndef TICKET_FROM_CLOCK
		for (n = 0; n < i; n++)
			if (now.client[n].beat > 0)
				to = n + 1;
#endif
		for (; i > to; i--) {
			if (now.client[i - 1].beat > 0)
				now.in_turn = 0;
			swap(i - 1, i);
		}
	}
#endif

	static void
	sort(void)
	{
		int n, i;

		rank();
		for (i = 0; i < 3; i++)
			number(&now.client[i]);
		for (n = 0; n < 3; n++) {
			i = n % 2;
			if (before(&now.client[i + 1], &now.client[i]))
				swap(i, i + 1);
		}
#ifdef SET_BACK
		for (i = 0; i < 3; i++)
			if (now.client[i].fresh)
				place(i);
#endif
	}
}

#define NAME(c)		(c == 0 -> c_expr { name[0] } : \
			(c == 1 -> c_expr { name[1] } : c_expr { name[2] }))

/* ---- the server's scripts ---- */

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

/* ---- a client's steps ---- */

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

/* ---- time ---- */

#define DOWN(x)		x = (x > 0 -> x - 1 : 0)

#define IS_DUE(c)	(client[c].phase != IDLE && !client[c].asleep && ( \
			LAPSED(c) || client[c].phase == WAITING && ( \
			client[c].blocked && (client[c].timer == 0 || \
			client[c].wake) || !client[c].blocked && \
			(client[c].request == NONE || client[c].orphan || \
			client[c].age > 0))))
#define LAPSED(c)	(client[c].phase == HOLDING && client[c].vote == 0)
#define DUE		(IS_DUE(0) || IS_DUE(1) || IS_DUE(2))
#define HELD(c)		(client[c].phase == HOLDING && client[c].vote > 0)
#define SOMEBODY(c)	(client[c].phase == WAITING && !client[c].asleep)

/* Its refresh is not due, and no wake has come. */
#define WAITS_FOR_WAKE	(AWAKE && C.blocked && C.timer > 0 && !C.wake)

inline tick_client(c)
{
	DOWN(C.vote);
	kept = kept && !(C.beat == 1 && !C.reached && WAITS_FOR_WAKE);
#ifndef NO_REFRESH
	DOWN(C.timer);
#endif
#ifndef DEAD_KEPT
	DOWN(C.beat);
#endif
	DOWN(C.owed);
	C.key = (left > 0 -> C.key : 0);
	C.age = (!CONNECTED && C.age < TTL -> C.age + 1 : C.age)
}

inline tick()
{
	d_step {
		!DUE ->
		printf("tick\n");
		idle = (!(HELD(0) || HELD(1) || HELD(2)) && (SOMEBODY(0) ||
		    SOMEBODY(1) || SOMEBODY(2)) -> idle + 1 : 0);
		DOWN(left);
		tick_client(0); tick_client(1); tick_client(2);
		done()
	}
}

/* ---- after every step ---- */

inline tidy(c)
{
	C.dirty = C.dirty && TRACE;
	C.wake = C.wake && C.phase == WAITING;
	C.mark = C.mark && C.key > 0;
	C.logged = C.logged && C.key > 0;
	C.reached = C.reached && C.beat > 0;
	C.owed = (C.phase == WAITING -> C.owed : 0);
#ifdef COUNT_FROM_GRANT
	C.granted = C.granted && C.wake;
#endif
	C.ticket = C.ticket && (C.phase == WAITING || C.beat > 0 ||
	    C.request != NONE);
	C.attempt = (C.phase == IDLE && !TRACE -> 0 : C.attempt)
}

/* Who has gone has left nothing, once nothing is under way. */
#define CLEAN(c)	(client[c].phase != IDLE || client[c].dirty || \
			client[c].request != NONE || \
			client[c].key == 0 && client[c].beat == 0)

/* A grant ends no later than its client's place. */
#define PLACED(c)	(!client[c].mark || client[c].beat >= left)

inline done()
{
	tidy(0); tidy(1); tidy(2);
	idle = (HELD(0) || HELD(1) || HELD(2) -> 0 : idle);
	yes = 0; ours = 0; over = 0; handed = 0; keeps = 0;
	c_code { sort(); };
	one_holder = HELD(0) + HELD(1) + HELD(2) <= 1;
	served = (idle <= BOUND);
	nothing_left = CLEAN(0) && CLEAN(1) && CLEAN(2);
	kept = kept && PLACED(0) && PLACED(1) && PLACED(2);
	assert(one_holder);
	assert(growing);
#ifndef LAX
	assert(recorded);
	assert(in_turn);
	assert(kept);
#endif
	assert(served);
	assert(nothing_left)
	FINISHES
}

init {
	d_step {
		in_turn = 1; growing = 1; recorded = 1; kept = 1;
		counter = 1; last = 1;
		done()
	};
	do
	EACH(begin)
	EACH(ask)
	EACH(unblock)
	EACH(renew)
	:: end(0, true) :: end(1, true) :: end(2, true)
#if !defined(NO_FAULTS)
	EACH(crash)
#endif
#if !defined(NO_FAULTS) && !defined(GRANTEES_CRASH)
	EACH(ask_unheard)
	EACH(send)
	EACH(execute)
	EACH(receive)
	EACH(reconnect)
	EACH(end_late)
	EACH(cut)
	EACH(lose)
	EACH(lose_wake)
#ifndef NEVER_ASLEEP
	EACH(doze)
	EACH(awaken)
#endif
#endif
#ifdef SET_BACK
	:: d_step { back = !back; printf("server 0: sets its clock\n") }
#endif
#ifdef MIXED
	:: d_step { old = !old; printf("server 0: runs another version\n") }
#endif
	:: tick()
#ifdef TICKING
	:: d_step { true -> work = 1 } -> break
#endif
	od;
#ifdef TICKING
	do
	EACH(ask)
	EACH(unblock)
	EACH(reconnect)
	:: end(0, LAPSED(0)) :: end(1, LAPSED(1)) :: end(2, LAPSED(2))
	:: tick() -> break
	od
#endif
}

#else	/* SEVERAL */
/*
 * Several servers: no hand-over; a vote that is split is settled by tickets.
 * The keys and places of a client that has crashed end at any time, each on its
 * own, and until then the ticks are not counted.
 *
 * The tickets are given beforehand: client 0's is always the earliest.
 */

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

/* What was said before our last vote may be over by now. */
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

#endif
