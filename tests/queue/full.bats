#!/usr/bin/env bats
# --max-waiting: a run that finds so many waiting does not queue up behind them.
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

# refused_by N [ARG...]: a run with ARG is refused at once because N wait.
refused_by() {
	local n=$1
	shift
	run -75 --separate-stderr redlock -k a -w 5m "$@" -- touch started
	if ((n == 1)); then
		says "a: 1 run waits already (--max-waiting "
	else
		says "a: $n runs wait already (--max-waiting "
	fi
	[ ! -e started ]
}

# ages TOKEN [SERVER]: the beat of a waiter has ended.
ages() {
	redis_at "${2:-redis}" eval 'local beat = redis.call("HGET", KEYS[1], ARGV[1])
		redis.call("HSET", KEYS[1], ARGV[1], (beat:gsub("^%d+", "1")))' 1 "$beat" "$1" >/dev/null
}

# bats test_tags=quick
@test "--max-waiting: a run that finds so many waiting is busy at once, 75 or -E, and leaves no place" {
	hold a
	waiter_queues 1 --max-waiting 2
	waiter_queues 2 --max-waiting 2
	run -75 --separate-stderr redlock -k a -w 5m --max-waiting 2 -- touch started
	[ "$stderr" = 'redlock-run: a: 2 runs wait already (--max-waiting 2)' ]
	run -3 redlock -k a -w inf --max-waiting 2 -E 3 -- touch started
	run -75 --separate-stderr redlock -k a -w 5m --max-waiting 2 -q -- touch started
	silent
	queue_is 2
	[ "$(redis hlen "$beat")" = 2 ]
	let_go
	waiters_served 1 2
	[ ! -e started ]
	keys_left
}

# bats test_tags=quick
@test "--max-waiting 1 waits only as the first, and the next one can when that one runs" {
	hold a
	waiter_queues 1 --max-waiting 1
	refused_by 1 --max-waiting 1
	touch stay
	let_go
	eventually waiter_runs 1
	waiter_queues 2 --max-waiting 1
	refused_by 1 --max-waiting 1
	rm stay
	waiters_served 1 2
	keys_left
}

# bats test_tags=quick
@test "--max-waiting: a lock that is free is taken, and a run in the queue stays there" {
	redlock -k a -w 5m --max-waiting 1 -- true
	hold a
	waiter_queues 1 --max-waiting 1
	waiter_queues 2
	waiter_queues 3
	refused_by 3 --max-waiting 1
	refused_by 3 --max-waiting 3
	waiter_queues 4 --max-waiting 4
	# They lose their places, as if the server had restarted, and are back.
	redis del "$queue" "$beat" >/dev/null
	eventually queue_is 4
	let_go
	waiters_served 1 2 3 4
	keys_left
}

@test "--max-waiting does not count a waiter that has died" {
	hold a
	waiter_queues 1
	waiter_queues 2
	kill -KILL "${pid[1]}"
	refused_by 2 --max-waiting 2
	ages "${token[1]}"
	waiter_start 3 --max-waiting 2
	eventually grep -q 'a: waiting for ' 3.err
	let_go
	waiters_served 2 3
	keys_left
}

# bats test_tags=quick
@test "a run that --max-waiting refuses costs one request, and one that it does not costs none" {
	redlock -k b -- true
	hold a
	watch_begun
	waiter_queues 1
	redis config resetstat >/dev/null
	refused_by 1 --max-waiting 1
	[ "$(scripts_run)" = 1 ]
	let_go
	waiters_served 1
	redis config resetstat >/dev/null
	redlock -k a -w 5m --max-waiting 1 -- true
	# Where servers push, a run of 300 ms has a renewal more.
	[ "$(scripts_run)" = 2 ] || pushes_work
}

# bats test_tags=quick
@test "--history --all: a run that --max-waiting refuses is skipped, queue-full" {
	hold a
	waiter_queues 1
	refused_by 1 --max-waiting 1
	run -0 --separate-stderr redlock --history a --all
	[[ $output == *' skipped, queue full: held by '*"@$(uname -n) pid $bg_pid (sh)"* ]]
	run -0 --separate-stderr redlock --history a --all --json
	json 'len([r for r in d if r["ended"] == "skipped"]) == 1'
	json '[(r["reason"], r["held_by"]["pid"]) for r in d if r["ended"] == "skipped"] == [("queue-full", '"$bg_pid"')]'
	run -1 --separate-stderr redlock --history a --max-age 1h
	[[ $output == *'1 skipped'* ]]
	run -0 --separate-stderr redlock --metrics a
	[[ $output == *'redlock_last_skip_timestamp_seconds{lock="a"} '* ]]
	let_go
	waiters_served 1
}

## Other options

@test "--max-waiting counts readers and writers alike, but no reader that runs" {
	hold a -s
	redlock -k a -s -w 5m --max-waiting 1 -- true
	waiter_queues 1
	refused_by 1 -s --max-waiting 1
	refused_by 1 --max-waiting 1
	waiter_queues 2 -s
	refused_by 2 -s --max-waiting 2
	let_go
	waiters_end 1 2
	keys_left
}

@test "--max-waiting with --slots: a free slot is taken, and else those count that wait" {
	hold a --slots 2
	redlock -k a --slots 2 -w 5m --max-waiting 1 -- true
	touch stay-1
	waiter_start 1 --slots 2
	eventually waiter_runs 1
	waiter_queues 2 --slots 2 --max-waiting 1
	refused_by 1 --slots 2 --max-waiting 1
	rm stay-1
	client_ends 1 0
	client_ends 2 0
	let_go
	keys_left
}

waits_for_b() {
	[ "$(redis zcard '{redlock:b}:~queue')" = 1 ]
}

# bats test_tags=quick
@test "--max-waiting: several locks are all or none, and each has a queue of its own" {
	local waiter

	hold b
	"$REDLOCK_RUN" -k b -w 5m -- true 3>&- 4>&- &
	waiter=$!
	eventually waits_for_b
	run -75 --separate-stderr redlock -k a -k b -k c -w 5m --max-waiting 1 -- touch started
	says 'b: 1 run waits already (--max-waiting 1)'
	[ ! -e started ]
	free a c
	let_go
	wait "$waiter"
	redlock -k a -k b -k c -w 5m --max-waiting 1 -- true
	keys_left
}

@test "--max-waiting counts a waiter with --once-per, and reports a success first" {
	redlock -k a -- true
	hold a
	run -75 --separate-stderr redlock -k a -w 5m --max-waiting 1 --once-per 1h -- touch started
	says 'a: ran '
	redis del '{redlock:a}:~success' >/dev/null
	waiter_queues 1 --once-per 1h
	refused_by 1 --max-waiting 1 --once-per 1h
	let_go
	client_ends 1 75
	keys_left
}

## Several servers

# queued N SERVER...: so many are in the queue of each of these.
queued() {
	local n=$1 i
	shift
	for i; do
		[ "$(redis_at "s$i" zcard "$queue")" = "$n" ] || return 1
	done
}

# waiter_queued_on SERVERS NAME [ARG...]: NAME is the next in the queues of these.
waiter_queued_on() {
	local n
	n=$(redis_at "s${1%% *}" zcard "$queue")
	waiter_start "${@:2}"
	# shellcheck disable=SC2086
	eventually queued $((n + 1)) $1
}

@test "several servers: a run is refused when a majority counts so many, and leaves nothing" {
	servers_use 1 2 3
	hold a
	waiter_queued_on '1 2 3' 1 --max-waiting 2
	waiter_queued_on '1 2 3' 2 --max-waiting 2
	refused_by 2 --max-waiting 2
	eventually queued 2 1 2 3
	# The third one counts less.
	redis_at s3 del "$queue" "$beat" >/dev/null
	refused_by 2 --max-waiting 2
	run -0 --separate-stderr redlock --history a --all --json
	json '[r["reason"] for r in d if r["ended"] == "skipped"] == 2 * ["queue-full"]'
	eventually queued 2 1 2 3
	let_go
	waiters_served 1 2
	eventually servers_only_fences 1 2 3
}

@test "several servers: a run waits where a minority counts so many" {
	local i
	servers_use 1 2 3
	hold a
	waiter_queued_on '1 2 3' 1
	# The others forget it; it is stopped, so that it does not come back.
	waiter_stop 1
	token[1]=$(redis_at s1 zrange "$queue" 0 0)
	waiter_outlives 1 s1
	redis_at s2 del "$queue" "$beat" >/dev/null
	redis_at s3 del "$queue" "$beat" >/dev/null
	waiter_start 2 --max-waiting 1
	eventually queued 2 1
	eventually queued 1 2 3
	kill -CONT "${pid[1]}"
	let_go
	waiters_end 1 2
	eventually servers_only_fences 1 2 3
}

@test "several servers, of which one is down: a run is refused when the others count so many" {
	servers_use 1 2 3
	redis_kill s3
	export servers='s1 s2'
	hold a
	waiter_queued_on '1 2' 1 --max-waiting 1
	refused_by 1 --max-waiting 1
	waiter_queued_on '1 2' 2 --max-waiting 2
	let_go
	waiters_served 1 2
	eventually servers_only_fences 1 2
}

@test "several servers: a run that joins while one is frozen is refused or not by the others" {
	servers_use 1 2 3
	hold a
	waiter_queued_on '1 2 3' 1
	redis_freeze s3
	refused_by 1 --max-waiting 1
	waiter_start 2 --max-waiting 2
	eventually queued 2 1 2
	redis_thaw s3
	let_go
	waiters_served 1 2
	eventually servers_only_fences 1 2 3
}

@test "several servers: runs without -w do not count, though they queue for a moment" {
	servers_use 1 2 3
	hold a
	for i in 1 2 3; do
		candidate "$i"
	done
	waiter_start 1 --max-waiting 1
	eventually queued 2 1 2 3
	refused_by 1 --max-waiting 1
	let_go
	waiters_served 1
	for i in 1 2 3; do
		redis_at "s$i" del "$queue" "$beat" >/dev/null
	done
	eventually servers_only_fences 1 2 3
}

# candidate SERVER: what a run without -w leaves in the queue if it dies at once,
# for a minute.
candidate() {
	redis_at "s$1" eval 'local time = redis.call("TIME")
		redis.call("ZADD", KEYS[1], string.format("%d%06d", time[1], time[2]), ARGV[1])
		redis.call("HSET", KEYS[2], ARGV[1], time[1] + 60 .. "000000 exclusive 1 beat=12000 waits=0 " ..
		    "redlock-run/2 token=" .. ARGV[1] .. " try=1 pid=1 host=h user=u command=c")' \
	    2 "$queue" "$beat" 01234567-89ab-4cde-8f01-23456789abcd >/dev/null
}

# beat_has PATTERN: the beat of the only run in the queue of server 1.
beat_has() {
	# shellcheck disable=SC2053
	[[ $(redis_at s1 hvals "$beat") == $1 ]]
}

@test "several servers: the beat of a run without -w shows that it does not wait" {
	servers_use 1 2 3
	redis_freeze s2
	redis_freeze s3
	redlock_bg -k a --node-timeout 20s -t 1h -- true
	eventually beat_has '* exclusive 1 beat=80000 waits=0 redlock-run/2 *'
	redis_thaw s2
	redis_thaw s3
	redlock_ended 0
	eventually keys_left
	redis_freeze s2
	redis_freeze s3
	redlock_bg -k a --node-timeout 20s -t 1h -w 5m -- true
	eventually beat_has '* exclusive 1 beat=15000 redlock-run/2 *'
	redis_thaw s2
	redis_thaw s3
	redlock_ended 0
	eventually keys_left
}
