/*
 * Any replies, at any time, of up to five servers of any kind: a run takes its
 * locks, holds and releases them, and query options print their results.
 * Whatever the servers send, D is never later than a quorum of replies allows
 * and never comes back, a held lock has a slot and a fence in range, everything
 * ends, no connection is left, and the output is printable and shows no secret.
 */
#include "hostile.h"

#include "inspect/break.h"
#include "inspect/check.h"
#include "inspect/history.h"
#include "lock/locks.h"
#include "run/report.h"
#include "run/waiting.h"
#include "inspect/history_mode.h"
#include "inspect/status.h"
#include "inspect/metrics.h"
#include "inspect/status_mode.h"

#define KINDS 5

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct address addresses[KINDS][SERVERS];
static struct locks locks;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const urls[KINDS][2] = { { "unix:///", "" },
		{ "redis://user:" SECRET "@10.0.0.", "/2" },
		{ "redis+sentinel://:" SECRET "@10.0.0.",
		    ",10.0.0.9/mymaster" },
		{ "redis+cluster://10.0.0.", ":7000,10.0.0.8" },
		{ "redis://name", ".example" } };
	char url[128];

	(void)argc, (void)argv;
	for (int k = 0; k < KINDS; k++)
		for (int i = 0; i < SERVERS; i++) {
			snprintf(url, sizeof(url), "%s%d%s", urls[k][0], i,
			    urls[k][1]);
			if (address_parse(&addresses[k][i], url) != NULL)
				abort();
		}
	return 0;
}

/* The largest D that the answered requests of this lock's servers allow. */
static int64_t
latest_deadline_ms(const struct lock *l)
{
	int64_t valid_ms[SERVERS] = { 0 };

	for (int i = 0; i < l->intent.nservers; i++) {
		const struct conn *n = &l->servers[i].conn;
		int64_t latest_ms = 0;

		/* One behind another name may be any of them. */
		for (int j = 0; j < SERVERS; j++)
			if (world.servers[j].answered_ms > latest_ms &&
			    (j == i || n->address.path[0] == '\0'))
				latest_ms = world.servers[j].answered_ms;
		if (latest_ms > 0)
			valid_ms[i] = latest_ms + l->intent.ttl_ms -
			    (l->intent.ttl_ms / 100 + 2);
	}
	return quorum_largest(valid_ms, l->intent.nservers, l->intent.quorum);
}

static void
judge_locks(void)
{
	for (int i = 0; i < locks.n; i++) {
		const struct lock *l = &locks.lock[i];

		if (lock_deadline_ms(l) > latest_deadline_ms(l))
			abort();
		if (l->intent.held &&
		    (l->intent.fence < 1 || l->intent.fence >= FENCE_END ||
			l->intent.slot < 1 ||
			l->intent.slot > l->intent.capacity))
			abort();
	}
}

static void
cancel_locks(void)
{
	locks_cancel(&locks);
}

/*
 * As run_to_end() in run.c, without COMMAND, which ends a little after the
 * input.
 */
static void
hold_locks(int64_t until_ms)
{
	int64_t wake_ms, deadline_ms;
	bool lost = false, over = false;

	while (world.now_ms < until_ms) {
		if (!over && input.left == 0 && world.now_ms + 2000 < until_ms)
			until_ms = world.now_ms + 2000;
		over = input.left == 0;
		wake_ms = locks_step(&locks);
		deadline_ms = locks_deadline_ms(&locks);
		if (lost && deadline_ms > world.now_ms)
			abort();
		lost = lost || deadline_ms <= world.now_ms;
		if (wake_ms > until_ms)
			wake_ms = until_ms;
		loop_turn(locks.loop, wake_ms);
	}
}

static void
run_locked(const struct options *opt, const struct owner *owner)
{
	char text[OWNER_WHO + LOCK_WHY];
	struct waiting waiting;
	int64_t wait_end_ms =
	    opt->wait_ms == 0 ? 0 : world.now_ms + opt->wait_ms;

	locks_connect(&locks);
	world.turn_cb = judge_locks;
	world.cancel_cb = cancel_locks;
	waiting_begin(&waiting, world.now_ms, wait_end_ms);
	switch (locks_acquire(&locks, owner, wait_end_ms, waiting_cb,
	    &waiting)) {
	case LOCK_HELD:
		report_acquired(locks.about, 1);
		hold_locks(world.now_ms + 2 * opt->settings.ttl_ms);
		world.cancel_cb = NULL;
		locks_failing(&locks);
		report_loss(locks.about, 2100, text, sizeof(text));
		warn("%s", text);
		locks_release(&locks, opt->min_hold_ms,
		    &(struct record){
			.ran_ms = 1, .ending = ENDED_EXITED, .signal = -1 });
		report_released(locks.about, 1);
		break;
	case LOCK_BUSY:
		report_busy(locks.about, waiting_end(&waiting));
		break;
	case LOCK_SUPERSEDED:
		if (!opt->latest)
			abort();
		report_superseded(locks.about);
		break;
	case LOCK_QUEUE_FULL:
		if (opt->settings.max_waiting == 0)
			abort();
		report_queue_full(locks.about, waiting_end(&waiting));
		break;
	case LOCK_OTHER_MODE:
		report_other_mode(locks.about);
		break;
	case LOCK_OUTLASTS:
		report_outlasting(locks.about);
		break;
	case LOCK_UNDECIDED:
		abort();
	case LOCK_UNREACHABLE:
	case LOCK_DENIED:
	case LOCK_SAME_SERVER:
	case LOCK_CANCELLED:
		report_failed(opt, locks.about);
	}
}

static void
run(const struct options *opt)
{
	const struct owner owner = { .token =
					 "31234567-89ab-4cde-8f01-23456789abcd",
		.host = "host",
		.user = "user",
		.command = "command",
		.pid = 4242,
		.slots = opt->capacity };
	struct lock_config config = { .prefix = opt->settings.prefix,
		.mode = opt->lock_mode,
		.capacity = opt->capacity,
		.replicas = opt->replicas,
		.max_waiting = opt->settings.max_waiting,
		.addresses = opt->servers.address,
		.naddresses = opt->servers.n,
		.ttl_ms = opt->settings.ttl_ms,
		.node_timeout_ms = opt->settings.node_timeout_ms,
		.grace_ms = opt->settings.grace_ms,
		.latest = opt->latest };
	struct loop loop = { 0 };
	struct resolver resolver;

	if (loop_init(&loop) == -1 ||
	    locks_init(&locks, &loop, opt->names.n) == -1)
		abort();
	resolver_init(&resolver, &loop, 1000);
	for (int i = 0; i < opt->names.n; i++) {
		struct lock *l = &locks.lock[i];

		config.name = opt->names.name[i];
		if (lock_init(l, &resolver, &config) == -1)
			abort();
	}
	run_locked(opt, &owner);
	world.turn_cb = NULL;
	locks_close(&locks);
	resolver_release(&resolver);
	loop_release(&loop);
}

/* The output of a query option. */
static void
ask(const struct options *opt, int (*mode_run)(const struct options *))
{
	FILE *standard_output = stdout;
	char *text = NULL;
	size_t len = 0;

	stdout = open_memstream(&text, &len);
	if (stdout == NULL)
		abort();
	mode_run(opt);
	fclose(stdout);
	stdout = standard_output;
	judge_text(text, len);
	free(text);
}

static void
choose_options(struct options *opt)
{
	static const char *names[] = { "a", "b" };
	static const int64_t ttls_ms[] = { 1000, 60000, 500, 3600000 };
	static const int counts[] = { 1, 3, 1, 3, 5, 2, 3, 4 };
	static const int capacities[] = { 1, 1, 1, 1, 3, 64, 1, 2 };
	static char words[] = "redlock-run\0-k\0a";
	static char *argv[] = { words, words + 12, words + 15, NULL };
	uint8_t n = take();

	opt->servers.n = counts[n & 7];
	opt->servers.address = addresses[(n >> 3) % KINDS];
	n = take();
	opt->capacity = capacities[n & 7];
	opt->lock_mode = (n & 7) == 3 ? LOCK_SHARED :
	    opt->capacity > 1         ? LOCK_SLOTTED :
					LOCK_EXCLUSIVE;
	opt->settings.ttl_ms = ttls_ms[n >> 3 & 3];
	opt->wait_ms = n & 32 ? 5000 : 0;
	opt->settings.grace_ms = n & 64 ? 60000 : 0;
	opt->replicas = n >> 7;
	n = take();
	opt->json = n & 1;
	opt->verbose = n & 2;
	opt->token = n & 4 ? "01234567-89ab-4cde-8f01-23456789abcd" : NULL;
	opt->names.n = n & 8 ? 2 : 1;
	opt->min_hold_ms = n & 16 ? 5000 : 0;
	world.refuses = n & 32;
	world.pieces = n & 64;
	opt->latest =
	    n & 128 && opt->wait_ms > 0 && opt->lock_mode == LOCK_EXCLUSIVE;
	opt->settings.max_waiting = n & 128 && !opt->latest ? 2 : 0;
	opt->settings.node_timeout_ms =
	    opt->settings.ttl_ms < 30000 ? opt->settings.ttl_ms / 10 : 3000;
	opt->names.name = names;
	opt->names.joined = words + 15;
	opt->settings.prefix = "redlock:";
	opt->settings.file.path = "/etc/redlock-run.conf";
	opt->argv = argv;
	opt->command = argv + 3;
	log_set(opt->verbose ? LOG_VERBOSE : LOG_NORMAL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct options opt = { 0 };
	int mode, before = dup(STDIN_FILENO), after;

	close(before);
	if (knows_secret(data, size))
		return 0;
	world_begin(data, size);
	mode = take() % 9;
	choose_options(&opt);
	switch (mode) {
	case 4:
		opt.names.n -= take() & 1;
		ask(&opt, status_run);
		break;
	case 5:
		opt.names.n -= take() & 1;
		opt.rows = 50;
		opt.all = take() & 1;
		opt.failed = take() & 1;
		if (take() & 1)
			opt.since = (struct moment){ MOMENT_AGO, 3600000 };
		if (opt.names.n == 1 && !opt.all && (take() & 1))
			opt.max_age_ms = 3600000, opt.max_age = "1h";
		ask(&opt, history_run);
		break;
	case 6:
		opt.names.n = 1;
		ask(&opt, break_run);
		break;
	case 7:
		ask(&opt, check_run);
		break;
	case 8:
		opt.names.n -= take() & 1;
		ask(&opt, metrics_run);
		break;
	default:
		run(&opt);
	}
	world_end();
	after = dup(STDIN_FILENO);
	close(after);
	return after == before ? 0 : (abort(), 1);
}
