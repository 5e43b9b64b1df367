/*
 * The decision for each tally of three servers, and the slot that refusals name.
 * Each row of a tally differs in one thing from the one before or from a group's
 * first.
 */
#include "../../src/lock/votes.c"
#include "tap.h"

#define THREE .quorum = 2, .minority = 1

struct row {
	const char *what;
	struct tally tally;
	enum action action;
};

static void
check(const struct row rows[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		enum action action = votes_decide(&rows[i].tally);

		if (action != rows[i].action)
			tap_fail("%s: action %d, not %d", rows[i].what, action,
			    rows[i].action);
	}
}

#define CHECK_ROWS(rows) check(rows, sizeof(rows) / sizeof((rows)[0]))

#define MAJORITY THREE, .granted = 2, .pending = 1

static void
majority(void)
{
	static const struct row rows[] = {
		{ "nothing is missing",
		    { MAJORITY, .fenced = 2, .replicated = 2,
			.half_left = true },
		    HOLD_LOCK },
		{ "a minority refuses or forbids, too late, waiting or not",
		    { THREE, .granted = 2, .forbidden = 1, .firm = 1,
			.fenced = 2, .replicated = 2, .half_left = true,
			.over = true, .waits = true },
		    HOLD_LOCK },
		{ "one grant has a smaller fence",
		    { MAJORITY, .fenced = 1, .replicated = 1,
			.half_left = true },
		    WRITE_FENCE },
		{ "nor does it get the fence in time",
		    { MAJORITY, .fenced = 1, .replicated = 1, .half_left = true,
			.over = true },
		    END_UNREACHABLE },
		{ "replicas are missing",
		    { MAJORITY, .fenced = 2, .replicated = 1,
			.half_left = true },
		    ASK_REPLICAS },
		{ "they get time of their own",
		    { MAJORITY, .fenced = 2, .replicated = 1, .half_left = true,
			.over = true },
		    ASK_REPLICAS },
		{ "but only once",
		    { MAJORITY, .fenced = 2, .replicated = 1, .half_left = true,
			.over = true, .extended = true },
		    END_UNREACHABLE },
		{ "the replies were slow",
		    { MAJORITY, .fenced = 2, .replicated = 2 }, END_SLOW },
		{ "a waiter has time for fresh grants",
		    { MAJORITY, .fenced = 2, .replicated = 2, .waits = true },
		    ASK_AGAIN },
		{ "we stood still, not the servers",
		    { MAJORITY, .fenced = 2, .replicated = 2, .stale = true },
		    ASK_AGAIN },
		{ "for the second time",
		    { MAJORITY, .fenced = 2, .replicated = 2, .stale = true,
			.extended = true },
		    END_SLOW },
	};

	CHECK_ROWS(rows);
}

static void
refusals(void)
{
	static const struct row rows[] = {
		{ "one owner has a majority",
		    { THREE, .refused = 2, .pending = 1, .firm = 2 },
		    END_BUSY },
		{ "a waiter takes a ticket",
		    { THREE, .refused = 2, .pending = 1, .firm = 2,
			.waits = true },
		    TAKE_TICKET },
		{ "and then waits",
		    { THREE, .refused = 2, .pending = 1, .firm = 2,
			.waits = true, .has_ticket = true },
		    AWAIT_REPLIES },
		{ "another slot is free",
		    { THREE, .refused = 2, .pending = 1, .firm = 2,
			.free_slot = 3 },
		    CHANGE_SLOT },
		{ "a candidate may give this one back",
		    { THREE, .refused = 2, .pending = 1, .firm = 1,
			.free_slot = 3 },
		    END_BUSY },
		{ "a majority uses it in another mode",
		    { THREE, .refused = 2, .pending = 1, .firm = 2,
			.otherwise = 2 },
		    END_OTHERWISE },
		{ "which no wait changes",
		    { THREE, .refused = 2, .granted = 1, .firm = 2,
			.otherwise = 2, .waits = true, .contested = true },
		    END_OTHERWISE },
		{ "one server of another mode is a refusal",
		    { THREE, .refused = 2, .pending = 1, .firm = 2,
			.otherwise = 1 },
		    END_BUSY },
		{ "a majority may be held beyond our grace, which no wait changes",
		    { THREE, .refused = 2, .granted = 1, .firm = 2,
			.outlasting = 2, .waits = true },
		    END_OUTLASTED },
		{ "one holder beyond our grace is a refusal",
		    { THREE, .refused = 2, .pending = 1, .firm = 2,
			.outlasting = 1 },
		    END_BUSY },
		{ "a majority knows of a success, which no wait changes",
		    { THREE, .refused = 2, .granted = 1, .ran = 2,
			.waits = true, .contested = true },
		    END_BUSY },
		{ "one server that knows of a success is a refusal",
		    { THREE, .refused = 2, .pending = 1, .firm = 2, .ran = 1 },
		    END_BUSY },
		{ "which a waiter outlasts",
		    { THREE, .refused = 2, .pending = 1, .firm = 2, .ran = 1,
			.waits = true, .has_ticket = true },
		    AWAIT_REPLIES },
		{ "a majority knows of a later run that supersedes us",
		    { THREE, .refused = 2, .granted = 1, .superseded = 2,
			.waits = true, .has_ticket = true },
		    END_SUPERSEDED },
		{ "also when the wait is over",
		    { THREE, .refused = 2, .granted = 1, .superseded = 2,
			.has_ticket = true, .over = true },
		    END_SUPERSEDED },
		{ "one server that knows of it decides nothing",
		    { THREE, .refused = 2, .granted = 1, .superseded = 1,
			.firm = 1, .waits = true, .has_ticket = true },
		    AWAIT_REPLIES },
		{ "unless another one cannot be reached",
		    { THREE, .refused = 1, .granted = 1, .superseded = 1,
			.unusable = 1, .waits = true, .has_ticket = true },
		    END_SUPERSEDED },
		{ "of servers without a majority it is no report",
		    { THREE, .refused = 1, .superseded = 1, .unusable = 2,
			.waits = true, .has_ticket = true },
		    AWAIT_REPLIES },
		{ "and a run with a majority runs",
		    { THREE, .granted = 2, .refused = 1, .superseded = 1,
			.fenced = 2, .replicated = 2, .half_left = true,
			.waits = true },
		    HOLD_LOCK },
		{ "a majority counts as many waiters as --max-waiting allows",
		    { THREE, .refused = 2, .pending = 1, .firm = 2, .full = 2,
			.waits = true },
		    END_FULL },
		{ "even if the lock is free there",
		    { THREE, .refused = 2, .granted = 1, .full = 2,
			.contested = true, .waits = true },
		    END_FULL },
		{ "a run that has joined the queue stays",
		    { THREE, .refused = 2, .pending = 1, .firm = 2, .full = 2,
			.waits = true, .has_ticket = true },
		    AWAIT_REPLIES },
		{ "one server that counts so many is a refusal",
		    { THREE, .refused = 3, .firm = 3, .full = 1,
			.waits = true },
		    TAKE_TICKET },
		{ "but another reply may come",
		    { THREE, .refused = 2, .pending = 1, .firm = 2, .full = 1,
			.waits = true },
		    AWAIT_REPLIES },
		{ "also if the votes are split",
		    { THREE, .granted = 1, .refused = 1, .pending = 1,
			.full = 1, .contested = true, .waits = true },
		    AWAIT_REPLIES },
		{ "until time is up",
		    { THREE, .refused = 2, .pending = 1, .firm = 1, .full = 1,
			.contested = true, .over = true },
		    TAKE_TICKET },
		{ "one refusal decides nothing",
		    { THREE, .refused = 1, .pending = 2, .firm = 1 },
		    AWAIT_REPLIES },
	};

	CHECK_ROWS(rows);
}

#define SPLIT THREE, .granted = 1, .refused = 1, .pending = 1, .contested = true

static void
split_votes(void)
{
	static const struct row rows[] = {
		{ "candidates agree on an order", { SPLIT }, TAKE_TICKET },
		{ "and give way to earlier ones", { SPLIT, .has_ticket = true },
		    YIELD_VOTES },
		{ "while there is time",
		    { SPLIT, .has_ticket = true, .over = true }, END_BUSY },
		{ "two servers are too few to call it a split vote",
		    { THREE, .refused = 1, .unusable = 2, .contested = true },
		    END_UNREACHABLE },
		{ "refusals for different owners are no majority",
		    { THREE, .refused = 2, .pending = 1, .contested = true,
			.has_ticket = true },
		    YIELD_VOTES },
	};

	CHECK_ROWS(rows);
}

static void
failures(void)
{
	static const struct row rows[] = {
		{ "replies may come", { THREE, .pending = 2, .unusable = 1 },
		    AWAIT_REPLIES },
		{ "in time",
		    { THREE, .pending = 2, .unusable = 1, .over = true },
		    END_UNREACHABLE },
		{ "none is to come", { THREE, .granted = 1, .unusable = 2 },
		    END_UNREACHABLE },
		{ "a waiter outlasts that",
		    { THREE, .granted = 1, .unusable = 2, .over = true,
			.waits = true },
		    AWAIT_REPLIES },
		{ "one server forbids it and one fails",
		    { THREE, .granted = 1, .forbidden = 1, .unusable = 2 },
		    END_DENIED },
		{ "a majority forbids it, also to a waiter",
		    { THREE, .granted = 1, .forbidden = 2, .unusable = 2,
			.waits = true },
		    END_DENIED },
		{ "two addresses are one server",
		    { MAJORITY, .fenced = 2, .replicated = 2, .half_left = true,
			.same_server = true },
		    END_SAME_SERVER },
		{ "a signal came first",
		    { MAJORITY, .fenced = 2, .replicated = 2, .half_left = true,
			.same_server = true, .cancelled = true },
		    END_CANCELLED },
	};

	CHECK_ROWS(rows);
}

static void
owners(void)
{
	static const struct {
		struct lock_state a, b;
		bool same;
	} rows[] = {
		{ { .readers = 1, .owner.token = "x" },
		    { .readers = 1, .owner.token = "y" }, true },
		{ { .readers = 2, .owner.token = "x" }, { .owner.token = "y" },
		    false },
		{ { .owner.token = "x", .value = "1", .len = 1 },
		    { .owner.token = "x", .value = "2", .len = 1 }, true },
		{ { .owner.token = "x", .value = "1", .len = 1 },
		    { .owner.token = "y", .value = "1", .len = 1 }, false },
		{ { .owner.token = "x", .value = "1", .len = 1 },
		    { .value = "2", .len = 1 }, false },
		{ { .value = "1", .len = 1 }, { .value = "1", .len = 1 },
		    true },
		{ { .value = "1", .len = 1 }, { .value = "2", .len = 1 },
		    false },
		{ { .value = "1", .len = 1 }, { .value = "12", .len = 2 },
		    false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		SAME_INT(same_owner(&rows[i].a, &rows[i].b), rows[i].same);
		SAME_INT(same_owner(&rows[i].b, &rows[i].a), rows[i].same);
	}
}

/*
 * Our slot is 1.  What the first server alone names is ignored after 100 ms, the
 * node timeout, and what another one does is not.
 */
static void
free_slots(void)
{
	static const struct {
		int nservers;
		int named
		    [5]; /* the slot in each server's refusal; 0: granted */
		int64_t now_ms;
		int slot;
		int lone; /* the server that names it alone, from 1; 0: none */
	} rows[] = {
		{ 1, { 3 }, 100, 0, 0 },
		{ 2, { 3 }, 100, 3, 0 },
		{ 3, { 3, 3, 0 }, 100, 3, 0 },
		{ 3, { 3, 0, 0 }, 99, 3, 1 },
		{ 3, { 3, 0, 0 }, 100, 0, 0 },
		{ 3, { 0, 3, 0 }, 100, 3, 2 },
		{ 3, { 3, 2, 0 }, 99, 3, 1 },
		{ 3, { 3, 2, 0 }, 100, 2, 2 },
		{ 3, { 1, 1, 2 }, 100, 2, 3 },
		{ 3, { 1, 1, 0 }, 99, 0, 0 },
		{ 5, { 2, 3, 3, 4, 0 }, 100, 3, 0 },
		{ 5, { 2, 2, 3, 3, 0 }, 100, 2, 0 },
	};
	struct server servers[5];
	struct lock l = { .intent = { .mode = LOCK_SLOTTED,
			      .slot = 1,
			      .node_timeout_ms = 100 },
		.servers = servers,
		.contest.alone = servers };
	const struct server *lone;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(servers, 0, sizeof(servers));
		for (int n = 0; n < rows[i].nservers; n++) {
			bool refuses = rows[i].named[n] != 0;

			servers[n].vote = refuses ? VOTE_REFUSED : VOTE_GRANTED;
			servers[n].view.best = rows[i].named[n];
			servers[n].view.best_ms = PTTL_FREE;
		}
		l.intent.nservers = rows[i].nservers;
		l.end = servers + rows[i].nservers;
		SAME_INT(free_slot(&l, rows[i].now_ms, &lone), rows[i].slot);
		SAME_INT(lone == NULL ? 0 : lone - servers + 1, rows[i].lone);
		for (int n = 0; n < rows[i].nservers; n++)
			servers[n].view.best_ms = 1;
		SAME_INT(free_slot(&l, 100, &lone), 0);
	}
	l.intent.mode = LOCK_EXCLUSIVE;
	for (int n = 0; n < 5; n++)
		servers[n].view.best_ms = PTTL_FREE;
	SAME_INT(free_slot(&l, 100, &lone), 0);
}

static const struct tap_test tests[] = {
	{ "a majority holds once fence, replicas and time suffice", majority },
	{ "a majority of refusals is busy, or a reason to wait", refusals },
	{ "a split vote is settled in the order of tickets", split_votes },
	{ "too few usable servers end it, unless we wait", failures },
	{ "readers are one owner, and so are equal tokens or foreign values",
	    owners },
	{ "the slot that most servers name is tried, a lone one for a while",
	    free_slots },
};

int
main(void)
{
	return TAP_MAIN(tests);
}
