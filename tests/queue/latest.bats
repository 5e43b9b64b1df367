#!/usr/bin/env bats
# --latest: of the runs that wait with it only the newest goes on waiting.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load ../lib/common
load ../lib/servers
load ../lib/queue

setup_file() {
	redis_start
	servers_start
}
setup() {
	redis_reset
	servers_reset
	servers_use_one
	waiters_setup
}
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# superseded NAME: it has given up for a run of this user.
superseded() {
	client_ends "$1" 75
	[ "$(tail -n 1 "$1.err")" = "redlock-run: a: superseded by $(id -un)@$(uname -n) (sh)" ]
}

# deploy_queued NAME N [ARG...]: NAME waits with --latest; then so many are in the
# queue.
deploy_queued() {
	waiter_start "$1" --latest "${@:3}"
	eventually queue_is "$2"
}

# deploys_in_a_row: of three the first runs, and then the third.
deploys_in_a_row() {
	hold a -w 1m --latest
	deploy_queued 2 1
	waiter_start 3 --latest
	superseded 2
	eventually queue_is 1
	held
	let_go
	waiters_served 3
	eventually keys_left
}

# skipped_for TOKEN: the history has one skip, and the run of TOKEN as its reason.
skipped_for() {
	run -0 --separate-stderr redlock --history a --all --json
	json "[r['held_by']['token'] for r in d if r['reason'] == 'superseded'] == ['$1']"
	json "all(r['ended'] == 'skipped' and r['waited_ms'] > 0 and r['held_by']['user'] == '$(id -un)' for r in d if r['reason'])"
}

# bats test_tags=quick
@test "--latest: of three deploys the first runs, the second is superseded, the third runs" {
	deploys_in_a_row
	skipped_for "$(tail -n 1 tokens)"
	run -0 --separate-stderr redlock --history a --all
	[ "$(grep -c "skipped: superseded by $(id -un)@$(uname -n) pid ${pid[3]} (sh)$" <<<"$output")" = 1 ]
}

# bats test_tags=quick
@test "--latest on three servers: the first runs, the second is superseded, the third runs" {
	servers_use 1 2 3
	deploys_in_a_row
	skipped_for "$(tail -n 1 tokens)"
}

@test "--latest on three servers, one of which is down: the first runs, the second is superseded, the third runs" {
	servers_use 1 2 3
	redis_kill s3
	export servers='s1 s2'
	deploys_in_a_row
	skipped_for "$(tail -n 1 tokens)"
}

# crowd_gone N: so many of the twelve have ended.
crowd_gone() {
	local i n=0
	for i in {1..12}; do
		! gone "${pid[$i]}" || ((n += 1))
	done
	((n == $1))
}

@test "--latest: a crowd that comes while the lock is held leaves the newest" {
	local i
	hold a -w 1m --latest
	for i in {1..12}; do
		waiter_start "$i" --latest
	done
	# Before all have come one can be alone in the queue, too.
	eventually crowd_gone 11
	queue_is 1
	let_go
	eventually test -s order
	for i in {1..12}; do
		wait "${pid[$i]}" || [ $? = 75 ]
	done
	[ "$(wc -l <order)" = 1 ]
	[ ! -e overlap ]
	keys_left
}

@test "a run without --latest is not superseded, and supersedes nobody" {
	hold a
	waiter_queues 1
	deploy_queued 2 2
	waiter_queues 3
	waiter_start 4 --latest
	superseded 2
	eventually queue_is 3
	let_go
	waiters_served 1 3 4
	keys_left
}

# beat_ends NAME: NAME counts as dead.
beat_ends() {
	redis eval 'local beat = redis.call("HGET", KEYS[1], ARGV[1])
		return redis.call("HSET", KEYS[1], ARGV[1], (beat:gsub("^%d+", "1")))' \
	    1 "$beat" "${token[$1]}" | grep -qx 0
}

@test "a later run that is dead supersedes nobody" {
	hold a
	waiter_queues 1 --latest
	waiter_stop 1
	waiter_queues 2 --latest
	kill -KILL "${pid[2]}"
	beat_ends 2
	kill -CONT "${pid[1]}"
	eventually queue_is 1
	let_go
	waiters_served 1
	keys_left
}

@test "those that a run has superseded are gone, also when that one gives up" {
	hold a
	waiter_queues 1 --latest
	waiter_start 2 --latest -w 1s
	superseded 1
	client_ends 2 75
	grep -q '^redlock-run: a: .*held by ' 2.err
	queue_is 0
	held
	let_go
	[ ! -e order ]
	keys_left
}

@test "a run that was granted the lock runs, though a later one has come before it knows" {
	hold a
	waiter_queues 1 --latest
	touch stay
	waiter_hand_over 1
	waiter_queues 2 --latest
	kill -CONT "${pid[1]}"
	eventually waiter_runs 1
	eventually queue_is 1
	rm stay
	waiters_served 1 2
	keys_left
}

@test "a release hands the lock to no run that is superseded; the later one gets it, even if that one is silent" {
	hold a
	waiter_queues 1 --latest
	waiter_stop 1
	waiter_queues 2 --latest
	touch stay
	let_go
	not waiter_owns 1
	eventually waiter_runs 2
	# It has learned nothing of a run that waits no more.
	kill -CONT "${pid[1]}"
	eventually queue_is 1
	rm stay
	waiters_served 2 1
	keys_left
}

@test "--latest: the status is that of -E, and -q silences the message" {
	hold a
	deploy_queued 1 1 -E 3
	deploy_queued 2 1 -q
	client_ends 1 3
	waiter_start 3 --latest
	client_ends 2 75
	[ ! -s 2.err ]
	let_go
	waiters_served 3
}

# deploy_from HOST: a run of that host has joined the queue with --latest.
deploy_from() {
	redis zadd "$queue" 8000000000000000 rival >/dev/null
	redis hset "$beat" rival "9000000000000000 exclusive 1 beat=15000 latest=1 redlock-run/2 token=11234567-89ab-4cde-8f01-23456789abcd try=1 pid=7 host=$1 user=alice command=deploy.sh ttl=60000" >/dev/null
	redis lpush "{redlock:a}:~wake:${token[1]}" 1 >/dev/null
}

@test "the name of a later run cannot write to the terminal" {
	hold a
	waiter_queues 1 --latest
	deploy_from web2%1b%5b2J%0aredlock-run
	client_ends 1 75
	[ "$(<1.err)" = 'redlock-run: a: superseded by alice@web2\x1b[2J\x0aredlock-run (deploy.sh)' ]
	run -0 --separate-stderr redlock --history a --all
	clean
	redis del "$queue" "$beat" >/dev/null
	let_go
}

@test "several locks: a run that is superseded in one of them gives back the others" {
	hold b
	client_start 1 "$inside" -k b -w 5m --latest
	eventually held a
	eventually grep -q 'b: waiting for ' 1.err
	"$REDLOCK_RUN" -k b -w 5m --latest -- touch second 2>2.err 3>&- 4>&- &
	pid[2]=$!
	client_ends 1 75
	grep -q "^redlock-run: b: superseded by " 1.err
	free a
	let_go
	client_ends 2 0
	[ -e second ]
	keys_left
}

@test "several locks: a run that holds the one that a later run waits for goes on" {
	hold b
	client_start 1 "$inside" -k b -w 5m --latest
	eventually held a
	waiter_queues 2 --latest
	let_go
	waiters_served 1 2
	keys_left
}

@test "--latest with --once-per: the newest of those that wait is refused by a success" {
	hold a
	deploy_queued 1 1 --once-per 1h
	waiter_start 2 --latest --once-per 1h
	superseded 1
	let_go
	client_ends 2 75
	grep -q '^redlock-run: a: ran ' 2.err
	eventually keys_left
}

@test "--latest with --once-per: a superseded run leaves a free lock to the later one" {
	rm -f let-go
	redlock_bg -k a -- sh -c 'until [ -e let-go ]; do sleep 0.02; done; exit 1'
	eventually held
	waiter_queues 1 --latest --once-per 1h
	waiter_stop 1
	waiter_queues 2 --latest --once-per 1h
	touch let-go
	redlock_ended 1
	waiter_outlives 1
	kill -CONT "${pid[1]}"
	superseded 1
	waiters_served 2
	keys_left
}

@test "a frozen server of three keeps no place and no vote of a run that was superseded" {
	servers_use 1 2 3
	hold a
	deploy_queued 1 1
	redis_freeze s3
	waiter_start 2 --latest
	superseded 1
	redis_thaw s3
	eventually queue_is 1
	let_go
	waiters_served 2
	eventually servers_only_fences 1 2 3
}

@test "a server that restarts empty forgets which run was the later one until both have asked again" {
	hold a
	waiter_queues 1 --latest
	waiter_stop 1
	waiter_queues 2 --latest
	redis del "$queue" "$beat" >/dev/null
	kill -CONT "${pid[1]}"
	superseded 1
	let_go
	waiters_served 2
	keys_left
}
