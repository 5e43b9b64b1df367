/*
 * The queue of one server: tickets, wake lists and the hand-over.
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

#include "waiting.pml"

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
#ifndef PERIOD			/* of --once-per */
#define PERIOD		2
#endif
#ifndef BOUND			/* how long nobody may have it */
#define BOUND		(BEAT + REFRESH - 1)
#endif

/* requests and answers */
#define NONE		0
#define ACQUIRE		1
#define GIVE_BACK	2	/* release of one attempt; the place is kept */
#define RELEASE		3	/* of all there is, and out of the queue */
#define RENEW		4	/* confirms what was handed over */
#define YES		1
#define NO		2
#define BARRED		3	/* another mode, or not again so soon */

/*
 * A nonce is kept as what it is to its client: that of the last acquire that
 * was answered (ANSWERED, while a grant that it proves would not be over), that
 * of the acquire under way (SENT), or one that is of no use any more (SPENT).
 */
#define ANSWERED	1
#define SENT		2
#define SPENT		3

/* What a grant is good for, counted from the sending of that acquire. */
#define MOST		(GRANT < TTL -> GRANT : TTL)
#ifdef WHOLE_LEASE
#define LEASE		GRANT
#else
#define LEASE		MOST
#endif
#define LONGEST		(GRANT > TTL -> GRANT : TTL)

typedef Client {
	unsigned phase : 2;
	bit ticket;		/* has one */
	bit asleep;
	bit blocked;		/* in BLPOP */
	bit dirty;		/* died, or left a request behind */
	bit popped;		/* took a grant, but COMMAND has not begun */
	bit unconfirmed;	/* COMMAND runs on a grant not confirmed yet */
	unsigned credit : 2;	/* ticks of LEASE since the last acquire */
	unsigned timer : 2;	/* blocked: ticks until it asks by itself */
	unsigned vote : 2;	/* ticks until D */
	unsigned attempt : 3;
	/* on the server */
	unsigned key : 3;	/* the attempt that has the lock, plus 1 */
	unsigned beat : 3;	/* ticks for which it stays in the queue */
	unsigned next : 3;	/* the attempt that the lock is handed to */
	unsigned nonce : 2;	/* in its beat */
	bit mark;		/* its value: granted, not yet confirmed */
	bit logged;		/* the history has the start of this value */
	bit wake;		/* there is something in its wake list: */
	unsigned with : 2;	/* a grant with this nonce (NONE: no grant) */
	unsigned fence : 4;	/* and this fence, its own until COMMAND begins */
	bit reached;		/* its turn has come since it last asked */
	unsigned owed : 2;	/* ticks for which its give-back keeps the lock */
#ifdef ONCE_PER
	bit once;		/* runs only if nobody has succeeded lately */
#endif
#ifdef MODES
	bit mode;		/* uses the lock in this way */
#endif
#ifdef STRANGER
	bit stranger;		/* of a kind that only another version knows */
#endif
#ifdef LATEST
	bit latest;		/* gives up when a later one with this waits */
	bit quits;		/* and has heard of such a one */
#endif
#ifdef SET_BACK
	bit fresh;		/* draws its ticket from a clock set back */
#endif
	/* under way */
	unsigned request : 3;
	unsigned sent : 3;	/* with this attempt */
	bit ran;		/* a release: COMMAND ran, not confirmed */
	unsigned answer : 2;
	unsigned told : 4;	/* the fence in it */
	unsigned age : 2;	/* ticks since it was sent */
	unsigned behind : 2;	/* a release is queued behind it */
	bit orphan;		/* on a connection that its client has closed */
#ifdef TWICE
	bit twice;		/* its release is executed again */
	bit closed;		/* the history has the end of its run */
	bit begun;		/* and a start, but COMMAND has not begun */
	bit robbed;		/* another one has had the lock since it began */
#endif
	bit before		/* said by the server before it restarted */
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
#ifdef ONCE_PER
unsigned success : 2;		/* ticks for which the last one counts */
#endif
#ifdef PUSHED_FIRST
bit fails;			/* there is no memory for a value */
#endif
#ifdef RESTARTS
unsigned restarts : 2;		/* may restart empty as often */
unsigned young : 2;		/* ticks for which it has no vote */
#endif
unsigned first : 2, second : 2; /* in line, inside a step */
bit yes, ours, held, over, handed, keeps, takes, barred; /* inside a step */
bit one_holder, in_turn, served, nothing_left, growing, recorded, kept;
bit rare, agreed, newest, told;

#define C		client[c]

/* --once-per: not while the last success counts. */
#ifdef ONCE_PER
#define ONCE(c)		client[c].once
#define TOO_SOON(c)	(client[c].once && success > 0)
#else
#define ONCE(c)		false
#define TOO_SOON(c)	false
#endif

/* A waiter of a kind that only another version knows: nobody grants to it. */
#ifdef STRANGER
#define UNKNOWN(c)	client[c].stranger
#else
#define UNKNOWN(c)	false
#endif

/* --latest: a later one with it has a place.  The order is that of tickets. */
#ifdef LATEST
#define LATER(c, j)	(j > c && client[j].beat > 0 && client[j].latest)
#define SUPERSEDED(c)	(client[c].latest && (LATER(c, 1) || LATER(c, 2)))
#define QUITS(c)	client[c].quits
#else
#define SUPERSEDED(c)	false
#define QUITS(c)	false
#endif

/* Clients that have a key or a place, and whether one uses another mode than c. */
#define HERE(c)		(client[c].key > 0 || client[c].beat > 0)
#ifdef MODES
#define DIFFERS(c, j)	(HERE(j) && client[j].mode != client[c].mode)
#define MISMATCH(c)	(DIFFERS(c, 0) || DIFFERS(c, 1) || DIFFERS(c, 2))
#else
#define MISMATCH(c)	false
#endif

#ifndef RESTARTS
#define YOUNG		false
#define TRUSTED(c)	true
#define TRUSTED_GRANT(c) true
#else
#ifndef GRACE
#define GRACE		TTL
#endif
#define YOUNG		(young > 0)
#define TRUSTED(c)	(!YOUNG || client[c].before)
#ifdef YOUNG_GRANTS
#define TRUSTED_GRANT(c) true
#else
#define TRUSTED_GRANT(c) TRUSTED(c)
#endif
#endif

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
		for (i = 0; i < 3; i++) {
			used[now.client[i].told] = 1;
			used[now.client[i].fence] = 1;
		}
		to[0] = 0;
		for (i = 1; i < 16; i++) {
			to[i] = n;
			n += used[i];
		}
		now.counter = to[now.counter];
		now.last = to[now.last];
		for (i = 0; i < 3; i++) {
			now.client[i].told = to[now.client[i].told];
			now.client[i].fence = to[now.client[i].fence];
		}
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

#include "queue_server.pml"
#include "queue_client.pml"

/* ---- time ---- */

#define DOWN(x)		x = (x > 0 -> x - 1 : 0)

#define IS_DUE(c)	(client[c].phase != IDLE && !client[c].asleep && ( \
			LAPSED(c) || client[c].phase == WAITING && ( \
			client[c].popped || client[c].blocked && (client[c].timer == 0 || \
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
#ifdef START_UNCHECKED
	C.vote = (C.vote > 0 && !C.popped -> C.vote - 1 : C.vote);
#else
	DOWN(C.vote);
#endif
	DOWN(C.credit);
	kept = kept && !(C.beat == 1 && !C.reached && WAITS_FOR_WAKE);
#ifdef NO_FAULTS
	told = told && !(C.phase == WAITING && SUPERSEDED(c));
#endif
#ifndef NO_REFRESH
	DOWN(C.timer);
#endif
#ifndef DEAD_KEPT
	DOWN(C.beat);
#endif
	DOWN(C.owed);
	C.key = (left > 0 -> C.key : 0);
	C.age = (!CONNECTED && C.age < LONGEST -> C.age + 1 : C.age)
}

inline tick()
{
	d_step {
		!DUE ->
		printf("tick\n");
		idle = (!(HELD(0) || HELD(1) || HELD(2)) && (SOMEBODY(0) ||
		    SOMEBODY(1) || SOMEBODY(2)) -> idle + 1 : 0);
		DOWN(left);
#ifdef ONCE_PER
		DOWN(success);
#endif
#ifdef RESTARTS
		DOWN(young);
#endif
		tick_client(0); tick_client(1); tick_client(2);
		done()
	}
}

/* ---- after every step ---- */

/* What a client no longer looks at is not kept. */
#ifdef FROM_POP
#define TOO_LATE	false
#else
#define TOO_LATE	(C.credit == 0)
#endif
#ifdef NO_NONCE
#define USELESS		false
#else
#define USELESS		(C.with == SPENT)
#endif

inline tidy(c)
{
	C.dirty = C.dirty && TRACE;
	C.wake = C.wake && C.phase == WAITING;
	C.mark = C.mark && C.key > 0;
	C.logged = C.logged && C.key > 0;
	C.reached = C.reached && C.beat > 0;
	C.owed = (C.phase == WAITING -> C.owed : 0);
	C.credit = (C.phase == WAITING && !C.popped -> C.credit : 0);
	C.nonce = (C.beat == 0 -> NONE :
	    (C.nonce == ANSWERED && TOO_LATE -> SPENT : C.nonce));
	C.with = (!C.wake -> NONE :
	    (C.with == ANSWERED && TOO_LATE -> SPENT : C.with));
	C.fence = (C.popped || C.with != NONE && !USELESS -> C.fence : 0);
#ifdef TWICE
	C.twice = C.twice && C.request != NONE;
	C.closed = C.closed && C.twice;
	C.robbed = C.robbed && (C.phase == HOLDING || C.twice);
#endif
	C.before = C.before && (C.answer != NONE || C.blocked && C.wake);
	C.ticket = C.ticket && (C.phase == WAITING || C.beat > 0 ||
	    C.request != NONE);
#ifdef ONCE_PER
	C.once = C.once && (C.phase != IDLE || TRACE);
#endif
#ifdef MODES
	C.mode = C.mode && (C.phase != IDLE || TRACE);
#endif
#ifdef STRANGER
	C.stranger = C.stranger && (C.phase != IDLE || TRACE);
#endif
#ifdef LATEST
	C.latest = C.latest && (C.phase != IDLE || TRACE);
#endif
	C.attempt = (C.phase == IDLE && !TRACE -> 0 : C.attempt)
}

/* A client that has gone has left nothing, once no request is under way. */
#define CLEAN(c)	(client[c].phase != IDLE || client[c].dirty || \
			client[c].request != NONE || \
			client[c].key == 0 && client[c].beat == 0)

/* A client that gives up leaves no start in the history. */
#ifdef TWICE
#define UNBEGUN(c)	(client[c].phase != IDLE || client[c].request != NONE || \
			!client[c].begun)
#else
#define UNBEGUN(c)	true
#endif

/* A grant ends no later than its client's place. */
#define PLACED(c)	(!client[c].mark || client[c].beat >= left)

inline done()
{
	tidy(0); tidy(1); tidy(2);
	idle = (HELD(0) || HELD(1) || HELD(2) || YOUNG -> 0 : idle);
	yes = 0; ours = 0; held = 0; over = 0; handed = 0; keeps = 0; takes = 0;
	barred = 0; first = 0; second = 0;
	c_code { sort(); };
	one_holder = HELD(0) + HELD(1) + HELD(2) <= 1;
	served = (idle <= BOUND);
	nothing_left = CLEAN(0) && CLEAN(1) && CLEAN(2);
	agreed = !(HERE(0) && MISMATCH(0)) && !(HERE(1) && MISMATCH(1));
	kept = kept && PLACED(0) && PLACED(1) && PLACED(2);
	recorded = recorded && UNBEGUN(0) && UNBEGUN(1) && UNBEGUN(2);
	assert(one_holder);
	assert(growing);
	assert(rare);
	assert(agreed);
	assert(newest);
	assert(told);
#ifndef LAX
	assert(recorded);
	assert(in_turn);
	assert(kept);
#endif
	assert(served);
	assert(nothing_left)
	FINISHES
}

#if defined(ONCE_PER)
#define BEGINS(c)	begin(c, false, false) :: begin(c, true, false)
#define ENDS(c)		end(c, true, false) :: end(c, true, true)
#elif defined(MODES) || defined(STRANGER) || defined(LATEST)
#define BEGINS(c)	begin(c, false, false) :: begin(c, false, true)
#define ENDS(c)		end(c, true, false)
#else
#define BEGINS(c)	begin(c, false, false)
#define ENDS(c)		end(c, true, false)
#endif

init {
	d_step {
		in_turn = 1; growing = 1; recorded = 1; kept = 1;
		rare = 1; newest = 1; told = 1;
		counter = 1; last = 1;
#ifdef RESTARTS
		restarts = RESTARTS;
#endif
		done()
	};
	do
	EACH(BEGINS)
	EACH(ask)
	EACH(unblock)
	EACH(exec)
	EACH(renew)
	EACH(ENDS)
#if !defined(NO_FAULTS)
	EACH(crash)
#endif
#if !defined(NO_FAULTS) && !defined(GRANTEES_CRASH)
	EACH(ask_unheard)
	EACH(renew_unheard)
	EACH(send)
	EACH(send_renew)
	EACH(execute)
	EACH(receive)
	EACH(reconnect)
	:: reconnect_holder(0, true)
	:: reconnect_holder(1, true)
	:: reconnect_holder(2, true)
	EACH(end_late)
#ifdef TWICE
	EACH(end_twice)
#endif
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
#ifdef RESTARTS
	:: restart()
#endif
#ifdef PUSHED_FIRST
	:: d_step { fails = !fails; printf("server 0: has memory: %d\n", !fails) }
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
	EACH(exec)
	EACH(reconnect)
	:: end(0, LAPSED(0) || QUITS(0), false)
	:: end(1, LAPSED(1) || QUITS(1), false)
	:: end(2, LAPSED(2) || QUITS(2), false)
	:: reconnect_holder(0, LAPSED(0))
	:: reconnect_holder(1, LAPSED(1))
	:: reconnect_holder(2, LAPSED(2))
	:: tick() -> break
	od
#endif
}
