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

#include "queue_server.pml"
#include "queue_client.pml"

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
