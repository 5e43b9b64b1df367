#!/usr/bin/env bats
# Several locks under one run: all or none.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load ../lib/common
load ../lib/faults
load ../lib/servers

setup_file() {
	redis_start
	five_servers
	write_helpers
}
setup() {
	redis_reset
	fresh_servers
	unset REDLOCK_RESTART_GRACE
	tell "unix://$BATS_FILE_TMPDIR/redis.sock"
}
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# held NAME...: all of these (for `hold`, the first of them).
held() {
	local name
	for name; do
		[ "$(redis exists "redlock:$name")" = 1 ] || return 1
	done
}

none_left() {
	not grep -qvE '^$|:~(fence|runs)$' <<<"$(redis keys '*')"
}

@test "all of them are held while COMMAND runs, and given back" {
	redlock -k b -k a -k c -- sh -c '
		$ADMIN_CLI -s "$1" exists redlock:a redlock:b redlock:c >held' \
	    sh "$BATS_FILE_TMPDIR/redis.sock"
	[ "$(cat held)" = 3 ]
	none_left
}

@test "one token, the names in bytewise order, a fence for each in that order" {
	redlock -k b -- true
	run -0 redlock -k z -k b -k B -- sh -c '
		echo "$REDLOCK_KEY" >keys
		echo "$REDLOCK_FENCE" >fences
		for i in B b z; do
			$ADMIN_CLI -s "$1" get "{redlock:$i}:~fence"
			$ADMIN_CLI -s "$1" get "redlock:$i" | grep -c "$REDLOCK_TOKEN"
		done' sh "$BATS_FILE_TMPDIR/redis.sock"
	[ "$(cat keys)" = $'B\nb\nz' ]
	[ "$output" = "$(tr ' ' '\n' <fences | sed 's/$/\n1/')" ]
}

@test "if one is busy none is kept, and it says which" {
	hold b
	run -75 --separate-stderr redlock -k a -k b -k c -- touch started
	says 'b: held by'
	[ ! -e started ]
	not held a
	not held c
	let_go
	none_left
}

@test "if one cannot be had none is kept" {
	redis rpush redlock:c x
	run -75 redlock -k a -k b -k c -- touch started
	[ ! -e started ]
	not held a
	not held b
	redis del redlock:c
	redis acl setuser default resetkeys '~redlock:[ab]' '~{redlock:*'
	run -77 --separate-stderr redlock -k a -k b -k c -- touch started
	[ ! -e started ]
	not held a
	not held b
}

@test "a second run that wants one of them is kept out" {
	hold a -k b
	eventually held a b
	run -75 redlock -k b -- true
	run -75 redlock -k c -k a -- true
	let_go
	none_left
}

@test "two runs that name them in different order do not get in each other's way" {
	local i pids=()

	for i in {1..20}; do
		redlock -k a -k b --node-timeout 20s -- true &
		pids+=($!)
		redlock -k b -k a --node-timeout 20s -- true &
		pids+=($!)
	done 2>/dev/null
	for i in "${pids[@]}"; do
		wait "$i" || [ $? -eq 75 ]
	done
	none_left
}

@test "one that is lost is a loss: 79, COMMAND is stopped, the others are given back" {
	watch -k b -t 6s --kill-after 100ms --node-timeout 2s
	redis set redlock:b thief px 600000
	redlock_ended 79
	grep -q 'b: lock lost: it is held by another client' "$bg_err"
	witnesses_gone
	[ "$(redis get redlock:b)" = thief ]
	redis del redlock:b
	none_left
}

# prolonged NAME MS: its lease ends later than that.
prolonged() {
	(($(expiry "redlock:$1") > $2 + 20))
}

# ours NAME: the key has a value of redlock-run, that of $bg_pid.
ours() {
	[[ $(redis get "redlock:$1") == *" pid=$bg_pid "* ]]
}

@test "a lock that is lost while the next is waited for is waited for again" {
	redis set redlock:b another px 60000
	redlock_bg -k a -k b -t 3s -w 5m -- sh -c 'echo ran'
	eventually ours a
	redis set redlock:a thief px 2500
	eventually grep -q '^redlock-run: a: lost .*; starting over' "$bg_err"
	[ "$(redis get redlock:a)" = thief ]
	eventually ours a
	redis del redlock:b
	redlock_ended 0
	[ "$(<"$bg_out")" = ran ]
	not held a
	not held b
}

@test "a lock that two of three servers lose while the next is waited for is waited for again" {
	local i

	export REDLOCK_RESTART_GRACE=0
	tell "$(url 1)" "$(url 2)" "$(url 3)"
	for i in 1 2 3; do
		redis_at "s$i" set redlock:b another px 60000
	done
	redlock_bg -k a -k b -t 3s -w 5m -- true
	for i in 1 2 3; do
		eventually ours_at "$i"
	done
	for i in 1 2; do
		redis_at "s$i" set redlock:a thief px 2500
	done
	eventually grep -q '^redlock-run: a: lost .*; starting over' "$bg_err"
	for i in 1 2 3; do
		eventually ours_at "$i"
		redis_at "s$i" del redlock:b
	done
	redlock_ended 0
	eventually only_fences 1 2 3
}

# ours_at N: the same of the lock called "a" on server N.
ours_at() {
	[[ $(redis_at "s$1" get redlock:a) == *" pid=$bg_pid "* ]]
}

@test "a lock that is lost while the next is waited for, for good: 75 when the wait ends" {
	local began_us

	redis set redlock:b another px 60000
	began_us=$(now_us)
	redlock_bg -k a -k b -t 2s -w 4s -- touch started
	eventually ours a
	redis set redlock:a thief px 60000
	redlock_ended 75
	(($(now_us) - began_us >= 4000000))
	[ "$(redis get redlock:a)" = thief ]
	[ "$(redis get redlock:b)" = another ]
	[ ! -e started ]
	[ -z "$(redis keys '*:~queue')" ]
}

@test "each of them is renewed" {
	local name expires=()

	hold a -k b -k c -t 6s --kill-after 100ms --node-timeout 2s
	eventually held a b c
	for name in a b c; do
		expires+=("$(expiry "redlock:$name")")
	done
	eventually prolonged a "${expires[0]}"
	eventually prolonged b "${expires[1]}"
	eventually prolonged c "${expires[2]}"
	let_go
	none_left
}

@test "a server that is frozen: COMMAND is dead before the first lease ends" {
	watch -k b -t 5s --node-timeout 1s
	after_renewal 5000 'redis_freeze' 'redis_thaw'
	dead_in_time
	redis_thaw
	eventually none_left
}

@test "--at-least keeps all of them" {
	redlock -k a -k b --at-least 1h -- true
	held a b
	run -75 redlock -k b -- true
}

@test "a signal while they are taken leaves none behind" {
	tell "$(url 1)" "$(url 2)" "$(url 3)"
	export REDLOCK_RESTART_GRACE=0
	redis_freeze s2
	redis_freeze s3
	redlock_bg -k a -k b -t 1h --node-timeout 20s -- touch started
	eventually held_at 1
	kill -TERM "$bg_pid"
	redlock_ended 143
	redis_thaw s2
	redis_thaw s3
	eventually only_fences 1 2 3
	[ ! -e started ]
}

@test "over several servers, one of them frozen, they are taken and given back without delay" {
	local start

	tell "$(url 1)" "$(url 2)" "$(url 3)"
	export REDLOCK_RESTART_GRACE=0
	redis_freeze s3
	start=$(now_us)
	redlock -k a -k b -k c --node-timeout 20s -- true
	(($(now_us) - start < 10000000))
	redis_thaw s3
	eventually asked_at 3
	eventually only_fences 1 2 3
}

@test "--status shows those that are named: 0 if all are held, 1 if one is free" {
	hold a -k c
	eventually held a c
	run -0 redlock --status -k c -k a
	[ "$(cut -d ' ' -f 1 <<<"$output")" = $'LOCK\na\nc' ]
	run -1 redlock --status -k c -k b -k a
	[ "$(cut -d ' ' -f 1 <<<"$output")" = $'LOCK\na\nb\nc' ]
	let_go
}

@test "a name twice, or too many of them, is a usage error" {
	local many=() i

	run -64 --separate-stderr redlock -k a -k b -k a -- touch started
	says "'a'" twice
	for i in {1..33}; do
		many+=(-k "n$i")
	done
	run -64 --separate-stderr redlock "${many[@]}" -- touch started
	says 32
	redlock "${many[@]:2}" -- true
	[ ! -e started ]
	none_left
}

@test "inside a run that holds all of them there is no second lease" {
	redlock -k a -k b -- "$REDLOCK_RUN" -k b -k a -- touch both
	[ -e both ]
	redlock -k a -k b -- "$REDLOCK_RUN" -k b -- touch one
	[ -e one ]
	run -64 --separate-stderr redlock -k a -k b -- \
	    "$REDLOCK_RUN" -k b -k c -- touch three
	says 'b: held already' c
	[ ! -e three ]
	none_left
}
