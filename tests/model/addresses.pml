/*
 * Three addresses of three servers, which hold our lock.  An address may begin to
 * lead to another server, so that two of them lead to one; a connection stays
 * where it is until it breaks.  A server has at most one vote all the same.
 *
 * With -DKEPT only the last address moves, and connections are back before the
 * clock ticks: a majority has the lock and is reached all the time.
 */

#ifndef TTL
#define TTL		3
#endif
#define NONE		3	/* no server */

typedef Address {
	unsigned leads : 2;	/* where a new connection leads to */
	unsigned conn : 2;	/* where the present one does */
	unsigned known : 2;	/* the server that was found there last */
	unsigned rank : 2;	/* 0: has led to its server for longest */
	unsigned age : 2;	/* 0: has the oldest connection */
	unsigned vote : 2;	/* v: ticks until it ends */
	unsigned by : 2;	/* the server that granted it */
	unsigned barred : 2;	/* ticks until it may count */
	bit trusted;
	bit due			/* to be renewed before the next tick */
};

Address address[3];
byte left[3];			/* of the key on each server */
bit lost;			/* D has passed */
bit backed, kept;

#define A		address[a]
#define MAX(x, y)	(x > y -> x : y)
#define MIN(x, y)	(x < y -> x : y)
#define SECOND(x, y, z)	MAX(MIN(x, y), MIN(MAX(x, y), z))

#define TRUE_D		SECOND(left[0], left[1], left[2])

/* Of the grants of one server only the latest counts. */
#define LATER(a, b)	(a != b && address[b].by == address[a].by && \
			(address[b].vote > address[a].vote || \
			address[b].vote == address[a].vote && b < a))
#ifdef ALL_COUNT
#define COUNTED(a)	address[a].vote
#else
#define COUNTED(a)	(LATER(a, 0) || LATER(a, 1) || LATER(a, 2) -> 0 : \
			address[a].vote)
#endif
#define D		SECOND(COUNTED(0), COUNTED(1), COUNTED(2))

/* ---- which address has the vote of a server ---- */

#define HAS(a)		(address[a].trusted && address[a].vote > 0)
#define READY(a)	(address[a].conn != NONE)
#ifdef BY_CONNECTION
#define PRECEDES(b, a)	(address[b].age < address[a].age)
#else
#define PRECEDES(b, a)	(HAS(b) != HAS(a) -> HAS(b) : \
			(!HAS(a) && READY(b) != READY(a) -> READY(b) : \
			address[b].rank < address[a].rank))
#endif
#define SAME(a, b)	(a != b && address[a].known == address[b].known)
#define BEHIND(a, b)	(SAME(a, b) && PRECEDES(b, a))
#define IS_SECOND(a)	(BEHIND(a, 0) || BEHIND(a, 1) || BEHIND(a, 2))

inline bar(a, b)
{
	A.barred = (BEHIND(a, b) && address[b].vote > A.barred ->
	    address[b].vote : A.barred)
}

inline find(a)
{
	bar(a, 0); bar(a, 1); bar(a, 2);
	A.trusted = A.trusted && !IS_SECOND(a)
}

/* ---- the steps ---- */

inline younger(a, b)
{
	address[b].age = (address[b].age > A.age -> address[b].age - 1 :
	    address[b].age)
}

inline later(a, b)
{
	address[b].rank = (address[b].rank > A.rank -> address[b].rank - 1 :
	    address[b].rank)
}

#ifdef KEPT
#define MAY_MOVE(a)	(a == 2)
#else
#define MAY_MOVE(a)	true
#endif

inline move(a, to)
{
	d_step {
		!lost && MAY_MOVE(a) && A.leads != to ->
		printf("client 0: address %d begins to lead to %d\n", a, to);
		A.leads = to;
		done()
	}
}

inline cut(a)
{
	d_step {
		!lost && READY(a) ->
		printf("client 0: the connection of address %d breaks\n", a);
		A.conn = NONE;
		A.due = 1;
		done()
	}
}

inline connect(a)
{
	d_step {
		!lost && !READY(a) ->
		printf("client 0: address %d is connected to %d\n", a, A.leads);
		A.conn = A.leads;
		younger(a, 0); younger(a, 1); younger(a, 2);
		A.age = 2;
		if
		:: A.known != A.conn ->
			A.known = A.conn;
			later(a, 0); later(a, 1); later(a, 2);
			A.rank = 2
		:: else
		fi;
		done()
	}
}

/* A key that is not there is not put back. */
inline renew(a)
{
	d_step {
		!lost && READY(a) ->
		printf("client 0: renews by address %d\n", a);
		A.due = 0;
		if
		:: left[A.conn] > 0 ->
			left[A.conn] = TTL;
			if
			:: !IS_SECOND(a) && (A.barred == 0 || A.trusted) ->
				A.vote = TTL; A.by = A.conn; A.trusted = 1
			:: else
			fi
		:: else ->
			A.vote = 0
		fi;
		done()
	}
}

#define DOWN(x)		x = (x > 0 -> x - 1 : 0)
#ifdef KEPT
#define DUE(a)		(address[a].due || !READY(a))
#else
#define DUE(a)		false
#endif

inline tick_address(a)
{
	DOWN(A.vote); DOWN(A.barred);
	A.due = 1
}

inline tick()
{
	d_step {
		!lost && !DUE(0) && !DUE(1) && !DUE(2) ->
		printf("tick\n");
		DOWN(left[0]); DOWN(left[1]); DOWN(left[2]);
		tick_address(0); tick_address(1); tick_address(2);
		done()
	}
}

/* ---- after every step ---- */

inline done()
{
	find(0); find(1); find(2);
	lost = lost || D == 0;
	backed = lost || D <= TRUE_D;
	kept = !lost;
	assert(backed)
#ifdef KEPT
	; assert(kept)
#endif
}

#define EACH_ADDRESS(step) :: step(0) :: step(1) :: step(2)
#define EACH_MOVE(to) :: move(0, to) :: move(1, to) :: move(2, to)

inline lead(a)
{
	A.leads = a; A.conn = a; A.known = a; A.rank = a; A.age = a;
	A.vote = TTL; A.by = a; A.trusted = 1;
	left[a] = TTL
}

init {
	d_step {
		lead(0); lead(1); lead(2)
	};
	do
	EACH_MOVE(0)
	EACH_MOVE(1)
	EACH_MOVE(2)
	EACH_ADDRESS(cut)
	EACH_ADDRESS(connect)
	EACH_ADDRESS(renew)
	:: tick()
	:: lost -> break
	od
}
