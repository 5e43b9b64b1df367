#!/usr/bin/env bats
# Waiting in turn on one server: the order of the waiters, how long they wait,
# and their messages.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load ../lib/one_redis
load ../lib/queue

setup() {
	redis_reset
	waiters_setup
}

## The turn

# bats test_tags=quick
@test "first come, first served" {
	local name

	hold a
	for name in 1 2 3 4 5 6 7 8; do
		waiter_queues "$name"
	done
	let_go
	waiters_served 1 2 3 4 5 6 7 8
	eventually keys_left
}

@test "a run that comes later is served after the waiters" {
	hold a
	waiter_queues 1
	waiter_queues 2
	touch stay-1
	let_go
	eventually waiter_runs 1
	waiter_queues 3
	rm stay-1
	waiters_served 1 2 3
	eventually keys_left
}

@test "no other run gets the lock between a release and the next in turn" {
	hold a
	waiter_queues 1
	waiter_hand_over 1
	run -75 redlock -q -k a -- touch jumped
	run -75 redlock -q -k a -w 300ms -- touch jumped
	waiter_owns 1
	kill -CONT "${pid[1]}"
	waiters_served 1
	[ ! -e jumped ]
	eventually keys_left
}

@test "a free lock is reserved for the first waiter" {
	redis set redlock:a another px 60000
	waiter_queues 1
	waiter_queues 2
	waiter_stop 1
	waiter_stop 2
	redis del redlock:a
	waiter_outlives 1
	run -75 --separate-stderr redlock -k a -- touch jumped
	says a
	echo "$stderr"
	[ "$(redis exists redlock:a)" = 0 ]
	waiter_outlives 1
	waiter_queues 3
	kill -CONT "${pid[1]}" "${pid[2]}"
	waiters_served 1 2 3
	[ ! -e jumped ]
	eventually keys_left
}

@test "many runs that return again and again are all served, one at a time" {
	local pids=()

	for _ in {1..6}; do
		worker 15 ran -w 5m &
		pids+=($!)
	done
	workers_end "${pids[@]}"
	[ "$(wc -l <ran)" = 90 ]
	eventually keys_left
}

@test "runs with -w and runs without -w exclude each other" {
	local pids=()

	for _ in 1 2; do
		worker 15 waited -w 5m &
		pids+=($!)
		worker 15 ran -q -E 0 &
		pids+=($!)
	done
	workers_end "${pids[@]}"
	[ "$(wc -l <waited)" = 30 ]
	eventually keys_left
}

## How long

# bats test_tags=quick
@test "a wait that times out gives 75 after that time and leaves nothing behind" {
	local ms late best

	hold a
	# also longer than a node timeout, which is 3 s
	for ms in 300 1500 3500; do
		best=100000
		for _ in 1 2 3 4; do
			late=$(now_us)
			run -75 --separate-stderr \
			    redlock -k a -w "${ms}ms" -- touch started
			late=$((($(now_us) - late) / 1000 - ms))
			echo "-w ${ms}ms ended $late ms late"
			says 'a: ' "pid $bg_pid"
			((late >= 0))
			((late >= best)) || best=$late
			eventually keys_left redlock:a
			((best >= 2000)) || break
		done
		((best < 2000))
	done
	late=$(now_us)
	run -75 redlock -k a -w 0.7 -- touch started
	(($(now_us) - late >= 700000))
	[ ! -e started ]
	let_go
	eventually keys_left
}

@test "-E and -q apply to a wait that times out" {
	hold a
	run -9 redlock -E 9 -k a -w 300ms -- touch started
	run -0 --separate-stderr redlock -q -E 0 -k a -w 1.2s -- touch started
	silent
	[ ! -e started ]
	let_go
}

@test "-w inf waits until the lock is acquired" {
	hold a
	waiter_queues 1 -w inf
	waiter_queues 2 --wait=inf
	let_go
	waiters_served 1 2
	eventually keys_left
}

# bats test_tags=quick
@test "-w 0 and -n neither wait nor queue" {
	local how began_us

	hold a
	redis config resetstat
	for how in '-w 0' '-w0s' '--wait 0ms' -n --nonblock '-w 5m -n' \
	    '-n -w 0'; do
		began_us=$(now_us)
		# shellcheck disable=SC2086
		run -75 redlock -k a $how -- touch started
		(($(now_us) - began_us < 5000000))
	done
	[ ! -e started ]
	[ "$(redis_calls zadd blpop)" = 0 ]
	keys_left redlock:a
	let_go
}

@test "-w takes a free lock at once, without the queue" {
	redlock -k a -w 5m -- true
	redlock -k a -w inf -- true
	redlock -k a -w 1ms -- true
	[ "$(redis_calls blpop)" = 0 ]
	keys_left
}

# bats test_tags=quick
@test "a malformed -w is a usage error that quotes it" {
	local bad

	for bad in '' -1 -1s nan 1x '1 s' 'inf s' 5inf 1e400 \
	    99999999999999999999d; do
		run -64 --separate-stderr redlock -k a -w "$bad" -- touch started
		says "'$bad'"
	done
	[ ! -e started ]
}

@test "the exit status of a COMMAND that had to wait is its own" {
	hold a
	"$REDLOCK_RUN" -k a -w 5m -- sh -c 'exit 3' 3>&- 4>&- &
	pid[1]=$!
	eventually queue_is 1
	waiter_queues 2
	let_go
	client_ends 1 3
	waiters_served 2
}

## Messages

@test "a wait of more than a second names the holder once, and how long it took" {
	local began_us

	hold a
	began_us=$(now_us)
	waiter_queues 1
	waiter_queues 2 -q
	eventually grep -q . 1.err
	(($(now_us) - began_us >= 1000000))
	sleep 2
	let_go
	waiters_served 1 2
	cat 1.err
	[ "$(wc -l <1.err)" = 2 ]
	head -n 1 1.err | grep -q "^redlock-run: a: .*pid $bg_pid"
	tail -n 1 1.err | grep -qE '^redlock-run: a: acquired after [0-9]+s$'
	[ ! -s 2.err ]
}

@test "the message at the end of a long wait has its length" {
	hold a
	run -75 --separate-stderr redlock -k a -w 1.5s -- true
	says 'a: waiting for' 'a: gave up after 1s: held by' "pid $bg_pid"
	[ "$(wc -l <<<"$stderr")" = 2 ]
	let_go
}

@test "a wait for the end of a cooldown names no process, because that has ended" {
	redlock -k a --min-hold 1m -- true
	run -75 --separate-stderr redlock -k a -w 1.5s -- true
	says 'a: waiting for the end of the cooldown (--min-hold) after ' \
	    'a: gave up after 1s: in cooldown for another '
	[[ $stderr != *' pid '* ]]
}

@test "a wait of one second ends with a message about the holder, and nothing else" {
	hold a
	run -75 --separate-stderr redlock -k a -w 1 -- true
	says "a: held by" "pid $bg_pid"
	[ "$(wc -l <<<"$stderr")" = 1 ]
	let_go
}

@test "a short wait prints nothing" {
	local began_us

	for _ in {1..20}; do
		hold a
		began_us=$(now_us)
		waiter_queues 1
		let_go
		client_ends 1 0
		if (($(now_us) - began_us < 1000000)); then
			[ ! -s 1.err ]
			return
		fi
	done
	fail "this machine is too busy"
}

@test "the message about a busy lock counts the waiters and mentions -w" {
	hold a
	run -75 --separate-stderr redlock -k a -- true
	says '; -w waits for it'
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	waiter_queues 1
	waiter_queues 2
	run -75 --separate-stderr redlock -k a -- true
	says ' left, 2 waiting; -w waits for it'
	let_go
	waiters_served 1 2
}

@test "--status shows the waiters" {
	hold a
	waiter_queues 1
	waiter_queues 2
	run -0 redlock --status -k a --json
	/usr/bin/python3 -c '
import json, sys
lock, = json.loads(sys.argv[1])["locks"]
waiters = lock["waiters"]
assert lock["waiting"] == 2, lock
assert [w["token"] for w in waiters] == sys.argv[2:4], waiters
assert [w["position"] for w in waiters] == [1, 2], waiters
assert all(w["user"] and w["host"] and w["command"] for w in waiters), waiters
assert all(0 <= w["waiting_ms"] < 60000 for w in waiters), waiters
assert waiters[0]["waiting_ms"] >= waiters[1]["waiting_ms"], waiters
assert [str(w["pid"]) for w in waiters] == sys.argv[4:6], waiters
' "$output" "${token[1]}" "${token[2]}" "${pid[1]}" "${pid[2]}"
	run -0 redlock --status -k a
	awk 'NR == 2 && $9 == 2 { found = 1 } END { exit !found }' <<<"$output"
	let_go
	waiters_served 1 2
}
